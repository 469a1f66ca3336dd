package sessions_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"signoff/internal/approvals"
	"signoff/internal/audit"
	"signoff/internal/dispatch"
	"signoff/internal/domain"
	"signoff/internal/secrets"
	"signoff/internal/sessions/sessionstest"
	"signoff/internal/store"
	"signoff/internal/store/storetest"
)

// uses asks for all commands at once, as parallel calls of one answer, and ends when each has its outcome.
func uses(commands ...string) sessionstest.Script {
	return func(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
		var calls sync.WaitGroup
		for i, command := range commands {
			call := sessionstest.Bash("c"+string(rune('1'+i)), command)
			if err := t.Want("m1", call); err != nil {
				return "", err
			}
			calls.Go(func() { _, _ = t.Use(call, func(json.RawMessage) string { return "ran " + command }) })
		}
		calls.Wait()
		return domain.StopEndTurn, ctx.Err()
	}
}

func remember(scope domain.RememberScope, preview string) func(*approvals.Answer) {
	return func(a *approvals.Answer) { a.Remember, a.PreviewID, a.MayGlobal = scope, preview, true }
}

// outcomes maps each command to its outcome.
func outcomes(t *testing.T, log []domain.Event) map[string]domain.Outcome {
	t.Helper()
	ids := map[string]string{}
	for _, requested := range payloads[domain.ToolCallRequested](t, log) {
		ids[requested.ToolCallID] = strings.TrimPrefix(requested.Summary, "Run ")
	}
	all := map[string]domain.Outcome{}
	for _, completed := range payloads[domain.ToolCallCompleted](t, log) {
		all[ids[completed.ToolCallID]] = completed.Outcome
	}
	return all
}

func approvalFor(t *testing.T, all []domain.Approval, command string) domain.Approval {
	t.Helper()
	for _, approval := range all {
		if approval.Call.Summary == "Run "+command {
			return approval
		}
	}
	t.Fatalf("no approval for %s", command)
	return domain.Approval{}
}

// TestAlwaysAnswersOpenQuestions: who says always to one git log is not asked about the next one that is open already.
func TestAlwaysAnswersOpenQuestions(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		w := newWorld(t, s, uses("git log -1", "git log -2", "git status"))
		id := w.start()
		open := w.approvals(id, 3)
		w.decide(approvalFor(t, open, "git log -1"), remember(domain.RememberExecution, "command"))
		w.until(id, domain.ApprovalResolvedType)
		w.decide(approvalFor(t, open, "git status"), deny("no"))
		w.ended(id)
		log := w.events(id)
		for command, want := range map[string]domain.Outcome{
			"git log -1": domain.OutcomeSucceeded, "git log -2": domain.OutcomeSucceeded, "git status": domain.OutcomeDenied,
		} {
			if got := outcomes(t, log)[command]; got != want {
				t.Errorf("%s: %s, want %s", command, got, want)
			}
		}
		rules, err := s.PermissionRules(t.Context(), tenant, store.RuleFilter{Execution: id})
		if err != nil || len(rules.Items) != 1 || rules.Items[0].Hits != 1 || rules.Items[0].LastHit == nil {
			t.Fatalf("the rules are %+v, %v", rules.Items, err)
		}
		rule := rules.Items[0]
		for _, started := range payloads[domain.ToolCallStarted](t, log) {
			if by := approvals.Source(started.AllowedBy); (started.RuleID != rule.ID) || (by != approvals.ByRule && by != approvals.ByDecision) {
				t.Errorf("started by %s, rule %q", by, started.RuleID)
			}
		}
	})
}

func TestARememberedNoAnswersOpenQuestions(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		w := newWorld(t, s, uses("git log a", "git log b"))
		id := w.start()
		w.decide(approvalFor(t, w.approvals(id, 2), "git log b"), deny("never"), remember(domain.RememberExecution, "command"))
		w.ended(id)
		for command, outcome := range outcomes(t, w.events(id)) {
			if outcome != domain.OutcomeDenied {
				t.Errorf("%s: %s", command, outcome)
			}
		}
	})
}

