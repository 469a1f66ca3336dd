package sessions_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"signoff/internal/approvals"
	"signoff/internal/domain"
	"signoff/internal/sessions/sessionstest"
	"signoff/internal/store"
	"signoff/internal/store/storetest"
)

// The outcome of a call of our own agent that was running when its server stopped.

// printing is a call that prints, and whose server dies before it ends.
func printing(call domain.ToolCall, starts *atomic.Int32) sessionstest.Script {
	return func(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
		_ = t.Want("m1", call)
		_, err := t.Use(call, func(json.RawMessage) string {
			starts.Add(1)
			_ = t.Host.Emit(ctx, domain.ToolCallUpdated{ToolCallID: call.ID, Output: "half"})
			<-ctx.Done()
			return ""
		})
		return "", err
	}
}

// again does the same as the internal agent after a restart: it asks again for the call that the history leaves open, and says the
// answer in the end.
func again(starts *atomic.Int32) sessionstest.Script {
	return func(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
		history := t.Prompt.History
		last := history[len(history)-1]
		if last.Role == domain.RoleTool {
			return domain.StopEndTurn, t.Say("m2", "told: "+last.Text)
		}
		var said []string
		for _, call := range last.ToolCalls {
			call.Version, call.Action = "1", sessionstest.Bash("", "ls").Action
			grant, err := t.Use(call, func(arguments json.RawMessage) string {
				starts.Add(1)
				_ = t.Host.Emit(ctx, domain.ToolCallUpdated{ToolCallID: call.ID, Output: " and whole"})
				return "ran " + string(arguments)
			})
			if err != nil {
				return "", err
			}
			said = append(said, "told: "+grant.Message)
		}
		return domain.StopEndTurn, t.Say("m2", said...)
	}
}

// lose has a server die in the middle of an approved call, and returns the next one with the question about it.
func lose(t *testing.T, s *store.Store, change ...func(*domain.Request)) (w *world, id domain.ExecutionID, question domain.Approval, starts *atomic.Int32) {
	t.Helper()
	starts = new(atomic.Int32)
	first := newWorld(t, s, printing(sessionstest.Bash("c1", "ls"), starts))
	id = first.start(change...)
	first.decide(first.approvals(id, 1)[0])
	first.until(id, domain.ToolCallUpdatedType)
	first.killed()
	w = newWorld(t, s, again(starts))
	question = w.approvals(id, 2)[1]
	w.reach(id, domain.StatusPendingToolApproval)
	return w, id, question, starts
}

func resolve(resolution domain.Resolution, reason string) func(*approvals.Answer) {
	return func(a *approvals.Answer) { a.Verb, a.Resolution, a.Reason = "", resolution, reason }
}

// outcomeOf is the outcome of the only call of an execution that has ended.
func (w *world) outcomeOf(id domain.ExecutionID) domain.ToolCallCompleted {
	w.t.Helper()
	outcomes := payloads[domain.ToolCallCompleted](w.t, w.events(id))
	if len(outcomes) != 1 {
		w.t.Fatalf("%d outcomes: %+v", len(outcomes), outcomes)
	}
	return outcomes[0]
}

func TestALostCallIsAQuestion(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		w, id, question, _ := lose(t, s)
		before := w.approvals(id, 1)[0]
		if question.Kind != domain.ApprovalUnknownOutcome || question.ID == before.ID || question.ArgumentsHash != before.ArgumentsHash ||
			question.Call.ID != "c1" || question.Call.Version != before.Call.Version || string(question.Call.Arguments) != string(before.Call.Arguments) ||
			question.Call.Summary != before.Call.Summary || question.Expires == nil || len(question.RememberOptions) != 0 || question.Reason == "" {
			t.Errorf("asked about %+v, and then %+v", before, question)
		}
		w.rule(domain.Allow, domain.Matcher{Tool: "bash"}) // a rule says what may run, not what has run
		w.rule(domain.Deny, domain.Matcher{Tool: "bash"})
		for range 2 { // more crashes ask nothing new
			w.killed()
			w = newWorld(t, s, again(new(atomic.Int32)))
			w.reach(id, domain.StatusPendingToolApproval)
		}
		if all := w.approvals(id, 2); len(all) != 2 || all[1].ID != question.ID || all[1].Status != domain.ApprovalPending {
			t.Errorf("%+v", all)
		}
		w.cancel(id)
		outcome := w.outcomeOf(id)
		if all := w.approvals(id, 2); all[1].Status != domain.ApprovalCancelled || outcome.Outcome != domain.OutcomeUnknown {
			t.Errorf("the approval is %s, the outcome %+v", all[1].Status, outcome)
		}
	})
}

