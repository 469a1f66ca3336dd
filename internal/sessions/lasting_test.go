package sessions_test

import (
	"context"
	"encoding/json"
	"sync"
	"sync/atomic"
	"testing"

	"signoff/internal/approvals"
	"signoff/internal/audit"
	"signoff/internal/dispatch"
	"signoff/internal/domain"
	"signoff/internal/sessions/sessionstest"
	"signoff/internal/store"
	"signoff/internal/store/storetest"
)

// The facts that must outlast the server that knew them: who approved, what was said, which rules hold, what is used up.

// waits does nothing until its turn is stopped.
func waits(ctx context.Context, _ *sessionstest.Turn) (domain.StopReason, error) {
	<-ctx.Done()
	return "", context.Cause(ctx)
}

// rule makes a rule for everybody.
func (w *world) rule(effect domain.Verdict, matcher domain.Matcher) domain.PermissionRule {
	w.t.Helper()
	rule, _, err := w.service.CreateRule(context.Background(), domain.PermissionRule{
		Tenant: tenant, Scope: domain.RememberGlobal, Effect: effect, Matcher: matcher, By: alice,
	}, "", audit.ByAPI)
	if err != nil {
		w.t.Fatal(err)
	}
	return rule
}

func (w *world) cancel(id domain.ExecutionID) domain.Execution {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), w.patience)
	defer cancel()
	if _, err := w.manager.Cancel(ctx, tenant, id, "enough", alice); err != nil {
		w.t.Fatal("cancel:", err)
	}
	return w.ended(id)
}

// recordOf is the one entry about a call.
func (w *world) recordOf(id domain.ExecutionID, call string) domain.AuditRecord {
	w.t.Helper()
	var found []domain.AuditRecord
	for _, record := range w.records(id) {
		if record.Subject == call {
			found = append(found, record)
		}
	}
	if len(found) != 1 {
		w.t.Fatalf("%d entries about %s: %+v", len(found), call, found)
	}
	return found[0]
}

// ——— the record ———

func TestWhoApprovedALostCallIsOnRecord(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		first := newWorld(t, s, func(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
			call := sessionstest.Bash("c1", "ls")
			_ = t.Want("m1", call)
			_, err := t.Use(call, func(json.RawMessage) string { <-ctx.Done(); return "" })
			return "", err
		})
		id := first.start()
		approval := first.approvals(id, 1)[0]
		first.decide(approval)
		first.until(id, domain.ToolCallStartedType)
		first.killed()

		second := newWorld(t, s, resuming(new(atomic.Int32)))
		second.decide(second.approvals(id, 2)[1], resolve(domain.ResolutionFailed, ""))
		second.ended(id)
		record := second.recordOf(id, "c1")
		if record.Outcome != string(domain.OutcomeUnknown) || record.DecidedBy != string(approvals.ByDecision) ||
			record.Actor == nil || record.Actor.Name != "alice" || record.ArgumentsHash != approval.ArgumentsHash || record.Channel == "" {
			t.Errorf("alice approved it, and on record is %+v", record)
		}
	})
}

// TestACallThatNobodyDecidedIsOnRecordAsTheServers, and not as decided by what had it asked about.
func TestACallThatNobodyDecidedIsOnRecordAsTheServers(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		first := newWorld(t, s, uses("ls"))
		cancelled, recovered := first.start(), first.start()
		first.approvals(cancelled, 1)
		first.cancel(cancelled)
		first.approvals(recovered, 1)
		first.killed()

		second := newWorld(t, s, waits)
		second.becomes(recovered, domain.StatusPendingToolApproval, 2)
		second.cancel(recovered)
		for _, id := range []domain.ExecutionID{cancelled, recovered} {
			record := second.recordOf(id, "c1")
			if record.Outcome != string(domain.OutcomeCancelled) || record.DecidedBy != string(approvals.ByServer) ||
				record.Reason != "" || record.Channel != audit.BySession {
				t.Errorf("%+v", record)
			}
		}
	})
}

// ——— text that was held back ———

// held ends like a secret might begin, so its end is held back until it is clear that it was none.
var held = "The beginning is " + canary[:12]

func says(ctx context.Context, t *sessionstest.Turn) error {
	return t.Host.Emit(ctx, domain.MessageDelta{MessageID: "m1", Text: held})
}

