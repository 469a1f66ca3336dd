package sessions_test

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"signoff/internal/approvals"
	"signoff/internal/dispatch"
	"signoff/internal/domain"
	"signoff/internal/sessions/sessionstest"
	"signoff/internal/store"
	"signoff/internal/store/storetest"
)

// stuck is a script for each status of a running turn: it gets there and stays until its turn is stopped.
var stuck = map[domain.Status]sessionstest.Script{
	domain.StatusWaiting: func(ctx context.Context, _ *sessionstest.Turn) (domain.StopReason, error) {
		<-ctx.Done()
		return "", context.Cause(ctx)
	},
	domain.StatusStreaming: func(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
		_ = t.Host.Emit(ctx, domain.MessageDelta{MessageID: "m", Text: "half a sen"})
		<-ctx.Done()
		return "", context.Cause(ctx)
	},
	domain.StatusPendingToolApproval: func(_ context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
		call := sessionstest.Bash("c1", "ls")
		_ = t.Want("m", call)
		_, err := t.Use(call, func(json.RawMessage) string { return "must not run" })
		return "", err
	},
	domain.StatusExecutingTool: func(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
		call := sessionstest.Bash("c1", "sleep")
		call.Class, call.Action = domain.ClassRead, domain.Action{}
		_ = t.Want("m", call)
		_, err := t.Use(call, func(json.RawMessage) string { <-ctx.Done(); return "stopped" })
		return "", err
	},
}

func TestCancelInEveryState(t *testing.T) {
	for status, script := range stuck {
		t.Run(string(status), func(t *testing.T) {
			storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
				w := newWorld(t, s, script)
				id := w.start()
				w.reach(id, status)
				if _, err := w.manager.Cancel(context.Background(), tenant, id, "changed my mind", alice); err != nil {
					t.Fatal("cancel:", err)
				}
				if end := w.ended(id); end.Status != domain.StatusCancelled {
					t.Fatalf("it ended as %s", end.Status)
				}
				last := payloads[domain.ExecutionEnded](t, w.events(id))
				if len(last) != 1 || last[0].Reason != "changed my mind" || *last[0].CancelledBy != alice {
					t.Errorf("the end says %+v", last)
				}
				for _, approval := range w.approvals(id, 0) {
					if approval.Status != domain.ApprovalCancelled {
						t.Errorf("approval is %s", approval.Status)
					}
				}
				again, err := w.manager.Cancel(context.Background(), tenant, id, "again", alice)
				if err != nil || again.Status != domain.StatusCancelled {
					t.Errorf("cancelled again: %s, %v", again.Status, err)
				}
			})
		})
	}
}

// reach waits until the log says that the status is reached.
func (w *world) reach(id domain.ExecutionID, status domain.Status) {
	w.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		if w.execution(id).Status == status {
			return
		}
		if time.Now().After(deadline) {
			w.t.Fatalf("%s is not reached, it is %s", status, w.execution(id).Status)
		}
	}
}

// Who asks for an end does not wait for it: not for the turn that runs, not for an agent that takes its time, and not for a person.
func TestAskingForAnEndTakesNoTime(t *testing.T) {
	stubborn := func(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
		<-ctx.Done()
		time.Sleep(4 * time.Second)
		return "", context.Cause(ctx)
	}
	asks := map[string]func(*world, domain.ExecutionID) (domain.Execution, error){
		"cancel": func(w *world, id domain.ExecutionID) (domain.Execution, error) {
			return w.manager.Cancel(context.Background(), tenant, id, "enough", alice)
		},
		"close": func(w *world, id domain.ExecutionID) (domain.Execution, error) {
			return w.manager.Close(context.Background(), tenant, id, alice)
		},
	}
	scripts := map[string]sessionstest.Script{"a turn": stubborn, "an approval": one("ls")}
	for what, ask := range asks {
		for open, script := range scripts {
			t.Run(what+" during "+open, func(t *testing.T) {
				onFakeTime(t, script, func(t *testing.T, w *world) {
					id := w.start(keepOpen)
					synctest.Wait()
					begun := time.Now()
					execution, err := ask(w, id)
					if took := time.Since(begun); took > 0 || err != nil {
						t.Errorf("it took %s: %s, %v", took, execution.Status, err)
					}
					if execution.Status.Terminal() && what == "close" {
						t.Errorf("it is %s while it works", execution.Status)
					}
					if again, err := ask(w, id); err != nil {
						t.Errorf("asked again: %s, %v", again.Status, err)
					}
					w.cancel(id)
				})
			})
		}
	}
}

