package sessions_test

import (
	"context"
	"encoding/json"
	"fmt"
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

// asksAndWorks asks, works for twenty seconds, and asks again; after a restart it goes on with the call that is open.
func asksAndWorks(ctx context.Context, turn *sessionstest.Turn) (domain.StopReason, error) {
	asked, answered := map[string]bool{}, map[string]bool{}
	for _, message := range turn.Prompt.History {
		answered[message.ToolCallID] = true
		for _, call := range message.ToolCalls {
			asked[call.ID] = true
		}
	}
	for n := range 9 {
		call := sessionstest.Bash(fmt.Sprint("c", n), "ls")
		if answered[call.ID] {
			continue
		}
		if !asked[call.ID] {
			if err := turn.Want(fmt.Sprint("m", n), call); err != nil {
				return "", err
			}
		}
		if _, err := turn.Use(call, func(json.RawMessage) string { return "ran" }); err != nil {
			return "", err
		}
		select {
		case <-time.After(20 * time.Second):
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}
	return domain.StopEndTurn, nil
}

// A turn that is parked between its calls has no more time than one that is not.
func TestParkingDoesNotSetTheClockBack(t *testing.T) {
	for name, after := range map[string]time.Duration{"parked": time.Millisecond, "live": 48 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			onFakeTimeWith(t, func(c *dispatch.Config) {
				c.ParkAfter = after
				c.Agents[domain.SourceInternal] = sessionstest.Open(asksAndWorks)
			}, func(t *testing.T, w *world) {
				id := w.start(func(r *domain.Request) { r.TimeoutSeconds = 50 })
				for n := 1; n <= 3; n++ {
					open := w.approvals(id, n)
					if after < time.Hour {
						w.parked(id)
					}
					time.Sleep(30 * time.Minute)
					w.decide(open[n-1])
				}
				decided := time.Now()
				if end := w.ended(id); end.Status != domain.StatusTimedOut {
					t.Fatalf("it is %s", end.Status)
				}
				if took := time.Since(decided); took < 9*time.Second || took > 11*time.Second {
					t.Errorf("timed out %s after the last decision, 10 s were left", took)
				}
			})
		})
	}
}

// A budget of seconds is one for all turns, and the time between them is not in it.
func TestBudgetOfSeconds(t *testing.T) {
	works := func(ctx context.Context, turn *sessionstest.Turn) (domain.StopReason, error) {
		for range 2 {
			if err := turn.Host.Emit(ctx, domain.MessageDelta{MessageID: fmt.Sprint("m", turn.Prompt.Turn), Text: "so "}); err != nil {
				return "", err
			}
			select {
			case <-time.After(10 * time.Second):
			case <-ctx.Done():
				return "", context.Cause(ctx)
			}
		}
		return domain.StopEndTurn, nil
	}
	onFakeTimeWith(t, func(c *dispatch.Config) { c.Agents[domain.SourceInternal] = sessionstest.Open(works) }, func(t *testing.T, w *world) {
		id := w.start(keepOpen, func(r *domain.Request) { r.Budget.Seconds, r.TimeoutSeconds = 50, 25 })
		var begun time.Time
		for turn := 1; turn <= 3; turn++ {
			if turn > 1 {
				w.say(id, "more", domain.WhenBusyEnqueue)
			}
			begun = time.Now()
			if turn < 3 {
				w.becomes(id, domain.StatusIdle, turn)
				time.Sleep(time.Hour)
			}
		}
		end := w.ended(id)
		if end.Status != domain.StatusFailed || end.Output.FinishReason != domain.FinishBudget || end.Output.Error.Code != domain.CodeLimitReached {
			t.Errorf("%s: %+v", end.Status, end.Output)
		}
		if took := time.Since(begun); took < 9*time.Second || took > 11*time.Second {
			t.Errorf("the third turn took %s, 10 s were left", took)
		}
		warned := payloads[domain.BudgetWarned](t, w.events(id))
		if len(warned) != 1 || warned[0].Limit != "seconds" || warned[0].Max != 50 || warned[0].Used < 40 {
			t.Errorf("warned %+v", warned)
		}
	})
}

// talks says a word every ten seconds.
func talks(ctx context.Context, turn *sessionstest.Turn) (domain.StopReason, error) {
	for {
		if err := turn.Host.Emit(ctx, domain.MessageDelta{MessageID: "m", Text: "so "}); err != nil {
			return "", err
		}
		select {
		case <-time.After(10 * time.Second):
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}
}

// Neither does a kill; the time in which no server was there is nobody's.
func TestAKillDoesNotSetTheClockBack(t *testing.T) {
	external := &sessionstest.External{Opened: make(chan domain.Opening, 9), Script: talks}
	for name, source := range map[string]func(*domain.Request){"internal": func(*domain.Request) {}, "external": outside} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := storetest.SQLite(t)
				server := func() *world {
					w := newWorld(t, s, talks, externally(external), func(c *dispatch.Config) { c.LeaseTTL, c.LookEvery = ages, ages })
					w.patience = ages
					return w
				}
				first := server()
				id := first.start(source, func(r *domain.Request) { r.TimeoutSeconds = 60 })
				time.Sleep(45 * time.Second)
				first.killed()
				time.Sleep(time.Hour)

				back := time.Now()
				second := server()
				if end := second.ended(id); end.Status != domain.StatusTimedOut {
					t.Fatalf("it is %s", end.Status)
				}
				if took := time.Since(back); took < 19*time.Second || took > 21*time.Second {
					t.Errorf("timed out after %s: of 60 s it had told of 40", took)
				}
			})
		})
	}
}

