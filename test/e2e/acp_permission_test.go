package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"sync"

	"signoff/internal/domain"
)

// one runs steps up to their one open question.
func (v *visit) one(steps ...string) (id string, a approval) {
	v.t.Helper()
	id = v.start(steps...)
	return id, v.asked(id, 1)[0]
}

// told expects an execution to be completed, and the agent to have been told this.
func (v *visit) told(id, what string) []wireEvent {
	v.t.Helper()
	end := v.ended(id)
	log := v.page(id)
	if end.Status != "completed" || !strings.Contains(text(v.t, log), what) {
		v.t.Errorf("%s %+v: the agent was told %q, want %q", end.Status, end.Output.Error, text(v.t, log), what)
	}
	return log
}

// withdrawn expects an approval to be ended without a decision.
func (v *visit) withdrawn(approvalID string) {
	v.t.Helper()
	a := want[approval](v.client, http.StatusOK, "GET", "/approvals/"+approvalID, nil)
	if a.Status != "cancelled" || a.Decision != nil {
		v.t.Errorf("the approval is %s, %+v", a.Status, a.Decision)
	}
	v.refused(http.StatusGone, "approvalCancelled", "POST", "/approvals/"+approvalID, yes(a))
	v.refused(http.StatusGone, "approvalCancelled", "POST", "/approvals/"+approvalID, object{"decision": "deny"})
}

// yes is the plain approval.
func yes(a approval) object { return object{"decision": "approve", "argumentsHash": a.ArgumentsHash} }

const (
	askLs   = `ask c1 kind=execute title="Run ls" input={"command":"ls"}`
	forever = `silence 600000` // longer than any test
)

