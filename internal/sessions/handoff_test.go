package sessions_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"signoff/internal/dispatch"
	"signoff/internal/domain"
	"signoff/internal/sessions/sessionstest"
	"signoff/internal/store"
	"signoff/internal/store/storetest"
)

// A replica that ends releases its executions, and another one continues them at once: it is notified, and does not wait for its
// next look.
func TestDrainHandsOffAtOnce(t *testing.T) {
	replicas := storetest.PostgresReplicas(t, 2)
	release := make(chan struct{})
	seldom := func(c *dispatch.Config) { c.LookEvery = time.Hour }
	script := busyUntil(release) // one, so that no two of its messages have the same id
	peer := newWorld(t, replicas[0], script, seldom)
	leaving := newWorld(t, replicas[1], script, seldom)
	ids := []domain.ExecutionID{leaving.start(), leaving.start(), leaving.start()}
	for _, id := range ids {
		leaving.until(id, domain.MessageDeltaType)
	}
	for deadline := time.Now().Add(peer.patience); !peer.log.Stats().Listening && time.Now().Before(deadline); time.Sleep(time.Millisecond) {
	}
	leaving.drain()
	close(release)
	for _, id := range ids {
		peer.until(id, domain.ExecutionCompletedType)
		peer.events(id)
	}
}

// halfDead is a database one of whose connections does not answer any more: the one over which an execution is given back.
type halfDead struct {
	*store.Store
	lost   atomic.Bool
	giving chan struct{}
}

func (h *halfDead) Commit(ctx context.Context, changes []store.Change) ([]store.Result, error) {
	if changes[0].Create == nil && h.lost.CompareAndSwap(false, true) {
		return nil, domain.Errorf(domain.CodeStorage, "lost").With(store.ErrCommitUnknown)
	}
	return h.Store.Commit(ctx, changes)
}

func (h *halfDead) ReleaseExecution(ctx context.Context, _ domain.ExecutionID, _ int64) error {
	select {
	case h.giving <- struct{}{}:
	default:
	}
	<-ctx.Done()
	return domain.Errorf(domain.CodeStorage, "no answer").With(ctx.Err())
}

// The lease ends with the drain, also where one statement hangs.
func TestADrainDoesNotWaitForWhatHangs(t *testing.T) {
	s := &halfDead{Store: storetest.SQLite(t), giving: make(chan struct{}, 1)}
	w := newWorldThrough(t, s, s.Store, func(ctx context.Context, turn *sessionstest.Turn) (domain.StopReason, error) {
		return domain.StopEndTurn, turn.Say("m", "hi")
	})
	id := w.start()
	<-s.giving
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	err := w.manager.Drain(ctx)
	head, _ := s.Head(context.Background(), id)
	if err != nil || head.Owner != "" {
		t.Errorf("drain: %v; after it the execution is owned by %q", err, head.Owner)
	}
	w.stop()
}