// An answer that was given is not lost with the server that gave it, which is killed at once.
func TestAskingForAnEndSurvivesAKill(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		first := newWorld(t, s, stuck[domain.StatusStreaming])
		idle := newWorld(t, s, echo)
		cancelled, closed := first.start(keepOpen), idle.start(keepOpen)
		first.reach(cancelled, domain.StatusStreaming)
		idle.becomes(closed, domain.StatusIdle, 1)
		first.killed()
		idle.killed()
		asked := newWorld(t, s, echo, func(c *dispatch.Config) { c.LookEvery = ages }) // so it may not have taken them up by then
		if _, err := asked.manager.Cancel(context.Background(), tenant, cancelled, "enough", alice); err != nil {
			t.Fatal(err)
		}
		if _, err := asked.manager.Close(context.Background(), tenant, closed, alice); err != nil {
			t.Fatal(err)
		}
		asked.killed()
		second := newWorld(t, s, stuck[domain.StatusStreaming])
		if end := second.ended(cancelled); end.Status != domain.StatusCancelled {
			t.Errorf("cancelled, it ended as %s", end.Status)
		}
		if end := second.ended(closed); end.Status != domain.StatusCompleted {
			t.Errorf("closed, it ended as %s", end.Status)
		}
	})
}

func TestCancelOfAnEndedExecutionConflicts(t *testing.T) {
	w := newWorld(t, storetest.SQLite(t), func(context.Context, *sessionstest.Turn) (domain.StopReason, error) {
		return domain.StopEndTurn, nil
	})
	id := w.start()
	w.ended(id)
	if _, err := w.manager.Cancel(context.Background(), tenant, id, "", alice); domain.CodeOf(err) != domain.CodeExecutionEnded {
		t.Errorf("got %v", err)
	}
	if _, err := w.manager.Cancel(context.Background(), "other", id, "", alice); domain.CodeOf(err) != domain.CodeNotFound {
		t.Errorf("of another tenant: %v", err)
	}
}

// onFakeTime runs a test on SQLite in a bubble whose clock jumps: its database time is the bubble's.
func onFakeTime(t *testing.T, script sessionstest.Script, test func(t *testing.T, w *world)) {
	onFakeTimeWith(t, func(c *dispatch.Config) { c.Agents[domain.SourceInternal] = sessionstest.Open(script) }, test)
}

func onFakeTimeWith(t *testing.T, change func(*dispatch.Config), test func(t *testing.T, w *world)) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, storetest.SQLite(t), nil, func(c *dispatch.Config) { c.LeaseTTL, c.LookEvery = ages, ages }, change)
		w.patience = ages
		test(t, w)
	})
}

// ages is longer than any test's clock jumps, so that no lease has to be renewed on the way.
const ages = 20 * 365 * 24 * time.Hour

func TestActiveTimeEndsTheTurn(t *testing.T) {
	onFakeTime(t, stuck[domain.StatusStreaming], func(t *testing.T, w *world) {
		id := w.start(func(r *domain.Request) { r.TimeoutSeconds = 60 })
		begun := time.Now()
		end := w.ended(id)
		if end.Status != domain.StatusTimedOut || end.Output.Text != "half a sen" || end.Output.Error.Code != domain.CodeTimedOut {
			t.Errorf("%s: %+v", end.Status, end.Output)
		}
		if took := time.Since(begun); took < time.Minute || took > 61*time.Second {
			t.Errorf("ended after %s", took)
		}
	})
}