// told is the text of all messages in the log.
func told(t *testing.T, log []domain.Event) (text string) {
	t.Helper()
	for _, piece := range payloads[domain.MessageDelta](t, log) {
		text += piece.Text
	}
	return text
}

// overtaken has somebody send a prompt in the very moment in which a change enters a status, so that it is drafted twice.
func overtaken(t *testing.T, s *store.Store, status domain.Status) *hooked {
	var once sync.Once
	prompt := func(id domain.ExecutionID) {
		queued := domain.QueuedPrompt{ID: domain.PromptID(approvals.NewID()), Text: "more", WhenBusy: domain.WhenBusyEnqueue, By: alice}
		_, err := s.Commit(context.Background(), []store.Change{{
			Execution: id, Prompt: &store.NewPrompt{Prompt: queued},
			Events: []domain.Event{domain.NewEvent(id, domain.PromptQueued{PromptID: queued.ID, Text: queued.Text})},
		}})
		if err != nil {
			t.Error(err)
		}
	}
	return &hooked{Store: s, commit: func(_ context.Context, changes []store.Change) error {
		for _, change := range changes {
			if change.Update != nil && change.Update.Status == status {
				once.Do(func() { prompt(change.Execution) })
			}
		}
		return nil
	}}
}

func TestHeldBackTextIsToldBeforeAnEndThatIsDraftedTwice(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		w := newWorldThrough(t, overtaken(t, s, domain.StatusCancelled), s, func(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
			if err := says(ctx, t); err != nil {
				return "", err
			}
			return waits(ctx, t)
		}, masking)
		id := w.start(keepOpen)
		w.until(id, domain.MessageDeltaType)
		if end := w.cancel(id); end.Output.Text != held {
			t.Errorf("the output is %q", end.Output.Text)
		}
		log := w.events(id)
		if text := told(t, log); text != held {
			t.Errorf("the log has %q", text)
		}
		if discarded := payloads[domain.PromptDiscarded](t, log); len(discarded) != 1 {
			t.Errorf("nobody was faster: %+v", discarded)
		}
	})
}

func TestHeldBackTextIsToldBeforeAnEndOfATurnThatIsDraftedTwice(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		w := newWorldThrough(t, overtaken(t, s, domain.StatusIdle), s, func(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
			if t.Prompt.Turn > 1 {
				return domain.StopEndTurn, nil
			}
			return domain.StopEndTurn, says(ctx, t)
		}, masking)
		id := w.start(keepOpen)
		w.becomes(id, domain.StatusIdle, 1)
		if end := w.close(id); end.Turn != 2 {
			t.Errorf("nobody was faster: turn %d", end.Turn)
		}
		if text := told(t, w.events(id)); text != held {
			t.Errorf("the log has %q", text)
		}
	})
}

// A call follows on whole texts: after a restart nobody would know that an end was held back.
// TestAHeldBackEndIsNotLetGoOfTooEarly: a call is announced in the middle of an output, or of a message.
func TestAHeldBackEndIsNotLetGoOfTooEarly(t *testing.T) {
	w := newWorld(t, storetest.SQLite(t), func(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
		call := sessionstest.Bash("c1", "ls")
		_ = t.Want("m1", call)
		_ = t.Host.Emit(ctx, domain.MessageDelta{MessageID: "m2", Text: canary[:12]})
		if _, err := t.Use(call, func(json.RawMessage) string {
			_ = t.Host.Emit(ctx, domain.ToolCallUpdated{ToolCallID: "c1", Output: canary[:12]})
			_ = t.Want("m1", sessionstest.Bash("c2", "ls"))
			_ = t.Host.Emit(ctx, domain.ToolCallUpdated{ToolCallID: "c1", Output: canary[12:]})
			return "x"
		}); err != nil {
			return "", err
		}
		return domain.StopEndTurn, t.Say("m2", canary[12:])
	}, masking)
	id := w.start(func(r *domain.Request) { r.SafeModeOff = true })
	end := w.ended(id)
	log := w.events(id)
	printed := ""
	for _, piece := range payloads[domain.ToolCallUpdated](t, log) {
		printed += piece.Output
	}
	if text := told(t, log); text != "[masked]" || printed != "[masked]" || end.Output.Text != "[masked]" {
		t.Errorf("said %q, printed %q, output %q", text, printed, end.Output.Text)
	}
}