// TestAGlobalRule answers the open questions of other executions, and the next calls of all.
func TestAGlobalRule(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		w := newWorld(t, s, uses("git log -1"))
		first, second := w.start(), w.start()
		w.approvals(second, 1)
		w.decide(w.approvals(first, 1)[0], remember(domain.RememberGlobal, "command"))
		third := w.start()
		for _, id := range []domain.ExecutionID{first, second, third} {
			w.ended(id)
			if got := outcomes(t, w.events(id))["git log -1"]; got != domain.OutcomeSucceeded {
				t.Errorf("%s", got)
			}
		}
		if open, err := s.ApprovalsOf(t.Context(), third); err != nil || len(open) != 0 {
			t.Errorf("the third is asked about: %+v, %v", open, err)
		}
	})
}

// TestARevokedRule asks again at once.
func TestARevokedRule(t *testing.T) {
	w := newWorld(t, storetest.SQLite(t), uses("git log -1"))
	rule, _, err := w.service.CreateRule(t.Context(), domain.PermissionRule{
		Tenant: tenant, Scope: domain.RememberGlobal, Effect: domain.Allow, Matcher: domain.Matcher{Command: "git log *"}, By: alice,
	}, "", audit.ByAPI)
	if err != nil {
		t.Fatal(err)
	}
	w.ended(w.start())
	if _, err := w.service.RevokeRule(t.Context(), tenant, rule.ID, alice, audit.ByAPI); err != nil {
		t.Fatal(err)
	}
	id := w.start()
	w.decide(w.approvals(id, 1)[0])
	w.ended(id)
	if after, err := w.store.PermissionRule(t.Context(), tenant, rule.ID); err != nil || after.Hits != 1 || after.Revoked == nil {
		t.Errorf("%+v, %v", after, err)
	}
}

func TestBashPolicyInASession(t *testing.T) {
	policy := func(denial domain.DenyBehavior) func(*domain.Request) {
		return func(r *domain.Request) {
			r.Tools.BashPolicy = &domain.BashPolicy{DefaultBehavior: domain.Allow, DenyBehavior: denial, Rules: []domain.BashRule{
				{Name: "no-rm", Pattern: `^rm\b`, Action: domain.Deny},
			}}
		}
	}
	w := newWorld(t, storetest.SQLite(t), uses("date", "rm x"))
	blocked := w.start(policy(domain.DenyBlock))
	w.ended(blocked)
	if got := outcomes(t, w.events(blocked)); got["date"] != domain.OutcomeSucceeded || got["rm x"] != domain.OutcomeDenied {
		t.Errorf("%v", got)
	}
	asked := w.start(policy(domain.DenyHITL))
	approval := w.approvals(asked, 1)[0]
	if approval.AskedBy != string(approvals.ByBashPolicy) || approval.Reason == "" {
		t.Errorf("asked by %q: %q", approval.AskedBy, approval.Reason)
	}
	w.decide(approval)
	w.ended(asked)
	if got := outcomes(t, w.events(asked))["rm x"]; got != domain.OutcomeSucceeded {
		t.Errorf("%v", got)
	}
}

func TestUnattended(t *testing.T) {
	w := newWorld(t, storetest.SQLite(t), uses("date"))
	id := w.start(func(r *domain.Request) { r.Unattended = true })
	w.ended(id)
	if got := outcomes(t, w.events(id))["date"]; got != domain.OutcomeDenied {
		t.Errorf("%v", got)
	}
}