func TestNoTimeoutMeansNone(t *testing.T) {
	onFakeTime(t, func(context.Context, *sessionstest.Turn) (domain.StopReason, error) {
		time.Sleep(100 * time.Hour)
		return domain.StopEndTurn, nil
	}, func(t *testing.T, w *world) {
		id := w.start(func(r *domain.Request) { r.TimeoutSeconds = 0 })
		time.Sleep(101 * time.Hour)
		synctest.Wait()
		if end := w.execution(id); end.Status != domain.StatusCompleted {
			t.Errorf("ended as %s", end.Status)
		}
	})
}

func TestWaitingForAPersonDoesNotCount(t *testing.T) {
	onFakeTime(t, func(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
		time.Sleep(50 * time.Second) // of the 60
		call := sessionstest.Bash("c1", "ls")
		_ = t.Want("m", call)
		if _, err := t.Use(call, func(json.RawMessage) string { return "ok" }); err != nil {
			return "", err
		}
		select {
		case <-time.After(20 * time.Second):
		case <-ctx.Done():
		}
		return "", context.Cause(ctx)
	}, func(t *testing.T, w *world) {
		id := w.start(func(r *domain.Request) { r.TimeoutSeconds = 60 })
		approval := w.approvals(id, 1)[0]
		time.Sleep(40 * time.Minute)
		w.decide(approval)
		decided := time.Now()
		if end := w.ended(id); end.Status != domain.StatusTimedOut {
			t.Errorf("ended as %s", end.Status)
		}
		if took := time.Since(decided); took < 9*time.Second || took > 12*time.Second {
			t.Errorf("timed out %s after the decision, 10 s were left", took)
		}
	})
}

func TestExpiryIsNoHumanNo(t *testing.T) {
	onFakeTime(t, one("ls"), func(t *testing.T, w *world) {
		id := w.start(func(r *domain.Request) { r.ApprovalTimeoutSeconds = 8 * 3600 })
		approval := w.approvals(id, 1)[0]
		begun := time.Now()
		end := w.ended(id)
		if took := time.Since(begun); took < 8*time.Hour || took > 8*time.Hour+time.Second {
			t.Errorf("expired after %s", took)
		}
		if end.Status != domain.StatusCompleted {
			t.Errorf("the turn did not go on: %s", end.Status)
		}
		log := w.events(id)
		resolved := payloads[domain.ApprovalResolved](t, log)
		if len(resolved) != 1 || resolved[0].Status != domain.ApprovalExpired || resolved[0].DecidedBy != nil {
			t.Errorf("resolved: %+v", resolved)
		}
		if outcomes := payloads[domain.ToolCallCompleted](t, log); outcomes[0].Outcome != domain.OutcomeExpired || outcomes[0].Error.Code != domain.CodeApprovalExpired {
			t.Errorf("outcome: %+v", outcomes[0])
		}
		_, err := w.service.Decide(context.Background(), tenant, approval.ID, approvals.Answer{
			Verb: domain.Approve, ArgumentsHash: approval.ArgumentsHash, By: alice,
		})
		if domain.CodeOf(err) != domain.CodeApprovalExpired {
			t.Errorf("decided too late: %v", err)
		}
	})
}

func TestApprovalThatNeverExpires(t *testing.T) {
	onFakeTime(t, one("ls"), func(t *testing.T, w *world) {
		id := w.start(func(r *domain.Request) { r.ApprovalTimeoutSeconds = 0 })
		approval := w.approvals(id, 1)[0]
		time.Sleep(365 * 24 * time.Hour)
		w.decide(approval)
		if end := w.ended(id); end.Status != domain.StatusCompleted {
			t.Errorf("ended as %s", end.Status)
		}
	})
}

