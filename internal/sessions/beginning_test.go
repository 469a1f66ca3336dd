package sessions_test

import (
	"context"
	"testing"
	"time"

	"signoff/internal/domain"
	"signoff/internal/sessions"
	"signoff/internal/sessions/sessionstest"
	"signoff/internal/store/storetest"
)

type panicky struct{ *sessionstest.Agent }

func (panicky) Introduction() domain.Introduction { panic("boom") }

// A bug in an agent's introduction must end its execution, and not the server's way out.
func TestABugInTheBeginningEndsTheExecution(t *testing.T) {
	w := newWorld(t, storetest.SQLite(t), nil, func(c *sessions.Config) {
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