var permissionScenes = scenes{
	"approve": {"scripted", func(v *visit) {
		for _, announced := range []string{"say unannounced", `call c1 kind=execute title="Run ls" input={"command":"ls"}`} {
			id, a := v.one(announced, askLs)
			if a.Kind != "agentPermission" || a.Status != "pending" || !strings.Contains(a.Summary, "ls") ||
				len(a.Options) != 3 ||
				a.Options[0]["optionId"] != "once" || a.Options[0]["name"] != "Allow once" ||
				a.Options[2]["kind"] != "reject_once" {
				v.t.Errorf("asked: %+v", a)
			}
			if a.OptionsNote == nil || !strings.Contains(*a.OptionsNote, "allow_always") {
				v.t.Error("nobody says who remembers an allow_always")
			}
			if v.get(id).Status != "pendingToolApproval" {
				v.t.Errorf("while it waits: %s", v.get(id).Status)
			}
			if decided := v.decide(a); decided.Status != "approved" || decided.Decision.OptionID != "once" {
				v.t.Errorf("decided: %+v", decided)
			}
			log := v.told(id, "c1 answer=once")
			if fates := of[domain.ToolCallCompleted](v.t, log); len(fates) != 1 || fates[0].Fate != domain.FateSucceeded {
				v.t.Errorf("fates: %+v", fates)
			}
			if started := of[domain.ToolCallStarted](v.t, log); len(started) != 1 || started[0].AllowedBy != "decision" {
				v.t.Errorf("started: %+v", started)
			}
			if resolved := of[domain.ApprovalResolved](v.t, log); len(resolved) != 1 || resolved[0].OptionID != "once" ||
				resolved[0].DecidedBy == nil {
				v.t.Errorf("resolved: %+v", resolved)
			}
		}
	}},
	"an option by its id": {"scripted", func(v *visit) {
		id, a := v.one(askLs)
		if decided := v.decide(a, object{"optionId": "always"}); decided.Decision.OptionID != "always" {
			v.t.Errorf("decided: %+v", decided)
		}
		v.told(id, "c1 answer=always")
	}},
	"deny": {"scripted", func(v *visit) {
		for options, answer := range map[string]string{
			"yes:allow_once,never:reject_always,no:reject_once": "no",
			"yes:allow_once,never:reject_always":                "never",
			"yes:allow_once":                                    "cancelled",
		} {
			id, a := v.one(askLs + " options=" + options)
			v.decide(a, object{"decision": "deny", "reason": "not on a Friday"})
			log := v.told(id, "c1 answer="+answer)
			if fates := of[domain.ToolCallCompleted](v.t, log); len(fates) != 1 || fates[0].Fate != domain.FateDenied {
				v.t.Errorf("%s: fates %+v", options, fates)
			}
		}
	}},
	"denied by an option": {"scripted", func(v *visit) {
		id, a := v.one(askLs + " options=yes:allow_once,no:reject_once,never:reject_always")
		v.decide(a, object{"decision": "deny", "optionId": "never"})
		v.told(id, "c1 answer=never")
	}},
	"a class that is allowed": {"scripted", func(v *visit) {
		id := v.start("ask c1 kind=read title=Read",
			"ask c2 kind=read title=Read options=a:allow_once,b:allow_once,no:reject_once")
		a := v.asked(id, 1)
		if len(a) != 1 {
			v.t.Fatalf("asked: %+v", a)
		}
		v.decide(a[0], object{"optionId": "b"})
		log := v.told(id, "c1 answer=once\nc2 answer=b")
		if started := of[domain.ToolCallStarted](v.t, log); len(started) != 2 || started[0].AllowedBy != "capability" {
			v.t.Errorf("started: %+v", started)
		}
	}},
	"a class that is denied": {"scripted", func(v *visit) {
		id := v.startAs(object{"capabilities": object{"execute": "deny", "read": "ask"}}, askLs)
		log := v.told(id, "c1 answer=no")
		if len(of[domain.ApprovalRequested](v.t, log)) != 0 {
			v.t.Error("a person was asked about what is denied")
		}
		if fates := of[domain.ToolCallCompleted](v.t, log); len(fates) != 1 ||
			fates[0].Error.Code != domain.CodePolicyDenied {
			v.t.Errorf("fates: %+v", fates)
		}
	}},
	"nobody answers": {"scripted", func(v *visit) {
		id := v.startAs(object{"approvalTimeoutSeconds": 1}, askLs)
		log := v.told(id, "c1 answer=no")
		a := v.asked(id, 0)[0]
		v.refused(http.StatusGone, "approvalExpired", "POST", "/approvals/"+a.ID, yes(a))
		if resolved := of[domain.ApprovalResolved](v.t, log); len(resolved) != 1 ||
			resolved[0].Status != domain.ApprovalExpired || resolved[0].DecidedBy != nil {
			v.t.Errorf("resolved: %+v", resolved)
		}
		if fates := of[domain.ToolCallCompleted](v.t, log); len(fates) != 1 || fates[0].Fate != domain.FateExpired {
			v.t.Errorf("fates: %+v", fates)
		}
	}},
	"several at once": {"scripted", func(v *visit) {
		var steps []string
		for i := range 4 {
			steps = append(steps, fmt.Sprintf(`ask& c%d kind=execute title="Run %d" input={"command":"run %d"}`, i, i, i))
		}
		id := v.start(append(steps, "join")...)
		all := v.asked(id, 4)
		byCommand := map[string]approval{}
		for _, a := range all {
			byCommand[string(a.Arguments)] = a
		}
		of := func(i int) approval {
			for arguments, a := range byCommand {
				if strings.Contains(arguments, fmt.Sprintf("run %d", i)) {
					return a
				}
			}
			v.t.Fatalf("nobody asks about %d: %v", i, byCommand)
			panic("unreachable")
		}
		v.decide(of(3), object{"decision": "deny"})
		v.decide(of(1), object{"optionId": "always"})
		v.decide(of(2))
		if status := v.get(id).Status; status != "pendingToolApproval" {
			v.t.Errorf("with one open: %s", status)
		}
		v.decide(of(0), object{"decision": "deny"})
		v.told(id, "c0 answer=no\nc1 answer=always\nc2 answer=once\nc3 answer=no\n")
	}},
	"the same call twice": {"scripted", func(v *visit) {
		id, a := v.one(`call c1 kind=execute title="Run ls"`, askLs+" mark=no", askLs)
		v.decide(a)
		v.eventually("the second question", func() bool {
			all := v.asked(id, 1)
			a = all[len(all)-1]
			return len(all) == 2
		})
		v.decide(a, object{"decision": "deny"})
		v.told(id, "c1 answer=once\nc1 answer=no\n")
	}},
	"taken back": {"scripted", func(v *visit) {
		id := v.start("ask& c1 kind=execute title=Run", "await "+gate, "withdraw c1", "join")
		a := v.asked(id, 1)[0]
		v.pass()
		v.told(id, "c1 answer=error -32800")
		v.withdrawn(a.ID)
	}},
	"the agent exits": {"scripted", func(v *visit) {
		id := v.start("ask& c1 kind=execute title=Run", "ask& c2 kind=edit title=Write", "await "+gate, "stderr I am tired",
			"crash 3")
		all := v.asked(id, 2)
		v.pass()
		end := v.ended(id)
		if end.Status != "failed" || end.Output.Error.Code != "agentExited" ||
			!strings.Contains(end.Output.Error.Message, "I am tired") {
			v.t.Errorf("ended: %+v %+v", end, end.Output)
		}
		for _, a := range all {
			v.withdrawn(a.ID)
		}
	}},
	"cancel answers all": {"scripted", func(v *visit) {
		id := v.start("oncancel needanswer", "ask& c1 kind=execute title=Run", "ask& c2 kind=edit title=Write",
			"ask& c3 title=Other", "join")
		all := v.asked(id, 3)
		if end := v.cancelled(id, object{"reason": "enough"}); end.Status != "cancelled" {
			v.t.Errorf("ended: %s", end.Status)
		}
		for _, a := range all {
			v.withdrawn(a.ID)
		}
		for _, fate := range of[domain.ToolCallCompleted](v.t, v.page(id)) {
			if fate.Fate != domain.FateCancelled {
				v.t.Errorf("fate: %+v", fate)
			}
		}
		if said := text(v.t, v.page(id)); said != "c1 answer=cancelled\nc2 answer=cancelled\nc3 answer=cancelled\n" {
			v.t.Errorf("the agent was told %q", said)
		}
	}},
	"wrong options": {"scripted", func(v *visit) {
		id, a := v.one(askLs)
		decide := func(change object) problem {
			body := yes(a)
			for name, value := range change {
				body[name] = value
			}
			return v.refused(http.StatusUnprocessableEntity, "invalid", "POST", "/approvals/"+a.ID, body)
		}
		if p := decide(object{"optionId": "nonsense"}); len(p.Errors) != 1 || p.Errors[0].Pointer != "/optionId" ||
			!strings.Contains(p.Errors[0].Message, "once") {
			v.t.Errorf("an unknown option: %+v", p)
		}
		decide(object{"optionId": "no"})
		decide(object{"decision": "deny", "optionId": "once"})
		decide(object{"answer": object{"x": 1}})
		decide(object{"arguments": object{"command": "rm"}})
		v.decide(a)
		v.told(id, "c1 answer=once")
	}},
	"several ways to allow": {"scripted", func(v *visit) {
		id, a := v.one(askLs + " options=a:allow_once:A,b:allow_once:B,no:reject_once")
		v.refused(http.StatusUnprocessableEntity, "invalid", "POST", "/approvals/"+a.ID, yes(a))
		v.decide(a, object{"optionId": "b"})
		v.told(id, "c1 answer=b")
	}},
	"no options": {"scripted", func(v *visit) {
		_, log := v.complete(askLs + " options=none")
		if !strings.Contains(text(v.t, log), "c1 answer=cancelled") || len(of[domain.ApprovalRequested](v.t, log)) != 0 {
			v.t.Errorf("the agent was told %q", text(v.t, log))
		}
	}},
	"two deciders": {"scripted", func(v *visit) {
		for range 5 {
			id, a := v.one(askLs)
			bodies := []object{{"decision": "approve", "argumentsHash": a.ArgumentsHash}, {"decision": "deny"}}
			statuses := make([]int, 2)
			var deciding sync.WaitGroup
			for i, body := range bodies {
				deciding.Go(func() {
					response, _ := v.do("POST", "/approvals/"+a.ID, body)
					statuses[i] = response.StatusCode
				})
			}
			deciding.Wait()
			if statuses[0]+statuses[1] != http.StatusOK+http.StatusConflict {
				v.t.Fatalf("the two got %v", statuses)
			}
			winner, answer := 0, "c1 answer=once"
			if statuses[1] == http.StatusOK {
				winner, answer = 1, "c1 answer=no"
			}
			want[approval](v.client, http.StatusOK, "POST", "/approvals/"+a.ID, bodies[winner])
			if p := v.refused(http.StatusConflict, "alreadyDecided", "POST", "/approvals/"+a.ID,
				bodies[1-winner]); p.Approval == nil || p.Approval.Decision == nil {
				v.t.Errorf("the loser is told %+v", p)
			}
			v.told(id, answer)
		}
	}},
	"the hash": {"scripted", func(v *visit) {
		id, a := v.one(askLs)
		person := v.with(v.house.newKey("--name", "person", "--scopes", "approvals:read,approvals:decide"))
		person.t = v.t
		person.refused(http.StatusPreconditionRequired, "argumentsHashRequired", "POST", "/approvals/"+a.ID,
			object{"decision": "approve"})
		person.refused(http.StatusPreconditionRequired, "argumentsHashRequired", "POST", "/approvals/"+a.ID,
			object{"decision": "approve", "optionId": "always"})
		v.refused(http.StatusConflict, "argumentsHashDiffer", "POST", "/approvals/"+a.ID,
			object{"decision": "approve", "argumentsHash": strings.Repeat("0", 64)})
		if decided := want[approval](v.client, http.StatusOK, "POST", "/approvals/"+a.ID,
			object{"decision": "approve"}); decided.Status != "approved" {
			v.t.Errorf("decided unseen: %+v", decided)
		}
		v.told(id, "c1 answer=once")
	}},
}

