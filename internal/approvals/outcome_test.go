package approvals_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"signoff/internal/approvals"
	"signoff/internal/domain"
)

// lostService has one open question about a call that was running when its server stopped.
func lostService(t *testing.T) (*rows, *approvals.Service, string) {
	t.Helper()
	r, d, h := desk(t)
	r.approval = approvals.AskOutcome(domain.Execution{}, call(`{"command":"ls"}`), h, time.Date(2026, 3, 1, 2, 58, 0, 0, time.UTC), time.Hour, time.Now())
	return r, d, h
}

func TestLost(t *testing.T) {
	r, _, h := lostService(t)
	a := r.approval
	if a.Kind != domain.ApprovalUnknownOutcome || a.ArgumentsHash != h || a.AskedBy != string(approvals.ByServer) || len(a.RememberOptions) != 0 || a.Expires == nil {
		t.Errorf("%+v", a)
	}
	for _, told := range []string{"2026-03-01T02:58:00Z", "succeeded:", "failed:", "retry:"} {
		if !strings.Contains(a.Reason, told) {
			t.Errorf("who is asked does not read %q: %s", told, a.Reason)
		}
	}
	a.Status, a.Decision = domain.ApprovalApproved, &domain.Decision{Verb: domain.Approve, Resolution: domain.ResolutionRetry}
	if _, err := approvals.Granted(a); err == nil {
		t.Error("the answer lets the call run")
	}
}

func TestResolve(t *testing.T) {
	const right = "RIGHT" // stands for the hash of what is shown
	edit := json.RawMessage(`{"command":"x"}`)
	for name, test := range map[string]struct {
		answer  approvals.Answer
		want    domain.Resolution // decided
		pointer string            // or refused, because of this
		code    domain.Code       // or because of something else
	}{
		"succeeded":                {answer: approvals.Answer{Resolution: "succeeded", ArgumentsHash: right, Reason: "I saw it"}, want: domain.ResolutionSucceeded},
		"failed":                   {answer: approvals.Answer{Resolution: "failed", ArgumentsHash: right}, want: domain.ResolutionFailed},
		"retry":                    {answer: approvals.Answer{Resolution: "retry", ArgumentsHash: right}, want: domain.ResolutionRetry},
		"with approve":             {answer: approvals.Answer{Verb: domain.Approve, Resolution: "failed", ArgumentsHash: right}, want: domain.ResolutionFailed},
		"unseen, trusted":          {answer: approvals.Answer{Resolution: "retry", Unseen: true}, want: domain.ResolutionRetry},
		"a plain no":               {answer: approvals.Answer{Verb: domain.DenyCall}, want: domain.ResolutionFailed},
		"a no that says so":        {answer: approvals.Answer{Verb: domain.DenyCall, Resolution: "failed"}, want: domain.ResolutionFailed},
		"unseen":                   {answer: approvals.Answer{Resolution: "succeeded"}, code: domain.CodeHashRequired},
		"something else":           {answer: approvals.Answer{Resolution: "retry", ArgumentsHash: "x"}, code: domain.CodeArgumentsHash},
		"something else, trusted":  {answer: approvals.Answer{Resolution: "retry", ArgumentsHash: "x", Unseen: true}, code: domain.CodeArgumentsHash},
		"a no to something else":   {answer: approvals.Answer{Verb: domain.DenyCall, ArgumentsHash: "x"}, code: domain.CodeArgumentsHash},
		"nothing":                  {answer: approvals.Answer{ArgumentsHash: right}, pointer: "/resolution"},
		"a plain yes":              {answer: approvals.Answer{Verb: domain.Approve, ArgumentsHash: right}, pointer: "/resolution"},
		"another word":             {answer: approvals.Answer{Resolution: "maybe", ArgumentsHash: right}, pointer: "/resolution"},
		"no, it has succeeded":     {answer: approvals.Answer{Verb: domain.DenyCall, Resolution: "succeeded"}, pointer: "/decision"},
		"no, once more":            {answer: approvals.Answer{Verb: domain.DenyCall, Resolution: "retry"}, pointer: "/decision"},
		"edited":                   {answer: approvals.Answer{Resolution: "retry", ArgumentsHash: right, Arguments: edit}, pointer: "/arguments"},
		"a no, edited":             {answer: approvals.Answer{Verb: domain.DenyCall, Arguments: edit}, pointer: "/arguments"},
		"with an option":           {answer: approvals.Answer{Resolution: "retry", ArgumentsHash: right, OptionID: "o"}, pointer: "/optionId"},
		"with an answer":           {answer: approvals.Answer{Resolution: "retry", ArgumentsHash: right, Answer: edit}, pointer: "/answer"},
		"remembered":               {answer: approvals.Answer{Resolution: "retry", ArgumentsHash: right, Remember: domain.RememberExecution}, pointer: "/remember"},
		"remembered for all":       {answer: approvals.Answer{Resolution: "retry", ArgumentsHash: right, Remember: domain.RememberGlobal, MayGlobal: true}, pointer: "/remember"},
		"a no that is remembered":  {answer: approvals.Answer{Verb: domain.DenyCall, Remember: domain.RememberExecution}, pointer: "/remember"},
		"an option of remembering": {answer: approvals.Answer{Resolution: "retry", ArgumentsHash: right, PreviewID: "exact"}, pointer: "/remember/previewId"},
	} {
		t.Run(name, func(t *testing.T) {
			r, d, h := lostService(t)
			if test.answer.ArgumentsHash == right {
				test.answer.ArgumentsHash = h
			}
			test.answer.By = alice
			got, err := d.Decide(context.Background(), "", "", test.answer)
			if test.want == "" {
				refused(t, r, err, test.pointer, test.code)
				return
			}
			status := domain.ApprovalApproved
			if test.answer.Verb == domain.DenyCall {
				status = domain.ApprovalDenied
			}
			if err != nil || got.Status != status || got.Decision.Resolution != test.want || len(r.changes) != 1 || len(r.changes[0].Remember) != 0 {
				t.Fatalf("%v, %s, %+v", err, got.Status, got.Decision)
			}
			payload, err := r.changes[0].Events[0].Payload()
			if resolved, _ := payload.(domain.ApprovalResolved); err != nil || resolved.Resolution != test.want || resolved.Reason != test.answer.Reason {
				t.Errorf("the event says %+v, %v", payload, err)
			}
			if !strings.Contains(string(r.changes[0].Audit[0].Details), `"resolution":"`+string(test.want)+`"`) {
				t.Errorf("on record is %s", r.changes[0].Audit[0].Details)
			}
		})
	}
}

