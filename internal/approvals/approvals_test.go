package approvals_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"signoff/internal/approvals"
	"signoff/internal/domain"
	"signoff/internal/store"
)

func call(arguments string) domain.ToolCall {
	return domain.ToolCall{
		ID: "c", Tool: "bash", Version: "1", Class: domain.ClassExecute, Arguments: json.RawMessage(arguments),
		Action: domain.Action{Command: "ls"},
	}
}

func hash(t *testing.T, call domain.ToolCall, directory string) string {
	t.Helper()
	h, err := approvals.Hash(call, directory, nil)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestHash(t *testing.T) {
	base := hash(t, call(`{"command": "ls", "n": 1}`), "/w")
	if got := hash(t, call(`{"n":1.0,"command":"\u006cs"}`), "/w"); got != base {
		t.Error("the same arguments in another spelling have another hash")
	}
	version, tool := call(`{"command": "ls", "n": 1}`), call(`{"command": "ls", "n": 1}`)
	version.Version, tool.Tool = "2", "bash2"
	for what, other := range map[string]string{
		"arguments": hash(t, call(`{"command": "ls ", "n": 1}`), "/w"), "directory": hash(t, call(`{"command": "ls", "n": 1}`), "/w2"),
		"version": hash(t, version, "/w"), "tool": hash(t, tool, "/w"),
	} {
		if other == base {
			t.Errorf("another %s has the same hash", what)
		}
	}
	for _, broken := range []string{``, `{`, `{"a": 1e400}`} {
		if _, err := approvals.Hash(call(broken), "/w", nil); err == nil {
			t.Errorf("%q has a hash", broken)
		}
	}
}

// TestHashNeverMeansTwoCalls: a number that a float64 changes would give two records one hash.
func TestHashNeverMeansTwoCalls(t *testing.T) {
	for number, kept := range map[string]bool{
		"0": true, "-0": true, "0.0": true, "0e9999999": true, "1": true, "1.50": true, "0.1": true, "-1e3": true, "123456789.123": true,
		"9007199254740991": true, "9007199254740992": true, "9007199254740993": false, "1152921504606846976": false, "1e22": true, "1e-7": true,
		"0.30000000000000004": true, "0.300000000000000041": false, "1e400": false, "1e-400": false, "1e-9999999": false, "1e9999999": false,
		"0." + strings.Repeat("0", 2000) + "1": false, "1." + strings.Repeat("0", 2000): false, "5e-324": true, "4e-324": false,
	} {
		for _, arguments := range []string{`{"id":` + number + `}`, `{"a":[{"b":[` + number + `]}]}`} {
			if _, err := approvals.Hash(call(arguments), "/w", nil); (err == nil) != kept {
				t.Errorf("%.60s: %v", arguments, err)
			} else if err != nil && !strings.Contains(err.Error(), "no canonical form") {
				t.Errorf("%.60s: %v", arguments, err)
			}
		}
	}
	for _, pair := range [][2]string{
		{`{"id":1,"id":2}`, `{"id":2}`}, {`{"a":"\ud800"}`, `{"a":"\ufffd"}`}, {"{\"a\":\"\xff\"}", `{"a":"\ufffd"}`},
	} {
		first, errFirst := approvals.Hash(call(pair[0]), "/w", nil)
		second, errSecond := approvals.Hash(call(pair[1]), "/w", nil)
		if errFirst == nil && errSecond == nil && first == second {
			t.Errorf("%s and %s have one hash", pair[0], pair[1])
		}
	}
}

// TestRefusal: the model must not take a rule for a person, nor silence for a no.
func TestRefusal(t *testing.T) {
	denied := approvals.New(domain.Execution{}, toolCall(`{"command":"ls"}`), "h", asks, 0, time.Now())
	resolution, event := approvals.AnswerByRule(denied, rule(domain.Deny, domain.Matcher{Tool: "bash"}))
	if event.Reason != resolution.Decision.Reason {
		t.Errorf("the event says %q, the row %q", event.Reason, resolution.Decision.Reason)
	}
	for name, test := range map[string]struct {
		status   domain.ApprovalStatus
		decision *domain.Decision
		outcome  domain.Outcome
		code     domain.Code
		message  string
	}{
		"a person":             {domain.ApprovalDenied, &domain.Decision{Verb: domain.DenyCall}, domain.OutcomeDenied, domain.CodeDenied, "A person denied this call."},
		"a person who says so": {domain.ApprovalDenied, &domain.Decision{Reason: "no"}, domain.OutcomeDenied, domain.CodeDenied, "A person denied this call and said: no"},
		"and remembers it":     {domain.ApprovalDenied, &domain.Decision{Reason: "no", RuleID: "r", Remember: domain.RememberExecution}, domain.OutcomeDenied, domain.CodeDenied, "A person denied this call and said: no"},
		"a rule":               {domain.ApprovalDenied, resolution.Decision, domain.OutcomeDenied, domain.CodePolicyDenied, "A permission rule denied this call: every call of bash."},
		"nobody":               {domain.ApprovalExpired, nil, domain.OutcomeExpired, domain.CodeApprovalExpired, "Nobody answered the request for approval in time, so the call did not run. This is not a refusal by a person."},
		"withdrawn":            {domain.ApprovalCancelled, nil, domain.OutcomeCancelled, domain.CodeCancelled, "The call was withdrawn before it ran."},
	} {
		row := denied
		row.Status, row.Decision = test.status, test.decision
		if outcome, failure := approvals.Refusal(row); outcome != test.outcome || failure.Code != test.code || failure.Message != test.message {
			t.Errorf("%s: %s, %+v", name, outcome, failure)
		}
	}
}

func TestGranted(t *testing.T) {
	now := time.Now()
	fresh := func() domain.Approval {
		a := approvals.New(domain.Execution{}, toolCall(`{"command":"ls"}`), hash(t, call(`{"command":"ls"}`), ""), asks, time.Hour, now)
		a.Status, a.Decision = domain.ApprovalApproved, &domain.Decision{Verb: domain.Approve}
		return a
	}
	if arguments, err := approvals.Granted(fresh()); err != nil || string(arguments) != `{"command":"ls"}` {
		t.Errorf("%s, %v", arguments, err)
	}
	edited := fresh()
	edited.Decision.Arguments = json.RawMessage(`{"command":"pwd"}`)
	edited.Decision.ArgumentsHash = hash(t, call(`{"command":"pwd"}`), "")
	if arguments, err := approvals.Granted(edited); err != nil || string(arguments) != `{"command":"pwd"}` {
		t.Errorf("edited: %s, %v", arguments, err)
	}
	for what, tamper := range map[string]func(*domain.Approval){
		"other arguments":        func(a *domain.Approval) { a.Call.Arguments = json.RawMessage(`{"command":"rm -rf /"}`) },
		"another directory":      func(a *domain.Approval) { a.WorkingDirectory = "/etc" },
		"another tool":           func(a *domain.Approval) { a.Call.Tool = "sudo" },
		"edited without a hash":  func(a *domain.Approval) { a.Decision.Arguments = json.RawMessage(`{"command":"rm"}`) },
		"not decided":            func(a *domain.Approval) { a.Decision = nil },
		"denied":                 func(a *domain.Approval) { a.Status = domain.ApprovalDenied },
		"pending":                func(a *domain.Approval) { a.Status = domain.ApprovalPending },
		"expired":                func(a *domain.Approval) { a.Status = domain.ApprovalExpired },
		"arguments without form": func(a *domain.Approval) { a.Call.Arguments = json.RawMessage(`{`) },
	} {
		a := fresh()
		tamper(&a)
		if arguments, err := approvals.Granted(a); err == nil {
			t.Errorf("%s: granted %s", what, arguments)
		}
	}
}

// rows is a store with one approval, and a log that decides it the way the database does.
type rows struct {
	source   domain.Source
	approval domain.Approval
	policy   *domain.BashPolicy
	refuse   error // what Commit answers instead
	changes  []store.Change
	rung     []domain.ExecutionID
	rules    []domain.PermissionRule
	waiting  []domain.Approval
	records  []domain.AuditRecord
	pin      *domain.MCPPin
}

func (r *rows) MCPPin(context.Context, domain.TenantID, string, string) (*domain.MCPPin, error) {
	return r.pin, nil
}

func (r *rows) Approval(context.Context, domain.TenantID, domain.ApprovalID) (domain.Approval, error) {
	return r.approval, nil
}

func (r *rows) Execution(context.Context, domain.TenantID, domain.ExecutionID) (domain.Execution, error) {
	request := domain.Request{Source: r.source, Capabilities: domain.DefaultCapabilities}
	request.Tools.BashPolicy = r.policy
	return domain.Execution{Request: request}, nil
}

func (r *rows) Commit(_ context.Context, change store.Change) (store.Result, error) {
	if r.refuse != nil {
		return store.Result{}, r.refuse
	}
	if change.Notify {
		r.rung = append(r.rung, change.Execution)
		return store.Result{}, nil
	}
	r.changes = append(r.changes, change)
	r.approval.Status, r.approval.Decision = change.Resolve[0].Status, change.Resolve[0].Decision
	return store.Result{}, nil
}

func (r *rows) Describe(_ domain.Request, tool string, arguments json.RawMessage) (domain.ToolCall, error) {
	call := domain.ToolCall{Tool: tool, Version: "1", Class: domain.ClassExecute, Arguments: arguments}
	var parsed struct{ Command string }
	if !strings.Contains(string(arguments), "command") {
		return call, domain.Errorf(domain.CodeInvalidArguments, "command is missing")
	}
	_ = json.Unmarshal(arguments, &parsed)
	call.Action.Command = parsed.Command
	return call, nil
}

func (r *rows) Rules(context.Context, domain.TenantID, domain.ExecutionID) ([]domain.PermissionRule, error) {
	return r.rules, nil
}

func (r *rows) Approvals(context.Context, domain.TenantID, store.ApprovalFilter) (store.Page[domain.Approval], error) {
	return store.Page[domain.Approval]{Items: r.waiting}, nil
}

func (r *rows) PermissionRule(_ context.Context, _ domain.TenantID, id string) (domain.PermissionRule, error) {
	for _, rule := range r.rules {
		if rule.ID == id {
			return rule, nil
		}
	}
	return domain.PermissionRule{}, domain.Errorf(domain.CodeNotFound, "no rule")
}

func (r *rows) CreateRule(_ context.Context, rule domain.PermissionRule, record domain.AuditRecord) error {
	if _, err := r.PermissionRule(context.Background(), "", rule.ID); err == nil {
		return domain.Errorf(domain.CodeConflict, "taken")
	}
	r.rules, r.records = append(r.rules, rule), append(r.records, record)
	return nil
}

func (r *rows) RevokeRule(_ context.Context, _ domain.TenantID, _ string, _ domain.Actor, record domain.AuditRecord) (domain.PermissionRule, error) {
	r.records = append(r.records, record)
	return domain.PermissionRule{}, nil
}

// asks is why the questions of these tests are asked.
var asks = approvals.Judgement{By: approvals.ByCapability, Reason: "The capabilities ask about it."}

var alice, bob = domain.Actor{KeyID: "1", Name: "alice"}, domain.Actor{KeyID: "2", Name: "bob"}

func desk(t *testing.T) (*rows, *approvals.Service, string) {
	t.Helper()
	h := hash(t, call(`{"command":"ls"}`), "")
	question, because := toolCall(`{"command":"ls"}`), asks
	because.Options = rememberOptions(t, domain.Request{}, question.Call, h)
	r := &rows{approval: approvals.New(domain.Execution{}, question, h, because, time.Hour, time.Now())}
	return r, approvals.NewService(r, r, r), h
}

func TestDecide(t *testing.T) {
	const right = "RIGHT" // stands for the hash of what is shown
	for name, test := range map[string]struct {
		answer approvals.Answer
		code   domain.Code // empty: decided
	}{
		"approve":                      {approvals.Answer{Verb: domain.Approve, ArgumentsHash: right}, ""},
		"approve unseen":               {approvals.Answer{Verb: domain.Approve}, domain.CodeHashRequired},
		"approve unseen, trusted":      {approvals.Answer{Verb: domain.Approve, Unseen: true}, ""},
		"approve something else":       {approvals.Answer{Verb: domain.Approve, ArgumentsHash: "x"}, domain.CodeArgumentsHash},
		"a wrong hash, trusted":        {approvals.Answer{Verb: domain.Approve, ArgumentsHash: "x", Unseen: true}, domain.CodeArgumentsHash},
		"deny":                         {approvals.Answer{Verb: domain.DenyCall, Reason: "no"}, ""},
		"deny with a wrong hash":       {approvals.Answer{Verb: domain.DenyCall, ArgumentsHash: "x"}, domain.CodeArgumentsHash},
		"deny and edit":                {approvals.Answer{Verb: domain.DenyCall, Arguments: json.RawMessage(`{"command":"x"}`)}, domain.CodeInvalid},
		"deny and remember":            {approvals.Answer{Verb: domain.DenyCall, Remember: domain.RememberExecution}, ""},
		"remember an option":           {approvals.Answer{Verb: domain.Approve, ArgumentsHash: right, Remember: domain.RememberExecution, PreviewID: "command"}, ""},
		"remember what is not offered": {approvals.Answer{Verb: domain.Approve, ArgumentsHash: right, Remember: domain.RememberExecution, PreviewID: "path"}, domain.CodeInvalid},
		"remember nothing, by name":    {approvals.Answer{Verb: domain.Approve, ArgumentsHash: right, PreviewID: "exact"}, domain.CodeInvalid},
		"remember for all, unasked":    {approvals.Answer{Verb: domain.Approve, ArgumentsHash: right, Remember: domain.RememberGlobal}, domain.CodeForbidden},
		"remember for all":             {approvals.Answer{Verb: domain.Approve, ArgumentsHash: right, Remember: domain.RememberGlobal, MayGlobal: true}, ""},
		"edit and remember an option":  {approvals.Answer{Verb: domain.Approve, ArgumentsHash: right, Arguments: json.RawMessage(`{"command":"x"}`), Remember: domain.RememberExecution, PreviewID: "command"}, domain.CodeInvalid},
		"edit":                         {approvals.Answer{Verb: domain.Approve, ArgumentsHash: right, Arguments: json.RawMessage(`{"command":"x"}`)}, ""},
		"edit into what cannot run":    {approvals.Answer{Verb: domain.Approve, ArgumentsHash: right, Arguments: json.RawMessage(`{}`)}, domain.CodeInvalid},
		"edit into what has no form":   {approvals.Answer{Verb: domain.Approve, ArgumentsHash: right, Arguments: json.RawMessage(`{"command":1e400}`)}, domain.CodeInvalid},
		"edit and remember":            {approvals.Answer{Verb: domain.Approve, ArgumentsHash: right, Arguments: json.RawMessage(`{"command":"x"}`), Remember: domain.RememberExecution}, ""},
		"the shown arguments are none": {approvals.Answer{Verb: domain.Approve, ArgumentsHash: right, Arguments: json.RawMessage(`{ "command": "ls" }`)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r, d, h := desk(t)
			if test.answer.ArgumentsHash == right {
				test.answer.ArgumentsHash = h
			}
			test.answer.By = alice
			got, err := d.Decide(context.Background(), "", "", test.answer)
			if test.code != "" {
				if domain.CodeOf(err) != test.code || len(r.changes) != 0 || got.Status != domain.ApprovalPending {
					t.Errorf("%v with %d changes and status %s, want %s and nothing decided", err, len(r.changes), got.Status, test.code)
				}
				return
			}
			if err != nil || len(r.changes) != 1 || got.Decision.By != alice {
				t.Fatalf("%v, %d changes, %+v", err, len(r.changes), got.Decision)
			}
			if edited := got.Decision.Arguments != nil; edited != strings.HasPrefix(name, "edit") {
				t.Errorf("edited: %v", edited)
			}
			if got.Status == domain.ApprovalApproved {
				if _, err := approvals.Granted(got); err != nil {
					t.Errorf("what was approved is not granted: %v", err)
				}
			}
			leaves(t, r.changes[0], got, test.answer, h)
		})
	}
}

// leaves checks the rule that a decision leaves behind, and that it and the decision are on record.
func leaves(t *testing.T, change store.Change, got domain.Approval, answer approvals.Answer, shown string) {
	t.Helper()
	if len(change.Audit) != 1+len(change.Remember) || change.Audit[0].Action != "approval.decided" || change.Audit[0].Actor.Name != "alice" {
		t.Errorf("on record is %+v", change.Audit)
	}
	if once := answer.Remember == ""; once || len(change.Remember) != 1 {
		if !once || len(change.Remember) > 0 || got.Decision.RuleID != "" {
			t.Errorf("rules: %+v", change.Remember)
		}
		return
	}
	rule := change.Remember[0]
	want := domain.Matcher{Tool: "bash", ArgumentsHash: shown, Class: domain.ClassExecute, Agent: "internal"}
	if answer.Arguments != nil {
		want.ArgumentsHash = got.Decision.ArgumentsHash
	}
	if answer.PreviewID == "command" {
		want.ArgumentsHash, want.Command = "", "ls *"
	}
	effect := map[domain.Verb]domain.Verdict{domain.Approve: domain.Allow, domain.DenyCall: domain.Deny}[answer.Verb]
	if !rule.Matcher.Equal(want) || rule.Effect != effect || rule.Scope != answer.Remember || rule.ID != got.Decision.RuleID || rule.By != alice {
		t.Errorf("the rule is %+v, want %+v", rule, want)
	}
}

func TestDecideAgain(t *testing.T) {
	r, d, h := desk(t)
	first := approvals.Answer{Verb: domain.Approve, ArgumentsHash: h, By: alice}
	if _, err := d.Decide(context.Background(), "", "", first); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		answer approvals.Answer
		code   domain.Code
	}{
		"the same":                {approvals.Answer{Verb: domain.Approve, ArgumentsHash: h, By: alice}, ""},
		"by somebody else":        {approvals.Answer{Verb: domain.Approve, By: bob, Reason: "me too"}, ""},
		"with once spelled out":   {approvals.Answer{Verb: domain.Approve, Remember: domain.RememberOnce}, ""},
		"with the same arguments": {approvals.Answer{Verb: domain.Approve, Arguments: json.RawMessage(`{"command" : "ls"}`)}, ""},
		"otherwise":               {approvals.Answer{Verb: domain.DenyCall, By: bob}, domain.CodeAlreadyDecided},
		"with other arguments":    {approvals.Answer{Verb: domain.Approve, Arguments: json.RawMessage(`{"command":"x"}`)}, domain.CodeAlreadyDecided},
		"with a twin of a number": {approvals.Answer{Verb: domain.Approve, Arguments: json.RawMessage(`{"command":"ls","n":9007199254740993}`)}, domain.CodeAlreadyDecided},
		"remembered":              {approvals.Answer{Verb: domain.Approve, Remember: domain.RememberExecution}, domain.CodeAlreadyDecided},
	} {
		got, err := d.Decide(context.Background(), "", "", test.answer)
		if code := domain.CodeOf(err); (err != nil || test.code != "") && code != test.code {
			t.Errorf("%s: %v, want %q", name, err, test.code)
		}
		if got.Decision == nil || got.Decision.By != alice {
			t.Errorf("%s: the answer does not say who won: %+v", name, got.Decision)
		}
	}
	if len(r.changes) != 1 {
		t.Errorf("%d changes", len(r.changes))
	}
}