// TestEveryCallIsOnRecord: who or what decided, by which channel, and the outcome.
func TestEveryCallIsOnRecord(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		w := newWorld(t, s, uses("date", "git log -1", "rm x"))
		id := w.start(func(r *domain.Request) {
			r.Rules = []domain.RequestRule{{Effect: domain.Allow, Matcher: domain.Matcher{Command: "date"}}}
		})
		open := w.approvals(id, 2)
		w.decide(approvalFor(t, open, "git log -1"))
		w.decide(approvalFor(t, open, "rm x"), deny("No."))
		w.ended(id)
		w.drain()
		undecided := newWorld(t, s, uses("late")) // in an execution of its own: nobody has to decide anything within its second
		late := undecided.start(func(r *domain.Request) { r.ApprovalTimeoutSeconds = 1 })
		undecided.ended(late)
		records := slices.Concat(undecided.records(late), w.records(id))
		want := map[string]string{"date": "rule succeeded", "git log -1": "decision succeeded", "rm x": "decision denied", "late": "expiry expired"}
		for _, record := range records {
			if record.Action != "toolCall.execute" {
				continue
			}
			var details struct{ Command string }
			_ = json.Unmarshal(record.Details, &details)
			if got := record.DecidedBy + " " + record.Outcome; got != want[details.Command] {
				t.Errorf("%s: %s, want %s", details.Command, got, want[details.Command])
			}
			if record.DecidedBy == "decision" && (record.Actor == nil || record.Actor.Name != "alice") {
				t.Errorf("%s: decided by %+v", details.Command, record.Actor)
			}
			if record.ArgumentsHash == "" || record.Channel == "" {
				t.Errorf("%+v", record)
			}
			delete(want, details.Command)
		}
		if len(want) > 0 {
			t.Errorf("not on record: %v", want)
		}
		if first := records[0]; first.Action != "execution.created" {
			t.Errorf("the first is %+v", first)
		}
		if last := records[len(records)-1]; last.Action != "execution.ended" || last.Outcome != "completed" {
			t.Errorf("the last is %+v", last)
		}
		if _, err := audit.Verify(t.Context(), s, tenant); err != nil {
			t.Error(err)
		}
	})
}

func (w *world) records(id domain.ExecutionID) (records []domain.AuditRecord) {
	w.t.Helper()
	entries, err := w.store.Audit(context.Background(), tenant, store.AuditFilter{Execution: id, Limit: 1000})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, entry := range entries {
		record, err := entry.Decoded()
		if err != nil {
			w.t.Fatal(err)
		}
		records = append(records, record)
	}
	return records
}

// asksUser is our own agent with a question in words.
func asksUser(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
	call := domain.ToolCall{ID: "q1", Tool: "ask_user", Version: "1", Class: domain.ClassNone, Arguments: json.RawMessage(`{"question":"Which?"}`)}
	if err := t.Want("m1", call); err != nil {
		return "", err
	}
	answer, err := t.Host.Ask(ctx, domain.Question{
		Kind: domain.ApprovalQuestion, Call: call, Form: json.RawMessage(`{"message":"Which?","schema":{"type":"object","required":["answer"]}}`),
	})
	if err != nil {
		return "", err
	}
	if answer.Status != domain.ApprovalApproved {
		return domain.StopEndTurn, t.Say("m2", "no: "+answer.Message)
	}
	err = t.Host.Emit(ctx, domain.ToolCallCompleted{ToolCallID: "q1", Outcome: domain.OutcomeSucceeded, Output: string(answer.Content)})
	if err != nil {
		return "", err
	}
	return domain.StopEndTurn, t.Say("m2", "so: "+string(answer.Content))
}

// TestAQuestionOfOurOwnAgentSurvives a server that stops: the same approval stays open, and its answer counts.
func TestAQuestionOfOurOwnAgentSurvives(t *testing.T) {
	for name, leave := range map[string]func(*world){"drained": (*world).drain, "killed": (*world).killed} {
		t.Run(name, func(t *testing.T) {
			storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
				w := newWorld(t, s, asksUser)
				id := w.start()
				before := w.approvals(id, 1)[0]
				leave(w)
				w = newWorld(t, s, asksUser)
				w.becomes(id, domain.StatusPendingToolApproval, 2)
				w.decide(before, func(a *approvals.Answer) { a.Answer = json.RawMessage(`{"answer":"red"}`) })
				if e := w.ended(id); e.Status != domain.StatusCompleted || !strings.Contains(e.Output.Text, `so: {"answer":"red"}`) {
					t.Errorf("%s: %+v", e.Status, e.Output)
				}
				if all := w.approvals(id, 1); len(all) != 1 {
					t.Errorf("%d approvals", len(all))
				}
			})
		})
	}
}

func TestAQuestionOfOurOwnAgentIsDenied(t *testing.T) {
	w := newWorld(t, storetest.SQLite(t), asksUser)
	id := w.start()
	w.decide(w.approvals(id, 1)[0], deny("Find out yourself."))
	if e := w.ended(id); !strings.Contains(e.Output.Text, "no: ") || !strings.Contains(e.Output.Text, "Find out yourself.") {
		t.Errorf("%q", e.Output.Text)
	}
	unattended := w.start(func(r *domain.Request) { r.Unattended = true })
	if e := w.ended(unattended); !strings.Contains(e.Output.Text, "unattended") {
		t.Errorf("%q", e.Output.Text)
	}
}

