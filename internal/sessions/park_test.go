package sessions_test

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"testing"
	"time"

	"signoff/internal/approvals"
	"signoff/internal/audit"
	"signoff/internal/dispatch"
	"signoff/internal/domain"
	"signoff/internal/sessions/sessionstest"
	"signoff/internal/store"
	"signoff/internal/store/storetest"
)

// parks has executions that wait parked almost at once.
func parks(c *dispatch.Config) {
	c.ParkAfter, c.LookEvery = time.Millisecond, 20*time.Millisecond
}

// parked waits until nobody drives an execution, and no session is left of it.
func (w *world) parked(id domain.ExecutionID) {
	w.t.Helper()
	for deadline := time.Now().Add(w.patience); ; time.Sleep(time.Millisecond) {
		head, err := w.store.Head(context.Background(), id)
		if err != nil {
			w.t.Fatal(err)
		}
		if head.Owner == "" && w.manager.Live() == 0 {
			return
		}
		if time.Now().After(deadline) {
			w.t.Fatalf("it is not parked: %+v, %d live", head, w.manager.Live())
		}
	}
}

// prompted takes a further prompt in.
func (w *world) prompted(id domain.ExecutionID, text string) {
	w.t.Helper()
	if _, err := w.prompt(id, text, domain.WhenBusyEnqueue); err != nil {
		w.t.Fatal(err)
	}
}

func TestAParkedApprovalWakesOnItsDecision(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		var starts atomic.Int32
		asking := newWorld(t, s, resuming(&starts), parks)
		id := asking.start()
		before := asking.approvals(id, 1)[0]
		asking.parked(id)
		if status := asking.execution(id).Status; status != domain.StatusPendingToolApproval {
			t.Errorf("parked it is %s", status)
		}
		decider := asking
		if s.Shared() {
			decider = newWorld(t, s, resuming(&starts), parks) // which has never heard of it
		}
		decider.decide(before)
		if end := decider.ended(id); end.Status != domain.StatusCompleted || end.Output.Text != "done" || end.Recovery != 0 {
			t.Errorf("%s: %+v, %d recoveries", end.Status, end.Output, end.Recovery)
		}
		if n := starts.Load(); n != 1 {
			t.Errorf("%d starts", n)
		}
	})
}

func TestAParkedApprovalIsRefused(t *testing.T) {
	var starts atomic.Int32
	w := newWorld(t, storetest.SQLite(t), resuming(&starts), parks)
	id := w.start()
	approval := w.approvals(id, 1)[0]
	w.parked(id)
	w.decide(approval, deny("not now"))
	if end := w.ended(id); end.Status != domain.StatusCompleted || starts.Load() != 0 {
		t.Errorf("%s: %+v", end.Status, end.Output)
	}
}

func TestAParkedApprovalExpires(t *testing.T) {
	var starts atomic.Int32
	w := newWorld(t, storetest.SQLite(t), resuming(&starts), parks)
	id := w.start(func(r *domain.Request) { r.ApprovalTimeoutSeconds = 1 })
	w.parked(id)
	if end := w.ended(id); end.Status != domain.StatusCompleted || starts.Load() != 0 {
		t.Errorf("%s: %+v", end.Status, end.Output)
	}
	if all := w.approvals(id, 1); all[0].Status != domain.ApprovalExpired {
		t.Errorf("the approval is %s", all[0].Status)
	}
}

func TestAParkedClientCallWakesOnItsAnswer(t *testing.T) {
	w := newWorld(t, storetest.SQLite(t), inserts, parks)
	id := w.start(trusting)
	w.becomes(id, domain.StatusExecutingTool, 1)
	w.parked(id)
	w.answers(id, "c1", "inserted")
	if end := w.ended(id); end.Output.Text != "told: inserted" {
		t.Errorf("%s: %+v", end.Status, end.Output)
	}
}

