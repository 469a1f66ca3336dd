package sessions_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"signoff/internal/dispatch"
	"signoff/internal/domain"
	"signoff/internal/sessions/sessionstest"
	"signoff/internal/store/storetest"
)

type panicky struct{ *sessionstest.Agent }

func (panicky) Introduction() domain.Introduction { panic("boom") }

// A bug in an agent's introduction must end its execution, and not the server's way out.
func TestABugInTheBeginningEndsTheExecution(t *testing.T) {
	w := newWorld(t, storetest.SQLite(t), nil, func(c *dispatch.Config) {
		c.Agents[domain.SourceInternal] = func(context.Context, domain.Opening) (domain.Agent, error) {
			return panicky{&sessionstest.Agent{}}, nil
		}
	})
	func() {
		defer func() {
			if r := recover(); r != nil { // as the HTTP layer does
				t.Error("Start panicked:", r)
			}
		}()
		id := w.start()
		if got := w.ended(id).Status; got != domain.StatusFailed {
			t.Error(got)
		}
	}()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	if err := w.manager.Drain(ctx); err != nil {
		t.Errorf("drain: %v; live %d", err, w.manager.Live())
	}
	w.stop()
}

// An execution begins with its creation where its agent is there at once; otherwise it begins when the agent is there.
func TestAnExecutionBeginsWithItsCreation(t *testing.T) {
	for _, slow := range []time.Duration{0, time.Second} {
		t.Run(slow.String(), func(t *testing.T) {
			open := sessionstest.Open(func(ctx context.Context, _ *sessionstest.Turn) (domain.StopReason, error) {
				<-ctx.Done()
				return "", context.Cause(ctx)
			})
			onFakeTimeWith(t, func(c *dispatch.Config) {
				c.Agents[domain.SourceInternal] = func(ctx context.Context, opening domain.Opening) (domain.Agent, error) {
					time.Sleep(slow)
					return open(ctx, opening)
				}
			}, func(t *testing.T, w *world) {
				begun := time.Now()
				id := w.start()
				log, err := w.store.Events(context.Background(), id, 0, 9)
				if err != nil {
					t.Fatal(err)
				}
				created := slices.Contains(types(log), domain.TurnStartedType)
				if waited := time.Since(begun); created != (slow == 0) || waited > 10*time.Millisecond {
					t.Errorf("answered after %s with %v", waited, types(log))
				}
				w.becomes(id, domain.StatusWaiting, 1)
				w.cancel(id)
			})
		})
	}
}
