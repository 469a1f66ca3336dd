package sessions_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"signoff/internal/dispatch"
	"signoff/internal/domain"
	"signoff/internal/sessions/sessionstest"
	"signoff/internal/store"
	"signoff/internal/store/storetest"
)

// busyUntil is an agent that works until it may end.
func busyUntil(release <-chan struct{}) sessionstest.Script {
	var n atomic.Int32
	return func(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
		if err := t.Say(fmt.Sprint("m", n.Add(1)), "working"); err != nil {
			return "", err
		}
		select {
		case <-release:
			return domain.StopEndTurn, nil
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}
}

func limited(limits dispatch.Limits) func(*dispatch.Config) {
	return func(c *dispatch.Config) { c.Limits, c.LookEvery = limits, 50*time.Millisecond }
}

func (w *world) begin(of domain.TenantID, key string) (domain.Execution, error) {
	w.t.Helper()
	var idempotency *store.Idempotency
	if key != "" {
		idempotency = &store.Idempotency{Key: key, BodyHash: []byte(key)}
	}
	execution, _, err := w.manager.Start(context.Background(), of, alice, request(), idempotency)
	return execution, err
}

func (w *world) position(id domain.ExecutionID) int {
	w.t.Helper()
	n, err := w.store.QueuePosition(context.Background(), tenant, id)
	if err != nil {
		w.t.Fatal(err)
	}
	return n
}

func TestBeyondTheLimitExecutionsAreQueued(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		release := make(chan struct{})
		looks := &watched{Store: s, looked: make(chan struct{}, 100)}
		w := newWorldThrough(t, looks, s, busyUntil(release), limited(dispatch.Limits{Live: 2, Queued: 3, QueuedPerTenant: 2}), rarely)
		<-looks.looked
		var ids []domain.ExecutionID
		for range 4 {
			ids = append(ids, w.start())
		}
		for i, want := range []int{0, 0, 1, 2} {
			if n := w.position(ids[i]); n != want {
				t.Errorf("%d is at %d, want %d", i, n, want)
			}
		}
		if n := w.manager.Live(); n != 2 {
			t.Errorf("%d are driven", n)
		}
		_, err := w.begin(tenant, "")
		wantCode(t, "one too many of a tenant", err, domain.CodeTooMany)
		if _, err := w.begin("another", "k"); err != nil {
			t.Error(err)
		}
		_, err = w.begin("third", "")
		wantCode(t, "one too many of all", err, domain.CodeOverloaded)
		if _, err := w.begin("another", "k"); err != nil {
			t.Errorf("a full queue has forgotten what it has taken: %v", err)
		}

		if ended := w.cancel(ids[3]); ended.Status != domain.StatusCancelled {
			t.Errorf("a queued one is cancelled: %s", ended.Status)
		}
		close(release)
		for _, id := range ids[:3] {
			if end := w.ended(id); end.Status != domain.StatusCompleted || end.Recovery != 0 {
				t.Errorf("%s: %+v", end.Status, end.Output)
			}
		}
	})
}

// watched is a store that tells of each look at the queue when the look is over.
type watched struct {
	*store.Store
	looked chan struct{}
}

func (s *watched) AcquireQueued(
	ctx context.Context, replica store.ReplicaID, limit, each int, live map[domain.TenantID]int,
) ([]store.Acquired, error) {
	defer func() { s.looked <- struct{}{} }()
	return s.Store.AcquireQueued(ctx, replica, limit, each, live)
}

// rarely leaves the looks at the queue to the notifications. A look that began before a session did still finds room for one more, see
// [dispatch.Limits], so a test that counts them begins when the first look is over.
func rarely(c *dispatch.Config) { c.LookEvery = ages }

func TestATenantLeavesRoomForOthers(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	s := &watched{Store: storetest.SQLite(t), looked: make(chan struct{}, 100)}
	w := newWorldThrough(t, s, s.Store, busyUntil(release), limited(dispatch.Limits{Live: 5, LivePerTenant: 1}), rarely)
	<-s.looked
	busy := w.start()
	w.until(busy, domain.MessageDeltaType)
	waiting := w.start()
	<-s.looked // and found no room for it
	other, err := w.begin("another", "")
	if err != nil {
		t.Fatal(err)
	}
	w.until(other.ID, domain.MessageDeltaType)
	if n := w.position(waiting); n != 1 {
		t.Errorf("the second of a tenant is at %d", n)
	}
}

// The queue is the replicas' in common, and outlives them.
func TestAnotherReplicaTakesFromTheQueue(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		release := make(chan struct{})
		script := busyUntil(release)
		first := newWorld(t, s, script, limited(dispatch.Limits{Live: 1}))
		busy, waiting := first.start(), first.start()
		first.until(busy, domain.MessageDeltaType)
		if !s.Shared() {
			first.killed()
		}
		second := newWorld(t, s, script, limited(dispatch.Limits{Live: 2}))
		second.until(waiting, domain.MessageDeltaType)
		close(release)
		second.ended(busy)
		second.ended(waiting)
	})
}
