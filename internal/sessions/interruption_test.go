package sessions_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"signoff/internal/dispatch"
	"signoff/internal/domain"
	"signoff/internal/sessions/sessionstest"
	"signoff/internal/store"
	"signoff/internal/store/storetest"
)

// errKey is the error of an agent whose provider does not accept the key.
func errKey() error {
	return domain.Errorf(domain.CodeModelUnauthorized, "The provider does not accept the key (401).").With(domain.ErrProviderUnavailable)
}

// refusedAfterACommand is an agent that runs a command. The next so many requests to its model fail, and then it has done its work.
func refusedAfterACommand(starts, failures *atomic.Int32) sessionstest.Script {
	return func(_ context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
		if history := t.Prompt.History; history[len(history)-1].Role == domain.RoleUser {
			call := sessionstest.Bash("c1", "ls")
			if err := t.Want("m1", call); err != nil {
				return "", err
			}
			if _, err := t.Use(call, func(json.RawMessage) string { starts.Add(1); return "ran" }); err != nil {
				return "", err
			}
		}
		if failures.Add(-1) >= 0 {
			return "", errKey()
		}
		return domain.StopEndTurn, t.Say("m2", "done")
	}
}

func mayRun(r *domain.Request) { r.Capabilities.Execute = domain.Allow }

func (w *world) resume(id domain.ExecutionID, mode domain.ResumeMode) {
	w.t.Helper()
	if _, err := w.manager.Resume(context.Background(), tenant, id, mode, alice); err != nil {
		w.t.Fatal("resume:", err)
	}
}

// TestAProviderInterrupts, and retry repeats the request: the call that ran before it does not run again, on the same server, after
// a restart, and from a row that nobody drives.
func TestAProviderInterrupts(t *testing.T) {
	for name, test := range map[string]struct {
		parks bool
		kills bool
	}{"at once": {}, "after a kill": {kills: true}, "parked": {parks: true}} {
		t.Run(name, func(t *testing.T) {
			storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
				var starts, failures atomic.Int32
				script := refusedAfterACommand(&starts, &failures)
				var change []func(*dispatch.Config)
				if test.parks {
					change = append(change, parks)
				}
				w := newWorld(t, s, script, change...)
				failures.Store(2)
				id := w.start(mayRun)
				for n := 1; n <= 2; n++ {
					w.becomes(id, domain.StatusInterrupted, n)
					if e := w.execution(id); e.Cause != domain.CauseProvider {
						t.Fatalf("interrupted with the cause %q", e.Cause)
					}
					if test.parks {
						w.parked(id)
					}
					if test.kills {
						w.killed()
						w = newWorld(t, s, script, change...)
					}
					for _, mode := range []domain.ResumeMode{domain.ResumeLoad, domain.ResumeFresh} {
						if _, err := w.manager.Resume(context.Background(), tenant, id, mode, alice); domain.CodeOf(err) != domain.CodeInvalid {
							t.Errorf("resumed with %s: %v", mode, err)
						}
					}
					w.resume(id, domain.ResumeRetry)
				}
				end := w.ended(id)
				if end.Status != domain.StatusCompleted || end.Output.Text != "done" || end.Cause != "" {
					t.Errorf("%s with the cause %q: %+v", end.Status, end.Cause, end.Output)
				}
				if n := starts.Load(); n != 1 {
					t.Errorf("the command ran %d times", n)
				}
				log := w.events(id)
				for _, changed := range payloads[domain.StateChanged](t, log) {
					if changed.To == domain.StatusInterrupted && (changed.Cause != domain.CauseProvider ||
						changed.Code != domain.CodeModelUnauthorized || !strings.Contains(changed.Reason, "401")) {
						t.Errorf("%+v", changed)
					}
				}
				if n := len(payloads[domain.TurnStarted](t, log)); n != 1 {
					t.Errorf("%d turns", n)
				}
				for _, continued := range payloads[domain.TurnContinued](t, log) {
					if continued.Mode != domain.ResumeRetry || continued.Text != "" || *continued.By != alice {
						t.Errorf("%+v", continued)
					}
				}
			})
		})
	}
}

