package sessions_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"signoff/internal/budgets"
	"signoff/internal/dispatch"
	"signoff/internal/domain"
	"signoff/internal/sessions/sessionstest"
	"signoff/internal/store"
	"signoff/internal/store/storetest"
)

// daily gives the tenant a budget of its day.
func daily(s *store.Store, budget domain.SharedBudget) func(*dispatch.Config) {
	return func(c *dispatch.Config) {
		ledger := budgets.NewLedger(s, c.Replica, map[domain.TenantID]domain.SharedBudget{tenant: budget})
		c.Budgets, c.Ledger = ledger, ledger
	}
}

// asksItsModel sends so many requests, also over restarts, each of which uses 40 tokens.
func asksItsModel(left *atomic.Int32) sessionstest.Script {
	return func(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
		for left.Load() > 0 {
			if err := asksOnce(ctx, t, tokens(30, 10)); err != nil {
				return "", err
			}
			left.Add(-1)
		}
		return domain.StopEndTurn, t.Say("m", "done")
	}
}

// asksOnce sends a request that reserves 10 tokens and uses 40. The agent reports the usage of all of them.
func asksOnce(ctx context.Context, t *sessionstest.Turn, all domain.Usage) error {
	reserved, err := t.Host.Reserve(ctx, domain.Estimate{Tokens: 10})
	if err != nil {
		return err
	}
	reserved.Settle(tokens(30, 10), true)
	return t.Host.Emit(ctx, domain.UsageUpdated{Usage: all})
}

// TestADayThatIsSpent interrupts what runs, and refuses what is new. Under a larger budget the execution goes on with the request that was not sent, also on
// another server.
func TestADayThatIsSpent(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		var left atomic.Int32
		left.Store(5)
		w := newWorld(t, s, asksItsModel(&left), daily(s, domain.SharedBudget{Tokens: 100}))
		key := &store.Idempotency{Key: "first", BodyHash: make([]byte, 32)}
		first, _, err := w.manager.Start(t.Context(), tenant, alice, request(), key)
		if err != nil {
			t.Fatal(err)
		}
		w.becomes(first.ID, domain.StatusInterrupted, 1)
		if e := w.execution(first.ID); e.Cause != domain.CauseDailyBudget || left.Load() != 2 { // the third request goes beyond the bound
			t.Errorf("interrupted with the cause %q, %d requests are left", e.Cause, left.Load())
		}
		changes := payloads[domain.StateChanged](t, w.events(first.ID))
		if last := changes[len(changes)-1]; last.Code != domain.CodeDailyBudgetSpent || !strings.Contains(last.Reason, "100 tokens") {
			t.Errorf("%+v", last)
		}

		if err := w.config.Budgets.Check(t.Context(), "another"); err != nil {
			t.Errorf("of another tenant: %v", err)
		}
		_, _, err = w.manager.Start(t.Context(), tenant, alice, request(), nil)
		var refused *domain.Error
		if !errors.As(err, &refused) || refused.Code != domain.CodeDailyBudgetSpent || refused.RetryAfter <= 0 || refused.RetryAfter > 24*time.Hour {
			t.Errorf("another one: %v, %+v", err, refused)
		}
		if again, replayed, err := w.manager.Start(t.Context(), tenant, alice, request(), key); err != nil || !replayed || again.ID != first.ID {
			t.Errorf("the same again: %v, %v", replayed, err)
		}
		w.resume(first.ID, domain.ResumeRetry)
		w.becomes(first.ID, domain.StatusInterrupted, 2)
		w.killed()
		w = newWorld(t, s, asksItsModel(&left), daily(s, domain.SharedBudget{Tokens: 1000}))
		w.resume(first.ID, domain.ResumeRetry)
		if end := w.ended(first.ID); end.Status != domain.StatusCompleted || left.Load() != 0 {
			t.Errorf("%s, %d requests are left", end.Status, left.Load())
		}
	})
}