func TestAgentThatIgnoresItsEnd(t *testing.T) {
	onFakeTime(t, func(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
		call := sessionstest.Bash("c1", "sleep")
		call.Class, call.Action = domain.ClassRead, domain.Action{}
		_ = t.Want("m", call)
		_, _ = t.Use(call, func(json.RawMessage) string { time.Sleep(time.Hour); return "late" })
		return domain.StopEndTurn, nil
	}, func(t *testing.T, w *world) {
		id := w.start(func(r *domain.Request) { r.TimeoutSeconds = 1 })
		end := w.ended(id)
		time.Sleep(2 * time.Hour) // the agent comes back at last, and finds nobody
		if end.Status != domain.StatusTimedOut {
			t.Errorf("ended as %s", end.Status)
		}
		if outcomes := payloads[domain.ToolCallCompleted](t, w.events(id)); len(outcomes) != 1 || outcomes[0].Outcome != domain.OutcomeUnknown {
			t.Errorf("outcomes: %+v", outcomes)
		}
	})
}

func TestRacingDeciders(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		w := newWorld(t, s, one("ls"))
		for range 5 {
			id := w.start()
			approval := w.approvals(id, 1)[0]
			var won, lost sync.Map
			var deciders sync.WaitGroup
			for i := range 32 {
				deciders.Go(func() {
					by := domain.Actor{KeyID: string(rune('a' + i)), Name: "decider"}
					answer := approvals.Answer{Verb: domain.Approve, ArgumentsHash: approval.ArgumentsHash, By: by}
					if i%2 == 1 {
						answer = approvals.Answer{Verb: domain.DenyCall, Reason: "no", By: by}
					}
					_, err := w.service.Decide(context.Background(), tenant, approval.ID, answer)
					switch domain.CodeOf(err) {
					case domain.CodeAlreadyDecided:
						lost.Store(i, answer.Verb)
					default:
						if err != nil {
							t.Error(err)
						}
						won.Store(i, answer.Verb)
					}
				})
			}
			deciders.Wait()
			verbs := map[domain.Verb]bool{}
			won.Range(func(_, verb any) bool { verbs[verb.(domain.Verb)] = true; return true })
			lost.Range(func(_, verb any) bool {
				if verbs[verb.(domain.Verb)] {
					t.Errorf("%s won and lost", verb)
				}
				return true
			})
			if len(verbs) != 1 {
				t.Errorf("winners said %v", verbs)
			}
			w.ended(id)
			if resolved := payloads[domain.ApprovalResolved](t, w.events(id)); len(resolved) != 1 {
				t.Errorf("%d decisions in the log", len(resolved))
			}
		}
	})
}

func TestIdempotentStart(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		w := newWorld(t, s, one("ls"))
		key := &store.Idempotency{Key: "once", BodyHash: []byte("body")}
		var ids sync.Map
		var creators sync.WaitGroup
		for range 20 {
			creators.Go(func() {
				execution, _, err := w.manager.Start(context.Background(), tenant, alice, request(), key)
				if err != nil {
					t.Error(err)
					return
				}
				if execution.Status != domain.StatusQueued || execution.LastSeq != 1 {
					t.Errorf("answered %s at %d, the first answer was queued at 1", execution.Status, execution.LastSeq)
				}
				ids.Store(execution.ID, true)
			})
		}
		creators.Wait()
		n := 0
		ids.Range(func(any, any) bool { n++; return true })
		if n != 1 {
			t.Errorf("%d executions", n)
		}
		other := &store.Idempotency{Key: "once", BodyHash: []byte("another body")}
		if _, _, err := w.manager.Start(context.Background(), tenant, alice, request(), other); domain.CodeOf(err) != domain.CodeIdempotencyMismatch {
			t.Errorf("other body: %v", err)
		}
	})
}

func TestDrainRefusesNewOnes(t *testing.T) {
	w := newWorld(t, storetest.SQLite(t), one("ls"))
	w.drain()
	if _, _, err := w.manager.Start(context.Background(), tenant, alice, request(), nil); domain.CodeOf(err) != domain.CodeUnavailable {
		t.Errorf("got %v", err)
	}
}