func TestDecideTooLate(t *testing.T) {
	for status, code := range map[domain.ApprovalStatus]domain.Code{
		domain.ApprovalExpired: domain.CodeApprovalExpired, domain.ApprovalCancelled: domain.CodeApprovalCancelled,
	} {
		r, d, h := desk(t)
		r.approval.Status = status
		if _, err := d.Decide(context.Background(), "", "", approvals.Answer{Verb: domain.Approve, ArgumentsHash: h}); domain.CodeOf(err) != code {
			t.Errorf("%s: %v", status, err)
		}
	}
}

func TestTheDatabaseHasTheLastWord(t *testing.T) {
	r, d, h := desk(t)
	answer := approvals.Answer{Verb: domain.Approve, ArgumentsHash: h, By: alice}
	r.refuse = domain.Errorf(domain.CodeStale, "not pending")
	if _, err := d.Decide(context.Background(), "", "", answer); domain.CodeOf(err) != domain.CodeApprovalExpired {
		t.Errorf("refused and still pending: %v", err)
	}
	r.refuse = domain.Errorf(domain.CodeStorage, "away").With(errors.New("dsn"))
	if got, err := d.Decide(context.Background(), "", "", answer); domain.CodeOf(err) != domain.CodeStorage || got.Status != domain.ApprovalPending {
		t.Errorf("away: %v", err)
	}
}