// ——— budgets ———

func tokens(in, out int64) domain.Usage {
	total := in + out
	return domain.Usage{InputTokens: &in, OutputTokens: &out, TotalTokens: &total}
}

func costing(usage domain.Usage, cost float64) domain.Usage {
	usage.Cost = &cost
	return usage
}

func TestBudget(t *testing.T) {
	for name, test := range map[string]struct {
		budget domain.Budget
		used   []domain.Usage
		calls  int
		warned string
		says   string // of the failure; empty: it completes
	}{
		"within":                 {domain.Budget{Tokens: 1000, Cost: 1, ToolCalls: 5}, []domain.Usage{costing(tokens(10, 10), 0.1)}, 1, "", ""},
		"warned of":              {domain.Budget{Tokens: 100}, []domain.Usage{tokens(40, 40)}, 0, "tokens", ""},
		"tokens":                 {domain.Budget{Tokens: 100}, []domain.Usage{tokens(10, 10), tokens(60, 40)}, 0, "tokens", "100 tokens"},
		"cost":                   {domain.Budget{Cost: 0.5}, []domain.Usage{costing(tokens(1, 1), 0.6)}, 0, "cost", "budget of 0.5"},
		"a cost that is unknown": {domain.Budget{Cost: 0.5}, []domain.Usage{tokens(1, 1)}, 0, "", "not known"},
		"tool calls":             {domain.Budget{ToolCalls: 2}, nil, 3, "toolCalls", "2 tool calls"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, storetest.SQLite(t), func(ctx context.Context, turn *sessionstest.Turn) (domain.StopReason, error) {
				_ = turn.Say("m1", "So far.")
				for _, usage := range test.used {
					if err := turn.Host.Emit(ctx, domain.UsageUpdated{Usage: usage}); err != nil {
						return "", err
					}
				}
				_, err := uses([]string{"a", "b", "c"}[:test.calls]...)(ctx, turn)
				if test.says != "" && err == nil {
					<-ctx.Done() // the session stops it
				}
				return domain.StopEndTurn, ctx.Err()
			})
			id := w.start(func(r *domain.Request) { r.Budget, r.SafeModeOff = test.budget, true })
			e := w.ended(id)
			if test.says == "" {
				if e.Status != domain.StatusCompleted {
					t.Errorf("%s: %+v", e.Status, e.Output)
				}
			} else if e.Status != domain.StatusFailed || e.Output.FinishReason != domain.FinishBudget || e.Output.Error.Code != domain.CodeLimitReached ||
				!strings.Contains(e.Output.Error.Message, test.says) || e.Output.Text != "So far." {
				t.Errorf("%s: %+v", e.Status, e.Output)
			}
			log := w.events(id)
			if warned := payloads[domain.BudgetWarned](t, log); (len(warned) == 1) != (test.warned != "") || (len(warned) > 0 && warned[0].Limit != test.warned) {
				t.Errorf("warned: %+v", warned)
			}
			if test.calls == 3 && len(payloads[domain.ToolCallStarted](t, log)) > 2 {
				t.Error("the call that was one too many has started")
			}
		})
	}
}

func TestUsageOfTurns(t *testing.T) {
	w := newWorld(t, storetest.SQLite(t), func(ctx context.Context, turn *sessionstest.Turn) (domain.StopReason, error) {
		n := int64(turn.Prompt.Turn)
		return domain.StopEndTurn, turn.Host.Emit(ctx, domain.UsageUpdated{Usage: tokens(100*n, 10*n)})
	})
	id := w.start(keepOpen)
	w.becomes(id, domain.StatusIdle, 1)
	w.say(id, "more", "")
	w.becomes(id, domain.StatusIdle, 2)
	w.close(id)
	for i, ended := range payloads[domain.TurnEnded](t, w.events(id)) {
		if got := ended.Usage.Tokens(); got == nil || *got != 110 {
			t.Errorf("turn %d used %v", i+1, got)
		}
	}
}

// ——— secrets and memory ———

const canary = "canary-4f1d0c77-value"