func TestWhatSomebodyFoundOut(t *testing.T) {
	for resolution, want := range map[domain.Resolution]string{
		domain.ResolutionSucceeded: "it has succeeded", domain.ResolutionFailed: "it has failed",
	} {
		t.Run(string(resolution), func(t *testing.T) {
			storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
				w, id, question, starts := lose(t, s)
				w.decide(question, resolve(resolution, "I looked"))
				end, outcome := w.ended(id), w.outcomeOf(id)
				if outcome.Outcome != domain.OutcomeUnknown || !strings.Contains(outcome.Output, want) || !strings.Contains(outcome.Output, "I looked") {
					t.Errorf("%+v", outcome)
				}
				if end.Output.Text != "told: "+outcome.Output || starts.Load() != 1 || !end.Output.ToolCallsExecuted[0].Approved {
					t.Errorf("%d starts, %+v", starts.Load(), end.Output)
				}
				record := w.recordOf(id, "c1")
				if record.DecidedBy != string(approvals.ByDecision) || record.Actor.Name != "alice" || record.ArgumentsHash != question.ArgumentsHash {
					t.Errorf("who let it run is not on record: %+v", record)
				}
			})
		})
	}
}

func TestALostCallRunsOnceMoreByAnotherYes(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		w, id, question, starts := lose(t, s)
		w.rule(domain.Allow, domain.Matcher{Tool: "bash"}) // it would allow any other call like it
		w.decide(question, resolve(domain.ResolutionRetry, "it never connected"))
		retry := w.approvals(id, 3)[2]
		if retry.Kind != domain.ApprovalToolCall || !strings.Contains(retry.Reason, "it never connected") || retry.Expires == nil {
			t.Errorf("%+v", retry)
		}
		w.killed()
		w = newWorld(t, s, again(starts))
		w.reach(id, domain.StatusPendingToolApproval)
		w.rule(domain.Allow, domain.Matcher{Tool: "bash", Command: "ls"})
		if all := w.approvals(id, 3); len(all) != 3 || all[2].Status != domain.ApprovalPending || starts.Load() != 1 {
			t.Fatalf("%d starts, %+v", starts.Load(), all)
		}
		w.decide(retry, func(a *approvals.Answer) { a.Arguments = json.RawMessage(`{"command":"ls -a"}`) })
		end, outcome := w.ended(id), w.outcomeOf(id)
		if end.Status != domain.StatusCompleted || outcome.Outcome != domain.OutcomeSucceeded || outcome.Output != `ran {"command":"ls -a"}` || starts.Load() != 2 {
			t.Errorf("%s, %+v, %d starts", end.Status, outcome, starts.Load())
		}
		started := payloads[domain.ToolCallStarted](t, w.events(id))
		if len(started) != 2 || started[1].ApprovalID != retry.ID || started[0].ApprovalID == retry.ID {
			t.Errorf("started: %+v", started)
		}
	})
}

// TestDecidedWhileNobodyDrivesALostCall: neither the retry nor the yes is lost, and the first yes is not taken for it.
func TestDecidedWhileNobodyDrivesALostCall(t *testing.T) {
	s := storetest.SQLite(t)
	w, id, question, starts := lose(t, s)
	w.killed()
	w = newWorld(t, s, waits) // an agent that never comes back to its call
	w.decide(question, resolve(domain.ResolutionRetry, ""))
	w.killed()
	w = newWorld(t, s, again(starts))
	retry := w.approvals(id, 3)[2]
	w.killed()
	w = newWorld(t, s, waits)
	w.decide(retry)
	w.killed()
	w = newWorld(t, s, again(starts))
	if end := w.ended(id); end.Status != domain.StatusCompleted || starts.Load() != 2 {
		t.Errorf("%s, %d starts", end.Status, starts.Load())
	}
}

// TestALostCallThatIsNotRepeated: that it did not run again says nothing of the first time.
func TestALostCallThatIsNotRepeated(t *testing.T) {
	for name, test := range map[string]struct {
		end  func(w *world, id domain.ExecutionID, question domain.Approval)
		want string
	}{
		"denied": {func(w *world, id domain.ExecutionID, question domain.Approval) {
			w.decide(question, resolve(domain.ResolutionRetry, ""))
			w.decide(w.approvals(id, 3)[2], deny("better not"))
		}, "better not"},
		"held back by a rule": {func(w *world, _ domain.ExecutionID, question domain.Approval) {
			w.rule(domain.Deny, domain.Matcher{Tool: "bash"})
			w.decide(question, resolve(domain.ResolutionRetry, ""))
		}, "A permission rule denies this"},
		"held back by a rule of later": {func(w *world, id domain.ExecutionID, question domain.Approval) {
			w.decide(question, resolve(domain.ResolutionRetry, ""))
			w.approvals(id, 3)
			w.rule(domain.Deny, domain.Matcher{Tool: "bash"})
		}, "A permission rule denied this"},
		"a plain no": {func(w *world, _ domain.ExecutionID, question domain.Approval) {
			w.decide(question, deny("it hangs"))
		}, "it has failed. They said: it hangs"},
	} {
		t.Run(name, func(t *testing.T) {
			w, id, question, starts := lose(t, storetest.SQLite(t))
			test.end(w, id, question)
			end, outcome := w.ended(id), w.outcomeOf(id)
			if end.Status != domain.StatusCompleted || outcome.Outcome != domain.OutcomeUnknown || !strings.Contains(outcome.Output, test.want) || starts.Load() != 1 {
				t.Errorf("%s, %+v, %d starts", end.Status, outcome, starts.Load())
			}
		})
	}
}