// The executions of a dead server that wait are not driven again before somebody answers: thousands of them cost a start nothing.
func TestWhatOnlyWaitsIsParkedAfterAKill(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		var starts atomic.Int32
		first := newWorld(t, s, resuming(&starts))
		id := first.start()
		before := first.approvals(id, 1)[0]
		first.killed()

		opened := 0
		second := newWorld(t, s, nil, parks, func(c *dispatch.Config) {
			open := sessionstest.Open(resuming(&starts))
			c.Agents[domain.SourceInternal] = func(ctx context.Context, opening domain.Opening) (domain.Agent, error) {
				opened++
				return open(ctx, opening)
			}
		})
		second.parked(id)
		if opened != 0 {
			t.Error("an agent was opened although nobody had answered")
		}
		second.decide(before)
		if end := second.ended(id); end.Output.Text != "done" || starts.Load() != 1 || end.Recovery != 0 {
			t.Errorf("%s: %+v, %d starts", end.Status, end.Output, starts.Load())
		}
	})
}

func TestARuleWakesWhatIsParked(t *testing.T) {
	var starts atomic.Int32
	w := newWorld(t, storetest.SQLite(t), resuming(&starts), parks)
	first, second := w.start(), w.start()
	approval := w.approvals(first, 1)[0]
	w.approvals(second, 1)
	w.parked(first)
	w.parked(second)
	w.decide(approval, func(a *approvals.Answer) { a.Remember, a.MayGlobal = domain.RememberGlobal, true })
	for _, id := range []domain.ExecutionID{first, second} {
		if end := w.ended(id); end.Output.Text != "done" {
			t.Errorf("%s: %+v", end.Status, end.Output)
		}
	}
}

// A call that had started is not parked on: nobody is asked anything.
func TestWhatRunsIsNotParked(t *testing.T) {
	release := make(chan struct{})
	w := newWorld(t, storetest.SQLite(t), func(ctx context.Context, turn *sessionstest.Turn) (domain.StopReason, error) {
		call := sessionstest.Bash("c1", "ls")
		if err := turn.Want("m1", call); err != nil {
			return "", err
		}
		_, err := turn.Use(call, func(json.RawMessage) string { <-release; return "ran" })
		return domain.StopEndTurn, err
	}, parks)
	id := w.start(func(r *domain.Request) { r.Capabilities.Execute = domain.Allow })
	w.becomes(id, domain.StatusExecutingTool, 1)
	head, err := w.store.Head(context.Background(), id)
	if err != nil || head.Owner == "" {
		t.Errorf("%+v, %v", head, err)
	}
	close(release)
	w.ended(id)
}

func TestAnIdleExecutionIsParked(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		w := newWorld(t, s, func(_ context.Context, turn *sessionstest.Turn) (domain.StopReason, error) {
			return domain.StopEndTurn, turn.Say("m", turn.Prompt.Text)
		}, parks)
		lasting := func(r *domain.Request) { r.KeepOpen, r.IdleTimeoutSeconds = true, 3600 }
		prompted, closed, cancelled := w.start(lasting), w.start(lasting), w.start(lasting)
		expired := w.start(lasting, func(r *domain.Request) { r.IdleTimeoutSeconds = 1 })
		for _, id := range []domain.ExecutionID{prompted, closed, cancelled, expired} {
			w.becomes(id, domain.StatusIdle, 1)
		}
		w.parked(prompted)
		w.prompted(prompted, "again")
		w.becomes(prompted, domain.StatusIdle, 2)
		w.parked(prompted)
		w.close(closed)
		w.cancel(cancelled)
		if end := w.ended(expired); end.Output.FinishReason != domain.FinishExpired {
			t.Errorf("%s: %+v", end.Status, end.Output)
		}
	})
}

// The questions of an external agent live in its process: it is not parked.
func TestAnExternalAgentThatAsksKeepsItsProcess(t *testing.T) {
	external := &sessionstest.External{Opened: make(chan domain.Opening, 9), Script: asking}
	w := newWorld(t, storetest.SQLite(t), nil, externally(external), parks)
	id := w.start(outside)
	approval := w.approvals(id, 1)[0]
	w.decide(approval)
	w.ended(id)
	if n := len(external.Opened); n != 1 {
		t.Errorf("%d openings", n)
	}
}