// A turn whose agent is opened again has had the time before that, and not the time that the opening takes.
func TestReopeningDoesNotSetTheClockBack(t *testing.T) {
	prompts := 0
	external := &sessionstest.External{Opened: make(chan domain.Opening, 9), Script: func(ctx context.Context, turn *sessionstest.Turn) (domain.StopReason, error) {
		if prompts++; prompts == 1 {
			time.Sleep(40 * time.Second)
			return "", domain.Errorf(domain.CodeAgentExited, "gone").With(domain.ErrNotPrompted)
		}
		return talks(ctx, turn)
	}}
	slowly := func(c *dispatch.Config) {
		c.Agents[domain.SourceACP] = func(ctx context.Context, opening domain.Opening) (domain.Agent, error) {
			time.Sleep(30 * time.Second)
			return external.Open(ctx, opening)
		}
	}
	onFakeTimeWith(t, slowly, func(t *testing.T, w *world) {
		begun := time.Now()
		id := w.start(outside, func(r *domain.Request) { r.TimeoutSeconds = 60 })
		if end := w.ended(id); end.Status != domain.StatusTimedOut || prompts != 2 {
			t.Fatalf("it is %s after %d prompts", end.Status, prompts)
		}
		if took := time.Since(begun); took < 119*time.Second || took > 121*time.Second {
			t.Errorf("timed out after %s", took)
		}
	})
}

// A wall clock that is set while a turn runs neither ends the turn nor gives it more time.
func TestAJumpOfTheWallClockCostsATurnNoTime(t *testing.T) {
	eachJump(t, talks, func(t *testing.T, w *world, jump func(on bool)) {
		begun := time.Now()
		id := w.start(func(r *domain.Request) { r.TimeoutSeconds = 60 })
		time.Sleep(25 * time.Second)
		jump(true)
		if end := w.ended(id); end.Status != domain.StatusTimedOut {
			t.Fatalf("it is %s", end.Status)
		}
		if took := time.Since(begun); took < 59*time.Second || took > 61*time.Second {
			t.Errorf("timed out after %s", took)
		}
	})
}

// The same holds for the time that an execution rests. The end of the turn has the new time, and later times count from there.
func TestAJumpOfTheWallClockCostsAnIdleExecutionNoTime(t *testing.T) {
	brief := func(ctx context.Context, turn *sessionstest.Turn) (domain.StopReason, error) {
		time.Sleep(45 * time.Second)
		return domain.StopEndTurn, turn.Say("m", "done")
	}
	eachJump(t, brief, func(t *testing.T, w *world, jump func(on bool)) {
		begun := time.Now()
		id := w.start(func(r *domain.Request) { r.TimeoutSeconds, r.KeepOpen, r.IdleTimeoutSeconds = 60, true, 600 })
		time.Sleep(25 * time.Second)
		jump(true)
		w.becomes(id, domain.StatusIdle, 1)
		for _, event := range w.events(id) {
			late := time.Until(event.Time).Abs()
			if event.Type == domain.TurnEndedType && late < 59*time.Minute {
				t.Errorf("the turn ended at %s", event.Time)
			}
		}
		jump(false)
		if _, err := w.log.Commit(context.Background(), store.Change{Execution: id, Notify: true}); err != nil { // it looks at its clock again
			t.Fatal(err)
		}
		if end := w.ended(id); end.Output.FinishReason != domain.FinishExpired {
			t.Fatalf("it is %s: %+v", end.Status, end.Output)
		}
		if took := time.Since(begun); took < 644*time.Second || took > 646*time.Second {
			t.Errorf("expired after %s", took)
		}
	})
}

// eachJump runs a test with a wall clock that jumps an hour ahead, and with one that jumps an hour back.
func eachJump(t *testing.T, script sessionstest.Script, test func(t *testing.T, w *world, jump func(on bool))) {
	for _, by := range []time.Duration{time.Hour, -time.Hour} {
		t.Run(by.String(), func(t *testing.T) {
			var off atomic.Int64
			onFakeTimeWith(t, func(c *dispatch.Config) {
				c.Agents[domain.SourceInternal] = sessionstest.Open(script)
				c.WallClock(func() time.Time { return time.Now().Add(time.Duration(off.Load())) })
			}, func(t *testing.T, w *world) {
				test(t, w, func(on bool) {
					off.Store(0)
					if on {
						off.Store(int64(by))
					}
				})
			})
		})
	}
}
