package sessions_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"signoff/internal/domain"
	"signoff/internal/sessions/sessionstest"
	"signoff/internal/store"
	"signoff/internal/store/storetest"
)

// The last words of an agent that is stopped go with the end of its turn into one commit. A drain writes no end, and keeps them
// all the same.
func TestTheLastWordBeforeADrainIsKept(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		w := newWorld(t, s, func(ctx context.Context, turn *sessionstest.Turn) (domain.StopReason, error) {
			if err := turn.Say("m", "begun"); err != nil {
				return "", err
			}
			<-ctx.Done()
			_ = turn.Say("m2", "the last word") // together with the end that follows
			return "", context.Cause(ctx)
		})
		id := w.start()
		w.until(id, domain.MessageDeltaType)
		w.drain()
		text := ""
		for _, event := range w.events(id) {
			if payload, err := event.Payload(); err == nil {
				if delta, says := payload.(domain.MessageDelta); says {
					text += delta.Text + "|"
				}
			}
		}
		if text != "begun|the last word|" {
			t.Errorf("the log has %q", text)
		}
	})
}

// outage is a database that is away for a moment right after it has taken a request to cancel.
type outage struct {
	*store.Store
	out   atomic.Bool
	speak chan struct{}
}

var errAway = domain.Errorf(domain.CodeStorage, "away").With(errors.New("away"))

func (a *outage) ControlRequests(ctx context.Context, id domain.ExecutionID) (store.ControlRequests, error) {
	if a.out.Load() {
		return store.ControlRequests{}, errAway
	}
	return a.Store.ControlRequests(ctx, id)
}

func (a *outage) Commit(ctx context.Context, changes []store.Change) ([]store.Result, error) {
	if a.out.Load() {
		return nil, errAway
	}
	outcomes, err := a.Store.Commit(ctx, changes)
	for _, c := range changes {
		if c.Cancel != nil {
			a.out.Store(true)
			close(a.speak)
			time.AfterFunc(200*time.Millisecond, func() { a.out.Store(false) })
		}
	}
	return outcomes, err
}

// A request to cancel that was acknowledged before the turn ended goes first, also where the database is away for a moment.
func TestARequestThatWasTakenGoesBeforeTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &outage{Store: storetest.SQLite(t), speak: make(chan struct{})}
		w := newWorldThrough(t, s, s.Store, func(ctx context.Context, turn *sessionstest.Turn) (domain.StopReason, error) {
			if err := turn.Say("m", "begun"); err != nil {
				return "", err
			}
			<-s.speak
			time.Sleep(30 * time.Millisecond)
			_ = turn.Say("m2", "the last word")
			return domain.StopEndTurn, nil
		})
		id := w.start()
		w.until(id, domain.MessageCompletedType)
		if end := w.cancel(id); end.Status != domain.StatusCancelled {
			t.Errorf("cancelled, it ended as %s", end.Status)
		}
	})
}

// Nor is it lost if the execution is parked, and somebody writes in that moment.
func TestTheLastWordBeforeParkingIsKept(t *testing.T) {
	for name, written := range map[string]bool{"undisturbed": false, "written to": true} {
		t.Run(name, func(t *testing.T) {
			storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
				var w *world
				var id domain.ExecutionID
				ready := make(chan struct{})
				var times atomic.Int32
				w = newWorld(t, s, func(ctx context.Context, turn *sessionstest.Turn) (domain.StopReason, error) {
					call := sessionstest.Bash("c1", "ls")
					if times.Add(1) == 1 {
						if err := turn.Say("m", "begun"); err != nil {
							return "", err
						}
						if err := turn.Want("m", call); err != nil {
							return "", err
						}
					}
					_, err := turn.Use(call, func(json.RawMessage) string { return "out" })
					if err == nil {
						return domain.StopEndTurn, turn.Say("m3", "done")
					}
					if written && times.Load() == 1 {
						<-ready
						_, _ = w.log.Commit(context.Background(), store.Change{Execution: id, Notify: true})
					}
					_ = turn.Host.Emit(context.WithoutCancel(ctx), domain.MessageDelta{MessageID: "m2", Text: "the last word"})
					return "", err
				}, parks)
				id = w.start()
				close(ready)
				approval := w.approvals(id, 1)[0]
				w.parked(id)
				w.decide(approval)
				end := w.ended(id)
				text := ""
				for _, event := range w.events(id) {
					if payload, err := event.Payload(); err == nil {
						if delta, says := payload.(domain.MessageDelta); says {
							text += delta.Text + "|"
						}
					}
				}
				if end.Status != domain.StatusCompleted || !strings.HasPrefix(text, "begun|the last word|") || !strings.HasSuffix(text, "done|") {
					t.Errorf("%s %q", end.Status, text)
				}
			})
		})
	}
}