func TestAnIdleExternalAgentIsLetGo(t *testing.T) {
	external := &sessionstest.External{Opened: make(chan domain.Opening, 9), Script: func(_ context.Context, turn *sessionstest.Turn) (domain.StopReason, error) {
		return domain.StopEndTurn, turn.Say("m", "hello")
	}}
	w := newWorld(t, storetest.SQLite(t), nil, externally(external), parks)
	id := w.start(outside, func(r *domain.Request) { r.KeepOpen, r.IdleTimeoutSeconds = true, 3600 })
	w.becomes(id, domain.StatusIdle, 1)
	w.parked(id)
	w.prompted(id, "again")
	w.becomes(id, domain.StatusIdle, 2)
	w.parked(id)
	if <-external.Opened; (<-external.Opened).AgentSession != "session-1" {
		t.Error("its session was not loaded")
	}
}

// A replica whose clock is behind makes a rule that seems older than the question.
func TestARuleOfAClockThatIsBehindWakes(t *testing.T) {
	var starts atomic.Int32
	w := newWorld(t, storetest.SQLite(t), resuming(&starts), parks)
	id := w.start()
	asked := w.approvals(id, 1)[0]
	w.parked(id)
	rule := domain.PermissionRule{
		ID: "behind", Tenant: tenant, Scope: domain.RememberGlobal, Effect: domain.Allow, Matcher: domain.Matcher{Tool: asked.Call.Tool},
		By: alice, Created: asked.Requested.Add(-9 * time.Minute),
	}
	if err := w.store.CreateRule(context.Background(), rule, audit.Rule("rule.created", rule, alice, audit.ByAPI)); err != nil {
		t.Fatal(err)
	}
	if _, err := w.log.Commit(context.Background(), store.Change{Execution: id, Notify: true}); err != nil {
		t.Fatal(err)
	}
	if end := w.ended(id); end.Output.Text != "done" {
		t.Errorf("%s: %+v", end.Status, end.Output)
	}
}

// Who was warned of a bound is not warned again by each driver.
func TestParkingDoesNotWarnAgain(t *testing.T) {
	var starts atomic.Int32
	w := newWorld(t, storetest.SQLite(t), resuming(&starts), parks)
	id := w.start(func(r *domain.Request) { r.Budget.ToolCalls = 1 })
	asked := w.approvals(id, 1)[0]
	w.parked(id)
	w.decide(asked)
	w.ended(id)
	if warned := payloads[domain.BudgetWarned](t, w.events(id)); len(warned) != 1 {
		t.Errorf("warned: %+v", warned)
	}
}

// kept is an agent that may have something in its process which the log cannot bring back.
type kept struct {
	domain.Agent
	parkable *atomic.Bool
}

func (k kept) Parkable() bool { return k.parkable.Load() }

// TestAnAgentKeepsItsExecutionRunning: whatever the execution waits for, it is not parked before its agent may be closed.
func TestAnAgentKeepsItsExecutionRunning(t *testing.T) {
	for name, waits := range map[string]struct {
		request func(*domain.Request)
		reached domain.Status
		script  sessionstest.Script
	}{
		"for a decision": {func(*domain.Request) {}, domain.StatusPendingToolApproval, resuming(new(atomic.Int32))},
		"for a prompt": {func(r *domain.Request) { r.KeepOpen = true }, domain.StatusIdle, func(context.Context, *sessionstest.Turn) (domain.StopReason, error) {
			return domain.StopEndTurn, nil
		}},
		"for its model": {func(*domain.Request) {}, domain.StatusWaiting, func(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
			if err := t.Host.Emit(ctx, domain.ModelRetrying{Attempt: 1, At: time.Now().Add(time.Hour), Until: time.Now().Add(time.Hour)}); err != nil {
				return "", err
			}
			<-ctx.Done()
			return "", context.Cause(ctx)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			var parkable atomic.Bool
			w := newWorld(t, storetest.SQLite(t), waits.script, parks, func(c *dispatch.Config) {
				open := c.Agents[domain.SourceInternal]
				c.Agents[domain.SourceInternal] = func(ctx context.Context, opening domain.Opening) (domain.Agent, error) {
					agent, err := open(ctx, opening)
					return kept{agent, &parkable}, err
				}
			})
			id := w.start(waits.request)
			w.reach(id, waits.reached)
			time.Sleep(50 * time.Millisecond) // it would be parked by now
			if head, err := w.store.Head(t.Context(), id); err != nil || head.Owner == "" {
				t.Errorf("it was parked: %+v, %v", head, err)
			}
			parkable.Store(true)
			w.parked(id)
		})
	}
}