func TestNoSecretIsWritten(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		w := newWorld(t, s, func(ctx context.Context, turn *sessionstest.Turn) (domain.StopReason, error) {
			for _, piece := range canary { // as a model streams
				_ = turn.Host.Emit(ctx, domain.MessageDelta{MessageID: "m0", Text: string(piece)})
			}
			_ = turn.Host.Emit(ctx, domain.MessageCompleted{MessageID: "m0"})
			_ = turn.Think("m1", "The key is "+canary)
			exposed := sessionstest.Bash("c0", "echo "+canary)
			_ = turn.Want("m1", exposed)
			if grant, err := turn.Use(exposed, nil); err != nil || grant.Allowed {
				return "", domain.Errorf(domain.CodeInternal, "a call with a secret may run").With(err)
			}
			call := sessionstest.Bash("c1", "echo hello")
			_ = turn.Want("m1", call)
			_ = turn.Host.Emit(ctx, domain.ToolCallUpdated{ToolCallID: "c1", Output: canary[:7]})
			_ = turn.Host.Emit(ctx, domain.ToolCallUpdated{ToolCallID: "c1", Output: canary[7:] + " canary-4f"})
			_, err := turn.Use(call, func(json.RawMessage) string { return "printed " + canary })
			return domain.StopEndTurn, err
		}, masking)
		id := w.start(func(r *domain.Request) { r.SafeModeOff, r.Prompt = true, "My key is "+canary })
		if e := w.ended(id); e.Output.Text != "[masked]" || strings.Contains(e.Request.Prompt, canary) {
			t.Errorf("%q, %q", e.Output.Text, e.Request.Prompt)
		}
		log := w.events(id)
		for _, event := range log {
			if strings.Contains(string(event.Data), canary) || strings.Contains(string(event.Data), canary[:12]) {
				t.Errorf("%s: %s", event.Type, event.Data)
			}
		}
		printed := ""
		for _, update := range payloads[domain.ToolCallUpdated](t, log) {
			printed += update.Output
		}
		if printed != "[masked] canary-4f" { // what was held back in case it would become one is told in the end
			t.Errorf("printed %q", printed)
		}
		for _, record := range w.records(id) {
			if strings.Contains(string(domain.Encode(record)), canary) {
				t.Errorf("on record: %+v", record)
			}
		}
	})
}

// byteByByte prints its last argument one byte at a time.
type byteByByte struct{ sessionstest.Sandbox }

func (byteByByte) Run(_ context.Context, command domain.Command, output io.Writer) (domain.CommandResult, error) {
	_, err := io.Copy(output, iotest.OneByteReader(strings.NewReader(command.Argv[len(command.Argv)-1])))
	return domain.CommandResult{}, err
}

// A tool gets no value of a secret: it may cut the output, and half a value is not found any more.
func TestToolsGetMaskedOutput(t *testing.T) {
	var got bytes.Buffer
	w := newWorld(t, storetest.SQLite(t), func(ctx context.Context, turn *sessionstest.Turn) (domain.StopReason, error) {
		_, err := turn.Host.Run(ctx, domain.Command{Argv: []string{"a " + canary + " b " + canary[:9]}}, &got)
		return domain.StopEndTurn, err
	}, masking, func(c *dispatch.Config) { c.Sandbox = byteByByte{} })
	if e := w.ended(w.start()); e.Status != domain.StatusCompleted {
		t.Errorf("%+v", e.Output.Error)
	}
	if got.String() != "a [masked] b "+canary[:9] {
		t.Errorf("the tool got %q", &got)
	}
}