// refused holds that nothing was decided, and that the answer says why.
func refused(t *testing.T, r *rows, err error, pointer string, code domain.Code) {
	t.Helper()
	if len(r.changes) != 0 {
		t.Errorf("decided: %+v", r.changes)
	}
	if pointer != "" {
		wants(t, err, pointer)
	} else if domain.CodeOf(err) != code {
		t.Errorf("%v, want %s", err, code)
	}
}

func TestResolveAgain(t *testing.T) {
	r, d, h := lostService(t)
	if _, err := d.Decide(context.Background(), "", "", approvals.Answer{Resolution: "failed", ArgumentsHash: h, By: alice}); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		answer approvals.Answer
		code   domain.Code
	}{
		"the same":          {approvals.Answer{Resolution: "failed", By: bob, Reason: "me too"}, ""},
		"with approve":      {approvals.Answer{Verb: domain.Approve, Resolution: "failed"}, ""},
		"by a plain no":     {approvals.Answer{Verb: domain.DenyCall}, ""},
		"otherwise":         {approvals.Answer{Resolution: "retry", ArgumentsHash: h}, domain.CodeAlreadyDecided},
		"what is no answer": {approvals.Answer{Verb: domain.Approve}, domain.CodeInvalid},
		"what contradicts":  {approvals.Answer{Verb: domain.DenyCall, Resolution: "succeeded"}, domain.CodeInvalid},
	} {
		got, err := d.Decide(context.Background(), "", "", test.answer)
		if code := domain.CodeOf(err); (err != nil || test.code != "") && code != test.code {
			t.Errorf("%s: %v, want %q", name, err, test.code)
		}
		if test.code == domain.CodeAlreadyDecided && (got.Decision == nil || !strings.Contains(err.Error(), "alice has already decided: failed")) {
			t.Errorf("the loser does not read who won with what: %v", err)
		}
	}
	if len(r.changes) != 1 {
		t.Errorf("%d changes", len(r.changes))
	}
}