// TestAProvidersInterruptionHasNoDeadline, while that of a lost process has.
func TestAProvidersInterruptionHasNoDeadline(t *testing.T) {
	for name, change := range map[string]func(*dispatch.Config){"held": func(*dispatch.Config) {}, "parked": func(c *dispatch.Config) { c.ParkAfter = time.Minute }} {
		t.Run(name, func(t *testing.T) {
			failing := true
			agent := func(_ context.Context, turn *sessionstest.Turn) (domain.StopReason, error) {
				if failing {
					return "", errKey()
				}
				return domain.StopEndTurn, turn.Say("m1", "done")
			}
			onFakeTimeWith(t, func(c *dispatch.Config) {
				c.Agents[domain.SourceInternal] = sessionstest.Open(agent)
				change(c)
			}, func(t *testing.T, w *world) {
				id := w.start(func(r *domain.Request) { r.ApprovalTimeoutSeconds, r.TimeoutSeconds = 2, 60 })
				time.Sleep(10 * 24 * time.Hour)
				synctest.Wait()
				if e := w.execution(id); e.Status != domain.StatusInterrupted {
					t.Fatalf("ten days later it is %s: %+v", e.Status, e.Output)
				}
				failing = false
				w.resume(id, domain.ResumeRetry)
				if end := w.ended(id); end.Status != domain.StatusCompleted {
					t.Errorf("%s: %+v", end.Status, end.Output)
				}
			})
		})
	}
}

// TestRetryIsNotForALostProcess.
func TestRetryIsNotForALostProcess(t *testing.T) {
	s := storetest.SQLite(t)
	script := hung(func(ctx context.Context, t *sessionstest.Turn) {
		_ = t.Want("m1", sessionstest.Bash("c1", "ls"))
		_ = t.Host.Emit(ctx, domain.ToolCallStarted{ToolCallID: "c1", AllowedBy: "agent"})
	})
	w, _ := abroad(t, s, script)
	id := w.start(outside)
	w.until(id, domain.ToolCallStartedType)
	w.killed()
	w, _ = abroad(t, s, script)
	w.becomes(id, domain.StatusInterrupted, 1)
	if e := w.execution(id); e.Cause != domain.CauseProcessGone {
		t.Errorf("the cause is %q", e.Cause)
	}
	if _, err := w.manager.Resume(context.Background(), tenant, id, domain.ResumeRetry, alice); domain.CodeOf(err) != domain.CodeInvalid {
		t.Errorf("retry: %v", err)
	}
}

// TestEndsOfAnInterruptedExecution by people who do not want it to continue.
func TestEndsOfAnInterruptedExecution(t *testing.T) {
	agent := func(context.Context, *sessionstest.Turn) (domain.StopReason, error) { return "", errKey() }
	for name, test := range map[string]struct {
		act    func(w *world, id domain.ExecutionID)
		status domain.Status
		says   string
	}{
		"fail":   {func(w *world, id domain.ExecutionID) { w.resume(id, domain.ResumeFail) }, domain.StatusFailed, "The request to the model failed, and alice chose not to go on"},
		"close":  {func(w *world, id domain.ExecutionID) { _, _ = w.manager.Close(context.Background(), tenant, id, alice) }, domain.StatusFailed, "alice closed"},
		"cancel": {func(w *world, id domain.ExecutionID) { w.cancel(id) }, domain.StatusCancelled, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, storetest.SQLite(t), agent)
			id := w.start(keepOpen)
			w.becomes(id, domain.StatusInterrupted, 1)
			test.act(w, id)
			end := w.ended(id)
			if end.Status != test.status {
				t.Fatalf("it is %s", end.Status)
			}
			if test.says != "" && (end.Output.Error.Code != domain.CodeInterrupted || !strings.Contains(end.Output.Error.Message, test.says)) {
				t.Errorf("%+v", end.Output.Error)
			}
		})
	}
}

// TestAnAgentThatCannotBeOpenedWithoutAKey is interrupted before its first turn, and begins it when there is one.
func TestAnAgentThatCannotBeOpenedWithoutAKey(t *testing.T) {
	var keyed atomic.Bool
	w := newWorld(t, storetest.SQLite(t), nil, func(c *dispatch.Config) {
		c.Agents[domain.SourceInternal] = func(ctx context.Context, o domain.Opening) (domain.Agent, error) {
			if !keyed.Load() {
				return nil, errKey()
			}
			return sessionstest.Open(echo)(ctx, o)
		}
	})
	id := w.start()
	w.becomes(id, domain.StatusInterrupted, 1)
	keyed.Store(true)
	w.resume(id, domain.ResumeRetry)
	if end := w.ended(id); end.Status != domain.StatusCompleted {
		t.Errorf("%s: %+v", end.Status, end.Output)
	}
}