func TestHostGivesSecretsAndNotes(t *testing.T) {
	var env []string
	box := observedSandbox{func(command domain.Command) { env = command.Env }}
	w := newWorld(t, storetest.SQLite(t), func(ctx context.Context, turn *sessionstest.Turn) (domain.StopReason, error) {
		if _, err := turn.Host.Run(ctx, domain.Command{Argv: []string{"x"}, Env: []string{"A=b"}, Secrets: []string{"key"}}, io.Discard); err != nil {
			return "", err
		}
		if _, err := turn.Host.Run(ctx, domain.Command{Argv: []string{"x"}, Secrets: []string{"other"}}, io.Discard); domain.CodeOf(err) != domain.CodeUnknownSecret {
			return "", err
		}
		notes, err := turn.Host.SaveMemory(ctx, "runbook", 0, "Learnt.")
		if err != nil {
			return "", err
		}
		if notes.Scope != domain.RunbookMemory("deploy") || notes.Revision != 1 {
			return "", domain.Errorf(domain.CodeInternal, "%+v", notes)
		}
		if _, err := turn.Host.Memory(ctx, domain.RunbookMemory("other")); domain.CodeOf(err) != domain.CodePolicyDenied {
			return "", domain.Errorf(domain.CodeInternal, "the notes of another runbook are open").With(err)
		}
		again, err := turn.Host.Memory(ctx, "runbook")
		if err == nil && again.Content != "Learnt." {
			err = domain.Errorf(domain.CodeInternal, "%+v", again)
		}
		return domain.StopEndTurn, err
	}, masking, func(c *dispatch.Config) { c.Sandbox = box })
	id := w.start(func(r *domain.Request) { r.Memory, r.RunbookID = true, "deploy" })
	if e := w.ended(id); e.Status != domain.StatusCompleted {
		t.Errorf("%+v", e.Output.Error)
	}
	if got := strings.Join(env, " "); got != "A=b KEY="+canary {
		t.Errorf("the command got %q", got)
	}
	without := w.start(func(r *domain.Request) { r.RunbookID = "deploy" })
	if e := w.ended(without); e.Status != domain.StatusFailed || e.Output.Error.Code != domain.CodePolicyDenied {
		t.Errorf("without memory: %+v", e.Output)
	}
}

func TestToolOutputIsReadable(t *testing.T) {
	w := newWorld(t, storetest.SQLite(t), func(ctx context.Context, turn *sessionstest.Turn) (domain.StopReason, error) {
		call := sessionstest.Bash("c1", "seq")
		_ = turn.Want("m1", call)
		if _, err := turn.Use(call, func(json.RawMessage) string {
			for range 3 {
				_ = turn.Host.Emit(ctx, domain.ToolCallUpdated{ToolCallID: "c1", Output: "line\n"})
			}
			return "short"
		}); err != nil {
			return "", err
		}
		if _, err := turn.Host.ToolOutput(ctx, "c9"); domain.CodeOf(err) != domain.CodeNotFound {
			return "", domain.Errorf(domain.CodeInternal, "an unknown call has output").With(err)
		}
		silent := sessionstest.Bash("c2", "true")
		_ = turn.Want("m2", silent)
		if _, err := turn.Use(silent, func(json.RawMessage) string { return "found" }); err != nil {
			return "", err
		}
		last := sessionstest.Bash("c3", "true")
		_ = turn.Want("m3", last)
		if _, err := turn.Use(last, func(json.RawMessage) string { return "" }); err != nil { // which waits until the result before is in the log
			return "", err
		}
		for call, wanted := range map[string]string{"c1": "line\nline\nline\n", "c2": "found"} { // one that has printed nothing has its result
			if got, err := turn.Host.ToolOutput(ctx, call); err != nil || got != wanted {
				return "", domain.Errorf(domain.CodeInternal, "the output of %s is %q", call, got).With(err)
			}
		}
		return domain.StopEndTurn, nil
	})
	id := w.start(func(r *domain.Request) { r.SafeModeOff = true })
	if e := w.ended(id); e.Status != domain.StatusCompleted {
		t.Fatalf("%+v", e.Output.Error)
	}
}

func masking(c *dispatch.Config) {
	vault, err := secrets.NewVault(secrets.Secret{Name: "key", Variable: "KEY", Value: canary})
	if err != nil {
		panic(err)
	}
	c.Vault, c.Masker = vault, secrets.NewMasker(canary)
}

// observedSandbox is a sandbox that shows its commands.
type observedSandbox struct{ see func(domain.Command) }

func (observedSandbox) Name() string { return "test" }
func (observedSandbox) Reaches(dir string, _ domain.Environment, _ bool) []string {
	return []string{dir}
}
func (observedSandbox) Keeps(context.Context, string, domain.Environment, domain.Denied) error {
	return nil
}
func (w observedSandbox) Run(_ context.Context, command domain.Command, _ io.Writer) (domain.CommandResult, error) {
	w.see(command)
	return domain.CommandResult{}, nil
}