func TestNobodyLookedForALostCall(t *testing.T) {
	s := storetest.SQLite(t)
	w, id, question, starts := lose(t, s, func(r *domain.Request) { r.ApprovalTimeoutSeconds = 1 })
	end, outcome := w.ended(id), w.outcomeOf(id)
	if outcome.Outcome != domain.OutcomeUnknown || outcome.Output != approvals.OutcomeUnknown().Message || end.Output.Text != "told: "+outcome.Output || starts.Load() != 1 {
		t.Errorf("%+v, %+v", outcome, end.Output)
	}
	if all := w.approvals(id, 2); all[1].ID != question.ID || all[1].Status != domain.ApprovalExpired {
		t.Errorf("%+v", all[1])
	}
}

// TestOneLostAndOnePending: of two calls at once, one was running and one was not.
func TestOneLostAndOnePending(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		starts := new(atomic.Int32)
		first := newWorld(t, s, func(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
			lost, pending := sessionstest.Bash("c1", "ls"), sessionstest.Bash("c2", "ls")
			_ = t.Want("m1", lost)
			_ = t.Want("m1", pending)
			go func() { _, _ = t.Host.Authorize(ctx, pending) }()
			_, err := t.Use(lost, func(json.RawMessage) string { starts.Add(1); <-ctx.Done(); return "" })
			return "", err
		})
		id := first.start()
		for _, a := range first.approvals(id, 2) {
			if a.Call.ID == "c1" {
				first.decide(a)
			}
		}
		first.until(id, domain.ToolCallStartedType)
		for deadline := time.Now().Add(first.patience); starts.Load() == 0 && time.Now().Before(deadline); time.Sleep(time.Millisecond) { // it is in the log before it runs
		}
		first.killed()

		w := newWorld(t, s, again(starts))
		for _, a := range w.approvals(id, 3) {
			switch {
			case a.Status != domain.ApprovalPending:
			case a.Kind == domain.ApprovalUnknownOutcome:
				w.decide(a, resolve(domain.ResolutionSucceeded, ""))
			default:
				w.decide(a)
			}
		}
		end := w.ended(id)
		outcomes := map[string]domain.Outcome{}
		for _, done := range payloads[domain.ToolCallCompleted](t, w.events(id)) {
			outcomes[done.ToolCallID] = done.Outcome
		}
		if end.Status != domain.StatusCompleted || outcomes["c1"] != domain.OutcomeUnknown || outcomes["c2"] != domain.OutcomeSucceeded || starts.Load() != 2 {
			t.Errorf("%s, %v, %d starts", end.Status, outcomes, starts.Load())
		}
	})
}

// TestNobodyIsAskedAboutSomeLostCalls: one that only reads may be read again, and of an unattended execution nobody is there.
func TestNobodyIsAskedAboutSomeLostCalls(t *testing.T) {
	reading := sessionstest.Bash("c1", "ls")
	reading.Class, reading.Action = domain.ClassRead, domain.Action{}
	for name, test := range map[string]struct {
		call   domain.ToolCall
		change func(*domain.Request)
	}{
		"a call that reads":       {reading, func(*domain.Request) {}},
		"an unattended execution": {sessionstest.Bash("c1", "ls"), func(r *domain.Request) { r.Unattended, r.Capabilities.Execute = true, domain.Allow }},
	} {
		t.Run(name, func(t *testing.T) {
			s := storetest.SQLite(t)
			starts := new(atomic.Int32)
			first := newWorld(t, s, printing(test.call, starts))
			id := first.start(test.change)
			first.until(id, domain.ToolCallUpdatedType)
			first.killed()
			w := newWorld(t, s, again(starts))
			end, outcome := w.ended(id), w.outcomeOf(id)
			if outcome.Outcome != domain.OutcomeUnknown || end.Output.Text != "told: "+outcome.Output || starts.Load() != 1 {
				t.Errorf("%+v, %+v", outcome, end.Output)
			}
		})
	}
}

// TestALostCallThatTheAgentGivesUp: its tool is gone, so the question makes no sense any more, and the outcome stays unknown.
func TestALostCallThatTheAgentGivesUp(t *testing.T) {
	s := storetest.SQLite(t)
	w, id, question, _ := lose(t, s)
	w.killed()
	w = newWorld(t, s, func(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
		gone := &domain.Failure{Code: domain.CodeUnknownTool, Message: "There is no tool bash."}
		_ = t.Host.Emit(ctx, domain.ToolCallCompleted{ToolCallID: "c1", Outcome: domain.OutcomeFailed, Output: gone.Message, Error: gone})
		return domain.StopEndTurn, t.Say("m2", "so be it")
	})
	w.ended(id)
	outcome := w.outcomeOf(id)
	if outcome.Outcome != domain.OutcomeUnknown || !strings.Contains(outcome.Output, "There is no tool bash.") {
		t.Errorf("%+v", outcome)
	}
	if all := w.approvals(id, 2); all[1].ID != question.ID || all[1].Status != domain.ApprovalCancelled {
		t.Errorf("%+v", all[1])
	}
}