func TestHeldBackTextIsToldAtADrain(t *testing.T) {
	w := newWorld(t, storetest.SQLite(t), func(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
		if err := says(ctx, t); err != nil {
			return "", err
		}
		return waits(ctx, t)
	}, masking)
	id := w.start()
	w.until(id, domain.MessageDeltaType)
	w.drain()
	if text := told(t, w.events(id)); text != held {
		t.Errorf("the next driver finds %q", text)
	}
}

// ——— rules, approvals and budgets across a restart ———

// away is a server whose agent comes back to its questions only when the test says so.
func away(back <-chan struct{}, script sessionstest.Script) func(*dispatch.Config) {
	return func(c *dispatch.Config) {
		c.Agents[domain.SourceInternal] = func(ctx context.Context, _ domain.Opening) (domain.Agent, error) {
			select {
			case <-back:
				return &sessionstest.Agent{Script: script}, nil
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
		}
	}
}

// TestRulesAnswerWhatWasOpenBeforeARestart, also where they were made before the agent came back to its questions.
func TestRulesAnswerWhatWasOpenBeforeARestart(t *testing.T) {
	for name, test := range map[string]struct {
		meanwhile func(*world, domain.Approval)
		outcome   domain.Outcome
	}{
		"always to one": {func(w *world, one domain.Approval) { w.decide(one, remember(domain.RememberExecution, "command")) }, domain.OutcomeSucceeded},
		"never to all":  {func(w *world, _ domain.Approval) { w.rule(domain.Deny, domain.Matcher{Command: "git log *"}) }, domain.OutcomeDenied},
	} {
		t.Run(name, func(t *testing.T) {
			storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
				both := uses("git log -1", "git log -2")
				first := newWorld(t, s, both)
				id := first.start()
				open := first.approvals(id, 2)
				first.killed()

				back := make(chan struct{})
				second := newWorld(t, s, nil, away(back, both))
				test.meanwhile(second, approvalFor(t, open, "git log -1"))
				close(back)
				second.ended(id)
				for command, outcome := range outcomes(t, second.events(id)) {
					if outcome != test.outcome {
						t.Errorf("%s: %s, want %s", command, outcome, test.outcome)
					}
				}
			})
		})
	}
}

// versioned runs one call of a tool of some version, and counts how often.
func versioned(version string, runs *atomic.Int32) sessionstest.Script {
	return func(_ context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
		call := sessionstest.Bash("c1", "ls")
		call.Version = version
		_ = t.Want("m1", call)
		_, err := t.Use(call, func(json.RawMessage) string { runs.Add(1); return "ran" })
		return domain.StopEndTurn, err
	}
}

// updated describes each tool as another version than the one that the calls of before were shown with.
type updated struct{ sessionstest.AnyTool }

func (u updated) Describe(request domain.Request, tool string, arguments json.RawMessage) (domain.ToolCall, error) {
	call, err := u.AnyTool.Describe(request, tool, arguments)
	call.Version = "2"
	return call, err
}

// TestNoYesToAnOlderVersion: a yes to a call whose tool has changed since is refused at once, and the call is asked about anew. A
// yes that was accepted would be judged again, and might end as a refusal.
func TestNoYesToAnOlderVersion(t *testing.T) {
	for name, change := range map[string]func(*dispatch.Config){"live": func(*dispatch.Config) {}, "parked": parks} {
		t.Run(name, func(t *testing.T) {
			storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
				var runs atomic.Int32
				first := newWorld(t, s, versioned("1", &runs))
				id := first.start()
				before := first.approvals(id, 1)[0]
				first.killed()

				second := newWorld(t, s, versioned("2", &runs), change)
				second.service = approvals.NewService(s, second.log, updated{})
				yes := approvals.Answer{Verb: domain.Approve, ArgumentsHash: before.ArgumentsHash, By: alice}
				shown, err := second.service.Decide(context.Background(), tenant, before.ID, yes)
				if domain.CodeOf(err) != domain.CodeArgumentsHash || shown.Status != domain.ApprovalCancelled {
					t.Errorf("%s: %v", shown.Status, err)
				}
				again := pending(t, second.approvals(id, 2))
				if runs.Load() != 0 || again.Call.Version != "2" {
					t.Errorf("%d runs, asked anew about version %s", runs.Load(), again.Call.Version)
				}
				if _, err := second.service.Decide(context.Background(), tenant, before.ID, yes); domain.CodeOf(err) != domain.CodeApprovalCancelled {
					t.Errorf("the same again: %v", err)
				}
				second.decide(again)
				if end := second.ended(id); end.Status != domain.StatusCompleted || runs.Load() != 1 {
					t.Errorf("%s, %d runs", end.Status, runs.Load())
				}
			})
		})
	}
}

