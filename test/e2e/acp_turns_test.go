package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"signoff/internal/domain"
	"signoff/test/harness"
)

var open = object{"keepOpen": true}

// turns waits until so many turns of an execution have ended, and returns the log.
func (v *visit) turns(id string, n int) (log []wireEvent) {
	v.t.Helper()
	v.eventually(fmt.Sprintf("the end of turn %d", n), func() bool {
		log = v.page(id)
		return len(of[domain.TurnEnded](v.t, log)) >= n
	})
	return log
}

// exited waits for the end of the agent's process between two turns.
func (v *visit) exited(id string, n int) (last domain.AgentExited) {
	v.t.Helper()
	v.eventually("the exit of the agent", func() bool {
		all := of[domain.AgentExited](v.t, v.page(id))
		if len(all) == n {
			last = all[n-1]
		}
		return len(all) == n
	})
	return last
}

// closed closes an execution and expects it to be completed.
func (v *visit) closed(id string) execution {
	v.t.Helper()
	if end := want[execution](v.client, http.StatusOK, "POST", "/executions/"+id+"/close", nil, waits); end.Status != "completed" {
		v.t.Errorf("closed as %s", end.Status)
	}
	return v.get(id)
}

// closing begins to close an execution, and tells when that was answered, which is after its end.
func (v *visit) closing(id string) <-chan struct{} {
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		if response, content := v.do("POST", "/executions/"+id+"/close", nil, waits); response.StatusCode >= 300 {
			v.t.Errorf("close: %s: %s", response.Status, content)
		}
	}()
	return answered
}

// refusesPrompts sends a prompt and tells whether it was refused since the execution is being closed.
func (v *visit) refusesPrompts(id string) bool {
	v.t.Helper()
	response, content := v.do("POST", "/executions/"+id+"/prompts", object{"prompt": "#! say x", "whenBusy": "enqueue"})
	if response.StatusCode == http.StatusAccepted {
		return false
	}
	var p problem
	must(v.t, unmarshal(content, &p))
	if p.Code != "closed" && p.Code != "executionEnded" {
		v.t.Errorf("refused as %s", p.Code)
	}
	return true
}