// TestTheDayOfAnExternalAgent: its turn is stopped at the report that goes beyond the budget, and its session goes on later.
func TestTheDayOfAnExternalAgent(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		stopped := make(chan error, 1)
		external := &sessionstest.External{Opened: make(chan domain.Opening, 9)}
		external.Script = func(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
			if t.Prompt.Text != "go" {
				return domain.StopEndTurn, t.Say("m2", "done")
			}
			_ = t.Want("m1", sessionstest.Bash("c1", "ls"))
			_ = t.Host.Emit(ctx, domain.ToolCallStarted{ToolCallID: "c1", AllowedBy: "agent"})
			for used := int64(10); ctx.Err() == nil; used += 10 {
				_ = t.Host.Emit(ctx, domain.UsageUpdated{Usage: tokens(used, 0)})
				select {
				case <-time.After(5 * time.Millisecond):
				case <-ctx.Done():
				}
			}
			stopped <- context.Cause(ctx)
			return "", ctx.Err()
		}
		w := newWorld(t, s, nil, externally(external), daily(s, domain.SharedBudget{Tokens: 160}))
		id := w.start(outside)
		w.becomes(id, domain.StatusInterrupted, 1)
		if why := <-stopped; !errors.Is(why, domain.ErrBudgetSpent) {
			t.Errorf("it was stopped because of %v", why)
		}
		e := w.execution(id)
		if used := *e.Usage.Tokens(); e.Cause != domain.CauseDailyBudget || used < 160 {
			t.Errorf("the cause %q after %d tokens", e.Cause, used)
		}
		if outcome := outcomes(t, w.events(id))["ls"]; outcome != domain.OutcomeUnknown && outcome != domain.OutcomeCancelled {
			t.Errorf("the open call: %q", outcome)
		}
		if _, err := w.manager.Resume(t.Context(), tenant, id, domain.ResumeRetry, alice); domain.CodeOf(err) != domain.CodeInvalid {
			t.Errorf("retry: %v", err)
		}
		w.killed()
		w = newWorld(t, s, nil, externally(external), daily(s, domain.SharedBudget{Tokens: 100_000}))
		w.resume(id, domain.ResumeLoad)
		if end := w.ended(id); end.Status != domain.StatusCompleted || end.Output.Text != "done" {
			t.Errorf("%s: %+v", end.Status, end.Output)
		}
	})
}

// TestADayWithUnknownUsage: what cannot be counted under a bound goes no further.
func TestADayWithUnknownUsage(t *testing.T) {
	unknown := func(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
		_, err := t.Host.Reserve(ctx, domain.Estimate{Tokens: 1})
		return "", err
	}
	tells := func(usage domain.Usage) sessionstest.Script {
		return func(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
			_ = t.Host.Emit(ctx, domain.UsageUpdated{Usage: usage})
			return domain.StopEndTurn, t.Say("m", "done")
		}
	}
	for name, test := range map[string]struct {
		script sessionstest.Script
		change func(*domain.Request)
		budget domain.SharedBudget
		says   string
	}{
		"a model without prices":           {unknown, keepOpen, domain.SharedBudget{Cost: 5}, "what the model costs is not known"},
		"an answer without a cost":         {tells(tokens(1, 1)), keepOpen, domain.SharedBudget{Cost: 5}, "what the model costs is not known"},
		"an answer without usage":          {echo, keepOpen, domain.SharedBudget{Tokens: 5000}, "does not tell how many it uses"},
		"an external agent without a cost": {tells(tokens(1, 1)), func(r *domain.Request) { keepOpen(r); outside(r) }, domain.SharedBudget{Cost: 5}, "does not tell what it costs"},
	} {
		t.Run(name, func(t *testing.T) {
			s := storetest.SQLite(t)
			external := &sessionstest.External{Opened: make(chan domain.Opening, 9), Script: test.script}
			w := newWorld(t, s, test.script, externally(external), daily(s, test.budget))
			end := w.ended(w.start(test.change))
			if end.Status != domain.StatusFailed || end.Output.FinishReason != domain.FinishBudget || end.Output.Error.Code != domain.CodeLimitReached ||
				!strings.Contains(end.Output.Error.Message, test.says) {
				t.Errorf("%s: %+v", end.Status, end.Output)
			}
		})
	}
}

// releases is a ledger that notes what is released.
type releases struct {
	*budgets.Ledger
	mu       sync.Mutex
	released []budgets.Holder
}

// Release notes the driver.
func (l *releases) Release(ctx context.Context, of budgets.Holder) error {
	l.mu.Lock()
	l.released = append(l.released, of)
	l.mu.Unlock()
	return l.Ledger.Release(ctx, of)
}

// TestWhoRecoversReleases: what a dead driver has reserved would otherwise be lost for the day.
func TestWhoRecoversReleases(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		var asked atomic.Int32
		script := func(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
			reserved, err := t.Host.Reserve(ctx, domain.Estimate{Tokens: 1000})
			if err != nil {
				return "", err
			}
			if asked.Add(1) == 1 {
				<-ctx.Done() // with its server
				return "", context.Cause(ctx)
			}
			reserved.Settle(tokens(10, 0), true)
			_ = t.Host.Emit(ctx, domain.UsageUpdated{Usage: tokens(10, 0)})
			return domain.StopEndTurn, t.Say("m", "done")
		}
		w := newWorld(t, s, script, daily(s, domain.SharedBudget{Tokens: 1000}))
		id := w.start()
		for asked.Load() == 0 {
			time.Sleep(time.Millisecond)
		}
		w.killed()
		ledger := &releases{}
		w = newWorld(t, s, script, daily(s, domain.SharedBudget{Tokens: 1000}), func(c *dispatch.Config) {
			ledger.Ledger = c.Ledger.(*budgets.Ledger)
			c.Ledger = ledger
		})
		if end := w.ended(id); end.Status != domain.StatusCompleted {
			t.Errorf("%s: %+v", end.Status, end.Output)
		}
		if released := ledger.released; len(released) == 0 || released[0].Execution != id || released[0].Epoch < 2 {
			t.Errorf("released: %+v", released)
		}
	})
}