// TestNoToAnOlderVersion: a no means the same whatever the tool does.
func TestNoToAnOlderVersion(t *testing.T) {
	s := storetest.SQLite(t)
	var runs atomic.Int32
	w := newWorld(t, s, versioned("1", &runs))
	id := w.start()
	w.service = approvals.NewService(s, w.log, updated{})
	w.decide(w.approvals(id, 1)[0], deny("no"))
	if w.ended(id); runs.Load() != 0 {
		t.Error("it ran")
	}
}

// TestAnApprovalIsOfOneVersion: a person approves the tool of one release. The yes was accepted by a server that was not updated
// yet.
func TestAnApprovalIsOfOneVersion(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		var runs atomic.Int32
		first := newWorld(t, s, versioned("1", &runs))
		id := first.start()
		before := first.approvals(id, 1)[0]
		first.killed()

		second := newWorld(t, s, versioned("2", &runs))
		second.decide(before)
		again := pending(t, second.approvals(id, 2))
		if runs.Load() != 0 || again.Call.Version != "2" {
			t.Errorf("%d runs, asked anew about version %s", runs.Load(), again.Call.Version)
		}
		second.service = approvals.NewService(s, second.log, updated{})
		second.decide(again)
		if end := second.ended(id); end.Status != domain.StatusCompleted || runs.Load() != 1 {
			t.Errorf("%s, %d runs", end.Status, runs.Load())
		}
	})
}

// pending is the one approval that waits.
func pending(t *testing.T, all []domain.Approval) domain.Approval {
	t.Helper()
	var waiting []domain.Approval
	for _, approval := range all {
		if approval.Status == domain.ApprovalPending {
			waiting = append(waiting, approval)
		}
	}
	if len(waiting) != 1 {
		t.Fatalf("%d questions are open: %+v", len(waiting), waiting)
	}
	return waiting[0]
}

// TestASpentBudgetStaysSpent: the server that knew of it was lost before it could end the execution.
func TestASpentBudgetStaysSpent(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		lost := make(chan struct{})
		first := newWorld(t, s, func(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
			_ = t.Host.Emit(ctx, domain.UsageUpdated{Usage: tokens(600, 400)})
			<-lost // it does not return as long as there is somebody to end the execution
			return "", context.Cause(ctx)
		})
		id := first.start(func(r *domain.Request) { r.Budget.Tokens = 100 })
		first.until(id, domain.UsageUpdatedType)
		first.stop()
		close(lost)
		first.killed()

		var prompts atomic.Int32
		second := newWorld(t, s, func(context.Context, *sessionstest.Turn) (domain.StopReason, error) {
			prompts.Add(1)
			return domain.StopEndTurn, nil
		})
		end := second.ended(id)
		if prompts.Load() != 0 || end.Output.FinishReason != domain.FinishBudget || end.Output.Error.Code != domain.CodeLimitReached {
			t.Errorf("prompted %d times, %+v", prompts.Load(), end.Output)
		}
	})
}

// TestAnEarlierDriverSavesNoMemory: its agent may still run, and does not know that another has taken its place.
func TestAnEarlierDriverSavesNoMemory(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		hosts := make(chan domain.Host, 1)
		script := func(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
			hosts <- t.Host
			return waits(ctx, t)
		}
		first := newWorld(t, s, script)
		id := first.start(func(r *domain.Request) { r.Memory = true })
		earlier := <-hosts
		first.killed()
		second := newWorld(t, s, script)
		later := <-hosts

		if _, err := earlier.SaveMemory(t.Context(), domain.GlobalMemory, 0, "stale"); domain.CodeOf(err) != domain.CodeStale {
			t.Errorf("the earlier one: %v", err)
		}
		if saved, err := later.SaveMemory(t.Context(), domain.GlobalMemory, 0, "fresh"); err != nil || saved.Content != "fresh" {
			t.Errorf("the later one: %+v, %v", saved, err)
		}
		second.cancel(id)
	})
}