var turnScenes = scenes{
	"one process": {"scripted", func(v *visit) {
		id := v.startAs(open, "say one", "whoami")
		v.turns(id, 1)
		v.reach(id, domain.StatusIdle)
		before := harness.WorkingIn(v.folder)
		v.prompt(id, "say two", "whoami")
		log := v.turns(id, 2)
		v.reach(id, domain.StatusIdle)
		if after := harness.WorkingIn(v.folder); len(before) == 0 || !slices.Equal(before, after) {
			v.t.Errorf("before %v, after %v", before, after)
		}
		who := whoamis(v.t, log)
		if started := of[domain.AgentStarted](v.t, log); len(started) != 1 || len(who) != 2 || who[0].Pid != who[1].Pid ||
			who[0].SessionID != who[1].SessionID {
			v.t.Errorf("started %+v, who %+v", started, who)
		}
		if v.get(id).Turn != 2 {
			v.t.Errorf("turn %d", v.get(id).Turn)
		}
		if end := v.closed(id); end.Output.FinishReason != "endTurn" || !strings.HasPrefix(end.Output.Text, "two") {
			v.t.Errorf("ended: %+v", end.Output)
		}
		v.refused(http.StatusConflict, "executionEnded", "POST", "/executions/"+id+"/prompts", object{"prompt": "x"})
	}},
	"in their order": {"scripted", func(v *visit) {
		id := v.start("say 1", "await "+gate)
		var prompts []string
		for i := 2; i <= 4; i++ {
			prompts = append(prompts, v.prompt(id, fmt.Sprintf("say %d", i)))
		}
		v.pass()
		end := v.ended(id)
		log := v.page(id)
		var had []string
		for _, turn := range of[domain.TurnStarted](v.t, log)[1:] {
			had = append(had, string(turn.PromptID))
		}
		if end.Status != "completed" || end.Output.Text != "4" || text(v.t, log) != "1234" || !slices.Equal(had, prompts) {
			v.t.Errorf("%s %+v: %q, prompts %v, turns %v", end.Status, end.Output, text(v.t, log), prompts, had)
		}
	}},
	"reject": {"scripted", func(v *visit) {
		id := v.startAs(open, "await "+gate)
		p := v.refused(http.StatusConflict, "busy", "POST", "/executions/"+id+"/prompts", object{"prompt": "x",
			"whenBusy": "reject"})
		if p.Execution == nil || p.Execution.ID != id {
			v.t.Errorf("the refusal shows %+v", p.Execution)
		}
		v.pass()
		v.turns(id, 1)
		v.reach(id, domain.StatusIdle)
		v.promptAs(id, object{"whenBusy": "reject"}, "say two")
		if log := v.turns(id, 2); text(v.t, log) != "two" {
			v.t.Errorf("said %q", text(v.t, log))
		}
	}},
	"interrupt": {"scripted", func(v *visit) {
		id := v.start("call c1 kind=execute title=Run status=in_progress", askLs, "say never")
		a := v.asked(id, 1)[0]
		v.promptAs(id, object{"whenBusy": "interrupt"}, "say instead")
		end := v.ended(id)
		log := v.page(id)
		turns := of[domain.TurnEnded](v.t, log)
		if end.Status != "completed" || len(turns) != 2 || turns[0].StopReason != domain.StopCancelled ||
			end.Output.Text != "instead" {
			v.t.Errorf("%s %+v, turns %+v", end.Status, end.Output, turns)
		}
		if started := of[domain.AgentStarted](v.t, log); len(started) != 1 {
			v.t.Errorf("started: %+v", started)
		}
		v.withdrawn(a.ID)
	}},
	"interrupt one that does not listen": {"scripted", func(v *visit) {
		id := v.start("say half", "oncancel ignore", forever)
		v.reach(id, domain.StatusStreaming)
		v.promptAs(id, object{"whenBusy": "interrupt"}, "whoami")
		if end := v.ended(id); end.Status != "completed" {
			v.t.Errorf("ended: %+v %+v", end.Output, end.Output.Error)
		}
		log := v.page(id)
		if started := of[domain.AgentStarted](v.t, log); len(started) != 2 || started[1].Continued != "load" ||
			strings.Count(text(v.t, log), "half") != 1 {
			v.t.Errorf("started %+v, said %q", started, text(v.t, log))
		}
	}},
	"twice the same request": {"scripted", func(v *visit) {
		id := v.startAs(open, "say one")
		key := headers{"Idempotency-Key": "again-" + id}
		body := object{"prompt": "#! say two"}
		first := want[struct{ ID string }](v.client, http.StatusAccepted, "POST", "/executions/"+id+"/prompts", body, key)
		second := want[struct{ ID string }](v.client, http.StatusAccepted, "POST", "/executions/"+id+"/prompts", body, key)
		v.turns(id, 2)
		v.reach(id, domain.StatusIdle)
		if first.ID != second.ID || text(v.t, v.page(id)) != "onetwo" {
			v.t.Errorf("%s and %s, said %q", first.ID, second.ID, text(v.t, v.page(id)))
		}
	}},
	"between two turns": {"scripted", func(v *visit) {
		id := v.startAs(open, "say one", "late 3000 say between", "late 3050 plan later", "late 3100 commands afterwards",
			`late 3150 call c9 kind=execute title="On its own" status=in_progress`, "late 3250 update c9 completed done")
		v.eventually("the last of it", func() bool {
			return strings.Contains(fmt.Sprint(of[domain.ToolCallCompleted](v.t, v.page(id))), "done")
		})
		log := v.page(id)
		var between string
		for _, p := range of[domain.MessageDelta](v.t, log) {
			if p.Turn == 0 {
				between += p.Text
			}
		}
		plan, commands := of[domain.PlanUpdated](v.t, log), of[domain.CommandsUpdated](v.t, log)
		if between != "between" || len(plan) != 1 || plan[0].Turn != 0 || len(commands) != 1 || commands[0].Turn != 0 {
			v.t.Errorf("between %q, plan %+v, commands %+v", between, plan, commands)
		}
		if status := v.get(id).Status; status != "idle" {
			v.t.Errorf("meanwhile it is %s", status)
		}
		v.prompt(id, "say two")
		v.turns(id, 2)
		v.reach(id, domain.StatusIdle)
		if end := v.closed(id); end.Output.Text != "two" {
			v.t.Errorf("ended: %+v", end.Output)
		}
	}},
	"a question between two turns": {"scripted", func(v *visit) {
		id := v.startAs(open, "say one", "late 3000 "+askLs)
		v.eventually("an answer", func() bool { return strings.Contains(text(v.t, v.page(id)), "c1 answer=") })
		if log := v.page(id); !strings.Contains(text(v.t, log), "c1 answer=cancelled") ||
			len(of[domain.ApprovalRequested](v.t, log)) != 0 {
			v.t.Errorf("said %q", text(v.t, log))
		}
	}},
	"close while it works": {"scripted", func(v *visit) {
		id := v.startAs(open, "await "+gate, "say one")
		v.prompt(id, "say two")
		want[execution](v.client, http.StatusAccepted, "POST", "/executions/"+id+"/close", nil)
		v.pass()
		end := v.ended(id)
		if end.Status != "completed" || text(v.t, v.page(id)) != "onetwo" {
			v.t.Errorf("%s: %q", end.Status, text(v.t, v.page(id)))
		}
		want[execution](v.client, http.StatusOK, "POST", "/executions/"+id+"/close", nil)
	}},
	"closed takes no more": {"scripted", func(v *visit) {
		id := v.startAs(open, "await "+gate, "say one")
		v.reach(id, domain.StatusWaiting)
		closing := v.closing(id)
		v.eventually("a refusal", func() bool { return v.refusesPrompts(id) })
		v.pass()
		<-closing
		if end := v.ended(id); end.Status != "completed" {
			v.t.Errorf("ended: %+v", end.Output)
		}
	}},
	"idle for too long": {"scripted", func(v *visit) {
		id := v.startAs(object{"keepOpen": true, "idleTimeoutSeconds": 1}, "say one")
		if end := v.ended(id); end.Status != "completed" || end.Output.FinishReason != "expired" || end.Output.Text != "one" {
			v.t.Errorf("ended: %s %+v", end.Status, end.Output)
		}
	}},
	"a limit is no end": {"scripted", func(v *visit) {
		id := v.startAs(open, "say one", "stop max_tokens")
		v.reach(id, domain.StatusIdle)
		v.prompt(id, "stop refusal")
		v.turns(id, 2)
		v.reach(id, domain.StatusIdle)
		v.prompt(id, "say three")
		turns := of[domain.TurnEnded](v.t, v.turns(id, 3))
		if turns[0].StopReason != domain.StopMaxTokens || turns[1].StopReason != domain.StopRefusal ||
			turns[2].StopReason != domain.StopEndTurn {
			v.t.Errorf("turns: %+v", turns)
		}
	}},
	"an error is no end": {"scripted", func(v *visit) {
		id := v.startAs(open, "say one", "whoami", `fail -32603 "no luck"`)
		v.reach(id, domain.StatusIdle)
		v.prompt(id, "whoami", "crash 3")
		v.turns(id, 2)
		v.reach(id, domain.StatusIdle)
		v.prompt(id, "whoami", "say three")
		log := v.turns(id, 3)
		turns, who := of[domain.TurnEnded](v.t, log), whoamis(v.t, log)
		if turns[0].Error == nil || turns[0].Error.Code != domain.CodeAgentFailed || turns[1].Error == nil ||
			turns[1].Error.Code != domain.CodeAgentExited || turns[2].Error != nil {
			v.t.Errorf("turns: %+v", turns)
		}
		if len(who) != 3 || who[0].Opened != "new" || who[1].Opened != "load" || who[2].Opened != "load" ||
			who[2].SessionID != who[0].SessionID || strings.Count(text(v.t, log), "one") != 1 {
			v.t.Errorf("who %+v, said %q", who, text(v.t, log))
		}
		v.reach(id, domain.StatusIdle)
		v.closed(id)
	}},
	"cancelled while idle": {"scripted", func(v *visit) {
		id := v.startAs(open, "say one")
		v.reach(id, domain.StatusIdle)
		if end := v.cancelled(id, nil); end.Status != "cancelled" {
			v.t.Errorf("ended: %s", end.Status)
		}
	}},
	"deleted while idle": {"scripted", func(v *visit) {
		id := v.startAs(open, "say one")
		v.reach(id, domain.StatusIdle)
		v.all[0].stop()
		v.all = nil
		want[object](v.client, http.StatusAccepted, "DELETE", "/executions/"+id, nil)
		v.refused(http.StatusNotFound, "notFound", "POST", "/executions/"+id+"/prompts", object{"prompt": "x"})
	}},
	"dies while idle":          diesWhileIdle("scripted", "load"),
	"dies and is resumed":      diesWhileIdle("resuming", "resume"),
	"dies and replays late":    diesWhileIdle("late", "load"),
	"dies and remembers none":  diesWhileIdle("forgetful", ""),
	"dies with a private home": diesWhileIdle("private", "load"),
	"does not load": {"refusing", func(v *visit) {
		id := v.startAs(open, "say one", "late 50 crash 7")
		v.exited(id, 1)
		v.prompt(id, "say two")
		v.reach(id, domain.StatusInterrupted)
		v.refused(http.StatusConflict, "busy", "POST", "/executions/"+id+"/prompts", object{"prompt": "x",
			"whenBusy": "reject"})
		want[execution](v.client, http.StatusAccepted, "POST", "/executions/"+id+"/resume", object{"mode": "fresh"})
		log := v.turns(id, 2)
		if text(v.t, log) != "onetwo" {
			v.t.Errorf("said %q", text(v.t, log))
		}
	}},
	"from another execution": {"scripted", func(v *visit) {
		first, _ := v.complete("say <one>", "whoami")
		if first.AgentSession == nil {
			v.t.Fatal("the first one has no session")
		}
		id := v.startAs(object{"resumeFrom": first.ID}, "say <two>", "whoami")
		log := v.told(id, "<two>")
		who, started := whoamis(v.t, log), of[domain.AgentStarted](v.t, log)
		if len(who) != 1 || who[0].Opened != "load" || who[0].SessionID != *first.AgentSession ||
			strings.Contains(text(v.t, log), "<one>") ||
			len(started) != 1 || started[0].Continued != "load" {
			v.t.Errorf("who %+v, started %+v, said %q", who, started, text(v.t, log))
		}
	}},
	"not from another execution": {"scripted", func(v *visit) {
		first, _ := v.complete("say one")
		living := v.startAs(open, "say one")
		v.reach(living, domain.StatusIdle)
		forgotten := v.ended(v.startAs(object{"source": object{"type": "acp", "command": "forgetful"}}, "say one")).ID
		internal := v.client.create().ID
		v.ended(internal)
		for why, change := range map[string]object{
			"it lives":         {"resumeFrom": living},
			"another agent":    {"resumeFrom": first.ID, "source": object{"type": "acp", "command": "resuming"}},
			"another folder":   {"resumeFrom": first.ID, "workingDirectory": v.house.workspace},
			"no session":       {"resumeFrom": forgotten, "source": object{"type": "acp", "command": "forgetful"}},
			"an internal one":  {"resumeFrom": internal},
			"by the internal":  {"resumeFrom": first.ID, "source": object{"type": "internal"}},
			"there is no such": {"resumeFrom": "0197c4d2-7f00-7a31-9d2c-3b6f0e5a1c11"},
			"that is no id":    {"resumeFrom": "yesterday"},
		} {
			response, content := v.do("POST", "/executions", v.request(change))
			var p problem
			must(v.t, unmarshal(content, &p))
			if response.StatusCode != http.StatusUnprocessableEntity || len(p.Errors) != 1 ||
				p.Errors[0].Pointer != "/resumeFrom" {
				v.t.Errorf("%s: %s %s", why, response.Status, content)
			}
		}
	}},
	"time is over": {"scripted", func(v *visit) {
		id := v.startAs(wordsFirst, "say half", forever)
		begun := time.Now()
		if end := v.ended(id); end.Status != "timedOut" || end.Output.Text != "half" || time.Since(begun) > patience {
			v.t.Errorf("ended: %s %+v", end.Status, end.Output)
		}
	}},
}