const form = `{"type":"object","properties":{"answer":{"type":"string","enum":["red","blue"]}},"required":["answer"]}`

var questionScenes = scenes{
	"answered": {"scripted", func(v *visit) {
		id, a := v.one(`elicit "Which colour?" ` + form)
		if a.Kind != "question" || a.Question == nil || a.Question.Message != "Which colour?" ||
			a.Question.Schema["type"] != "object" {
			v.t.Errorf("asked: %+v", a)
		}
		for _, wrong := range []object{{"answer": 3}, {"answer": "green"}, {}} {
			p := v.refused(http.StatusUnprocessableEntity, "invalid", "POST", "/approvals/"+a.ID,
				object{"decision": "approve", "argumentsHash": a.ArgumentsHash, "answer": wrong})
			if len(p.Errors) == 0 || !strings.HasPrefix(p.Errors[0].Pointer, "/answer") {
				v.t.Errorf("%v: %+v", wrong, p)
			}
		}
		v.refused(http.StatusUnprocessableEntity, "invalid", "POST", "/approvals/"+a.ID, yes(a))
		v.refused(http.StatusUnprocessableEntity, "invalid", "POST", "/approvals/"+a.ID,
			object{"decision": "approve", "argumentsHash": a.ArgumentsHash, "optionId": "once"})
		if decided := v.decide(a, object{"answer": object{"answer": "blue"}}); decided.Decision.Answer["answer"] != "blue" {
			v.t.Errorf("decided: %+v", decided)
		}
		log := v.told(id, `elicit=accept {"answer":"blue"}`)
		if resolved := of[domain.ApprovalResolved](v.t, log); len(resolved) != 1 ||
			!strings.Contains(string(resolved[0].Answer), "blue") {
			v.t.Errorf("resolved: %+v", resolved)
		}
	}},
	"denied": {"scripted", func(v *visit) {
		id, a := v.one(`elicit "Which colour?" ` + form)
		v.decide(a, object{"decision": "deny"})
		v.told(id, "elicit=decline")
	}},
	"nobody answers": {"scripted", func(v *visit) {
		id := v.startAs(object{"approvalTimeoutSeconds": 1}, `elicit "Which colour?" `+form)
		v.told(id, "elicit=cancel")
		a := v.asked(id, 0)[0]
		v.refused(http.StatusGone, "approvalExpired", "POST", "/approvals/"+a.ID, object{"decision": "deny"})
	}},
	"about a call": {"scripted", func(v *visit) {
		id, a := v.one("call c1 kind=execute title=Run status=in_progress", `elicit "Which colour?" `+form+` call=c1`,
			"update c1 completed done")
		v.decide(a, object{"answer": object{"answer": "red"}})
		log := v.told(id, `elicit=accept {"answer":"red"}`)
		if calls := of[domain.ToolCallRequested](v.t, log); len(calls) != 1 {
			v.t.Errorf("calls: %+v", calls)
		}
	}},
	"an address": {"scripted", func(v *visit) {
		_, log := v.complete(`elicit "Open this" mode=url url=https://example.com/login`)
		if !strings.Contains(text(v.t, log), "elicit=decline") || len(of[domain.ApprovalRequested](v.t, log)) != 0 {
			v.t.Errorf("the agent was told %q", text(v.t, log))
		}
	}},
}