// TestOnlyALostCallHasAResolution: a field that is silently ignored is a decider who was misunderstood.
func TestOnlyALostCallHasAResolution(t *testing.T) {
	for pointer, answer := range map[string]approvals.Answer{
		"/resolution": {Verb: domain.Approve, Resolution: "retry", Unseen: true},
		"/decision":   {Unseen: true},
	} {
		r, d, _ := desk(t)
		_, err := d.Decide(context.Background(), "", "", answer)
		refused(t, r, err, pointer, "")
	}
}

func TestFailureOfALostCall(t *testing.T) {
	unknown := approvals.OutcomeUnknown().Message
	for name, test := range map[string]struct {
		decision *domain.Decision
		want     []string
	}{
		"nobody looked":          {nil, []string{unknown}},
		"it has succeeded":       {&domain.Decision{Resolution: "succeeded"}, []string{"A person has looked into it: it has succeeded"}},
		"it has failed, and why": {&domain.Decision{Resolution: "failed", Reason: "disk full"}, []string{"it has failed.", "They said: disk full"}},
	} {
		got := approvals.ReportedOutcome(domain.Approval{Decision: test.decision})
		for _, want := range test.want {
			if got.Code != domain.CodeOutcomeUnknown || !strings.Contains(got.Message, want) {
				t.Errorf("%s: %+v", name, got)
			}
		}
	}
	denied := approvals.NotRepeated(domain.Failure{Code: domain.CodeDenied, Message: "A person denied this call."})
	if denied.Code != domain.CodeOutcomeUnknown || !strings.HasPrefix(denied.Message, unknown) || !strings.HasSuffix(denied.Message, "A person denied this call.") {
		t.Errorf("%+v", denied)
	}
	if told := approvals.ReportedOutcome(domain.Approval{Decision: &domain.Decision{Resolution: "failed"}}); approvals.NotRepeated(told) != told {
		t.Errorf("%+v", approvals.NotRepeated(told))
	}
}

// TestRepeated: whoever allowed the first run has not allowed a second one, and what is refused stays refused.
func TestRepeated(t *testing.T) {
	wish := domain.Decision{Reason: "it never connected", By: alice}
	for name, test := range map[string]struct {
		judged approvals.Judgement
		want   domain.Verdict
		by     approvals.Source
		told   []string
	}{
		"allowed": {approvals.Judgement{Verdict: domain.Allow, By: approvals.ByRule, RuleID: "r"}, domain.Ask, approvals.ByServer, []string{"alice", "it never connected."}},
		"asked":   {approvals.Judgement{Verdict: domain.Ask, By: approvals.ByCatastrophe, Reason: "It deletes."}, domain.Ask, approvals.ByCatastrophe, []string{"alice", "It deletes."}},
		"refused": {approvals.Judgement{Verdict: domain.Deny, By: approvals.ByRule, RuleID: "r", Reason: "No."}, domain.Deny, approvals.ByRule, []string{"No."}},
	} {
		got := approvals.Repeated(test.judged, wish)
		if got.Verdict != test.want || got.By != test.by || got.RuleID != "" && got.Verdict != domain.Deny {
			t.Errorf("%s: %+v", name, got)
		}
		for _, told := range test.told {
			if !strings.Contains(got.Reason, told) {
				t.Errorf("%s: %q does not say %q", name, got.Reason, told)
			}
		}
	}
	if got := approvals.Repeated(approvals.Judgement{Verdict: domain.Allow}, domain.Decision{}); !strings.Contains(got.Reason, "Somebody wants it tried again.") {
		t.Error(got.Reason)
	}
}