// beginsAnew chooses that an agent without a memory begins a new session.
func (v *visit) beginsAnew(id string) {
	v.t.Helper()
	v.reach(id, domain.StatusInterrupted)
	want[execution](v.client, http.StatusAccepted, "POST", "/executions/"+id+"/resume", object{"mode": "fresh"})
}

// diesWhileIdle is the scene of an agent whose process ends between two turns. The next prompt starts it again, and
// what the agent tells of the past is not told again to anybody.
func diesWhileIdle(agent, continued string) scene {
	return scene{agent, func(v *visit) {
		id := v.startAs(open, "say <one>", `call c1 kind=execute title="Run ls" status=in_progress`,
			"update c1 completed out", "whoami",
			"stderr goodbye", "late 50 crash 7")
		if exited := v.exited(id, 1); !strings.Contains(exited.Message, "exit code 7") ||
			!strings.Contains(exited.Message, "goodbye") {
			v.t.Errorf("exited: %+v", exited)
		}
		v.reach(id, domain.StatusIdle)
		if left := soon(v.left); len(left) > 0 {
			v.t.Errorf("left: %v", left)
		}
		v.prompt(id, "say <two>", "whoami")
		if continued == "" {
			v.beginsAnew(id)
		}
		log := v.turns(id, 2)
		said, who, started := text(v.t, log), whoamis(v.t, log), of[domain.AgentStarted](v.t, log)
		if strings.Count(said, "<one>") != 1 || strings.Count(said, "<two>") != 1 ||
			len(of[domain.ToolCallRequested](v.t, log)) != 1 {
			v.t.Errorf("the past was told again: %q", said)
		}
		opened := continued
		if opened == "" {
			opened = "new"
		}
		if len(started) != 2 || started[1].Continued != continued || len(who) != 2 || who[1].Opened != opened ||
			(who[0].SessionID == who[1].SessionID) != (continued != "") {
			v.t.Errorf("started %+v, who %+v", started, who)
		}
		if status := v.get(id).Status; status != "idle" {
			v.reach(id, domain.StatusIdle)
		}
		if (v.get(id).AgentSession != nil) != (continued != "") {
			v.t.Errorf("the agent's session is %v", v.get(id).AgentSession)
		}
	}}
}