func toolCall(arguments string) domain.Question {
	return domain.Question{Kind: domain.ApprovalToolCall, Call: call(arguments)}
}

func TestCreateRule(t *testing.T) {
	waiting := func(execution string, kind domain.ApprovalKind, tool string) domain.Approval {
		return domain.Approval{Execution: domain.ExecutionID(execution), Kind: kind, Call: domain.ToolCall{Tool: tool}}
	}
	r, d, _ := desk(t)
	r.waiting = []domain.Approval{
		waiting("a", domain.ApprovalToolCall, "bash"), waiting("a", domain.ApprovalToolCall, "bash"),
		waiting("b", domain.ApprovalToolCall, "read"), waiting("c", domain.ApprovalQuestion, "bash"),
		waiting("d", domain.ApprovalAgentPermission, "bash"), waiting("e", domain.ApprovalUnknownOutcome, "bash"),
	}
	rule := domain.PermissionRule{Scope: domain.RememberGlobal, Effect: domain.Allow, Matcher: domain.Matcher{Tool: "bash"}, By: alice}
	first, replayed, err := d.CreateRule(t.Context(), rule, "key-1", "api")
	if err != nil || replayed || len(r.rules) != 1 || len(r.records) != 1 || r.records[0].Action != "rule.created" {
		t.Fatalf("%v, replayed %v, %+v", err, replayed, r.records)
	}
	if got := fmt.Sprint(r.rung); got != "[a d]" {
		t.Errorf("told were %s", got)
	}
	if again, replayed, err := d.CreateRule(t.Context(), rule, "key-1", "api"); err != nil || !replayed || again.ID != first.ID || len(r.rules) != 1 {
		t.Errorf("again: %v, replayed %v, %+v", err, replayed, again)
	}
	rule.Effect = domain.Deny
	if _, _, err := d.CreateRule(t.Context(), rule, "key-1", "api"); domain.CodeOf(err) != domain.CodeIdempotencyMismatch {
		t.Errorf("another rule under the same key: %v", err)
	}
	if other, _, err := d.CreateRule(t.Context(), rule, "", "api"); err != nil || other.ID == first.ID {
		t.Errorf("without a key: %v", err)
	}
	past := time.Now().Add(-time.Hour)
	for pointer, change := range map[string]func(*domain.PermissionRule){
		"/effect":      func(r *domain.PermissionRule) { r.Effect = "maybe" },
		"/scope":       func(r *domain.PermissionRule) { r.Scope = domain.RememberOnce },
		"/executionId": func(r *domain.PermissionRule) { r.Execution = "a" },
		"/expiresAt":   func(r *domain.PermissionRule) { r.Expires = &past },
		"/matcher":     func(r *domain.PermissionRule) { r.Matcher = domain.Matcher{} },
	} {
		wrong := rule
		change(&wrong)
		_, _, err := d.CreateRule(t.Context(), wrong, "", "api")
		wants(t, err, pointer)
	}
}
