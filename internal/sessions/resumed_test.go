package sessions_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"signoff/internal/dispatch"
	"signoff/internal/domain"
	"signoff/internal/sessions/sessionstest"
	"signoff/internal/store"
	"signoff/internal/store/storetest"
)

// resuming is a request that goes on with the agent session of an execution that has ended.
func (w *world) resuming() func(*domain.Request) {
	w.t.Helper()
	earlier := w.start(outside)
	w.ended(earlier)
	return func(r *domain.Request) { outside(r); r.ResumeFrom = earlier }
}

// refusesASecond checks that no second execution continues an agent session.
func (w *world) refusesASecond(first domain.ExecutionID, from func(*domain.Request)) {
	w.t.Helper()
	_, _, err := w.manager.Start(context.Background(), tenant, alice, request(from), nil)
	if domain.CodeOf(err) != domain.CodeNotResumable || !tells(err, "/resumeFrom", string(first)) {
		w.t.Errorf("a second one: %v", err)
	}
}

func tells(err error, pointer, id string) bool {
	var e *domain.Error
	return errors.As(err, &e) && len(e.Details) == 1 && e.Details[0].Pointer == pointer && strings.Contains(e.Message, id)
}

// TestResumeFromInTheQueue: one that waits for room has the agent session already.
func TestResumeFromInTheQueue(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		release := make(chan struct{})
		w := newWorld(t, s, busyUntil(release), externally(&sessionstest.External{Script: echo, Opened: make(chan domain.Opening, 20)}), limited(dispatch.Limits{Live: 1}))
		from := w.resuming()
		busy := w.start()
		key := &store.Idempotency{Key: "k", BodyHash: []byte("h")}
		queued, _, err := w.manager.Start(context.Background(), tenant, alice, request(from), key)
		if err != nil {
			t.Fatal(err)
		}
		w.refusesASecond(queued.ID, from)
		if again, replayed, err := w.manager.Start(context.Background(), tenant, alice, request(from), key); err != nil || !replayed || again.ID != queued.ID {
			t.Errorf("the same again: %v, %v", replayed, err)
		}
		close(release)
		w.ended(busy)
		w.ended(queued.ID)
		w.ended(w.start(from))
	})
}

// TestResumeFromBesideAParkedOne: one that nobody drives goes on with the agent session when it wakes.
func TestResumeFromBesideAParkedOne(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		w := newWorld(t, s, nil, externally(&sessionstest.External{Script: echo, Opened: make(chan domain.Opening, 20)}), parks)
		from := w.resuming()
		first := w.start(from, keepOpen)
		w.parked(first)
		w.refusesASecond(first, from)
		w.close(first)
		w.ended(w.start(from))
	})
}

func TestResumeFromOnTwoReplicas(t *testing.T) {
	s := storetest.PostgresReplicas(t, 1)[0]
	external := externally(&sessionstest.External{Script: echo, Opened: make(chan domain.Opening, 20)})
	one, two := newWorld(t, s, nil, external), newWorld(t, s, nil, external)
	from := one.resuming()
	key := &store.Idempotency{Key: "k", BodyHash: []byte("h")}
	first, _, err := one.manager.Start(context.Background(), tenant, alice, request(from, keepOpen), key)
	if err != nil {
		t.Fatal(err)
	}
	one.becomes(first.ID, domain.StatusIdle, 1)
	for _, w := range []*world{one, two} {
		w.refusesASecond(first.ID, from)
		if again, replayed, err := w.manager.Start(context.Background(), tenant, alice, request(from, keepOpen), key); err != nil || !replayed || again.ID != first.ID {
			t.Errorf("the same again: %v, %v", replayed, err)
		}
	}
	one.close(first.ID)
	two.ended(two.start(from))
}

// TestQueuedBesideAnAgentThatIsLeaving: the execution before it has ended, and there is room, but its agent is still there.
func TestQueuedBesideAnAgentThatIsLeaving(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		external := &sessionstest.External{Script: echo, Opened: make(chan domain.Opening, 10)}
		release, leave := make(chan struct{}), make(chan struct{})
		w := newWorld(t, storetest.SQLite(t), busyUntil(release), limited(dispatch.Limits{Live: 2}), func(c *dispatch.Config) {
			c.Agents[domain.SourceACP] = func(ctx context.Context, opening domain.Opening) (domain.Agent, error) {
				agent, err := external.Open(ctx, opening)
				if opening.Execution.Request.ResumeFrom == "" {
					return agent, err
				}
				return slowToLeave{agent, leave}, err
			}
		})
		from := w.resuming()
		<-external.Opened
		busy := w.start()
		w.ended(w.start(from))
		<-external.Opened
		queued := w.start(from) // after it has waited in vain
		if n := w.position(queued); n != 1 {
			t.Fatalf("it is at %d", n)
		}
		close(release)
		w.ended(busy)
		select {
		case <-external.Opened:
			t.Error("two agents work on one session")
		case <-time.After(300 * time.Millisecond):
		}
		close(leave)
		<-external.Opened
		w.ended(queued)
	})
}
