package sessions_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"signoff/internal/approvals"
	"signoff/internal/domain"
	"signoff/internal/sessions/sessionstest"
	"signoff/internal/store"
	"signoff/internal/store/storetest"
)

// hoarder is a store that removes no row: the server dies before that.
type hoarder struct {
	*store.Store
	asked chan struct{} // closes when it was to remove something
	once  sync.Once
}

func (h *hoarder) Remove(context.Context, domain.ExecutionID) (store.Removal, error) {
	h.once.Do(func() { close(h.asked) })
	return store.RemovalNone, nil
}

// unseen fails the test where an execution is to be seen.
func (w *world) unseen(id domain.ExecutionID) {
	w.t.Helper()
	if _, err := w.store.Execution(context.Background(), tenant, id); domain.CodeOf(err) != domain.CodeNotFound {
		w.t.Errorf("it is still there: %v", err)
	}
	if _, err := w.log.Follow(context.Background(), id, 0); domain.CodeOf(err) != domain.CodeNotFound {
		w.t.Errorf("it is still followed: %v", err)
	}
}

func (w *world) delete(id domain.ExecutionID) {
	w.t.Helper()
	if err := w.manager.Delete(context.Background(), tenant, id, alice); err != nil {
		w.t.Fatal("delete:", err)
	}
	w.unseen(id)
}

// removed waits until nothing is left of a deleted execution.
func (w *world) removed(id domain.ExecutionID) {
	w.t.Helper()
	gone, err := w.manager.AwaitRemoval(context.Background(), id, w.patience)
	if err != nil || !gone {
		w.t.Fatalf("it is not removed: %v", err)
	}
	if err := w.manager.Delete(context.Background(), tenant, id, alice); domain.CodeOf(err) != domain.CodeNotFound {
		w.t.Errorf("deleted again: %v", err)
	}
}

// A live execution is gone when Delete returns, which waits for no driver: also if the agent does not return, and if a person is
// asked.
func TestDeleteOfALiveExecution(t *testing.T) {
	for _, status := range []domain.Status{domain.StatusStreaming, domain.StatusPendingToolApproval, domain.StatusExecutingTool} {
		t.Run(string(status), func(t *testing.T) {
			storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
				w := newWorld(t, s, stuck[status])
				id := w.start()
				w.reach(id, status)
				asked, err := s.ApprovalsOf(context.Background(), id)
				if err != nil {
					t.Fatal(err)
				}
				follower, err := w.log.Follow(context.Background(), id, 0)
				if err != nil {
					t.Fatal(err)
				}
				defer follower.Close()
				w.delete(id)
				if _, err := follower.Next(context.Background()); domain.CodeOf(err) != domain.CodeNotFound {
					t.Errorf("a follower is told %v", err)
				}
				for _, a := range asked {
					_, err := w.service.Decide(context.Background(), tenant, a.ID,
						approvals.Answer{Verb: domain.Approve, ArgumentsHash: a.ArgumentsHash, By: alice})
					if domain.CodeOf(err) != domain.CodeNotFound {
						t.Errorf("an approval is decided on: %v", err)
					}
				}
				if _, err := w.manager.Cancel(context.Background(), tenant, id, "", alice); domain.CodeOf(err) != domain.CodeNotFound {
					t.Errorf("cancelled: %v", err)
				}
				w.removed(id)
				entries, err := s.Audit(context.Background(), tenant, store.AuditFilter{Execution: id, Action: "execution.deleted"})
				if err != nil || len(entries) != 1 {
					t.Errorf("%d entries, %v", len(entries), err)
				}
			})
		})
	}
}

// A server may be killed after a deletion, before anything is removed and before the driver has ended the execution: the next
// server continues.
func TestADeletionOutlivesItsServer(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		h := &hoarder{Store: s, asked: make(chan struct{})}
		dead := newWorldThrough(t, h, s, stuck[domain.StatusStreaming])
		ended, live := dead.start(), dead.start()
		dead.reach(ended, domain.StatusStreaming)
		dead.reach(live, domain.StatusStreaming)
		if _, err := dead.manager.Cancel(context.Background(), tenant, ended, "", alice); err != nil {
			t.Fatal(err)
		}
		dead.delete(ended)
		<-h.asked
		if _, err := s.Head(context.Background(), ended); err != nil {
			t.Errorf("it is gone: %v", err)
		}
		dead.stop() // with a driver that has not heard of the second one
		if err := s.Delete(context.Background(), tenant, live, domain.AuditRecord{Action: "execution.deleted", Actor: &alice}); err != nil {
			t.Fatal(err)
		}
		if err := s.Release(context.Background(), dead.config.Replica); err != nil {
			t.Fatal(err)
		}
		w := newWorld(t, s, stuck[domain.StatusStreaming])
		for _, id := range []domain.ExecutionID{ended, live} {
			w.unseen(id)
			w.removed(id)
		}
	})
}

// A deletion is one of many things that a server does: a large log does not hold up the small one that was deleted after it.
func TestDeletionsTakeTurns(t *testing.T) {
	s := storetest.SQLite(t)
	turns := &turnstile{Store: s}
	w := newWorldThrough(t, turns, s, func(ctx context.Context, turn *sessionstest.Turn) (domain.StopReason, error) {
		return domain.StopEndTurn, nil
	})
	large, small := w.start(), w.start()
	w.ended(large)
	w.ended(small)
	turns.large.Store(string(large))
	w.delete(large)
	w.delete(small)
	w.removed(small)
	if _, err := s.Head(context.Background(), large); err != nil {
		t.Errorf("the large one is gone before the small one: %v", err)
	}
	turns.large.Store("")
	w.removed(large)
}

// turnstile is a store with one execution that has ever more rows.
type turnstile struct {
	*store.Store
	large atomic.Value
}

func (s *turnstile) Remove(ctx context.Context, id domain.ExecutionID) (store.Removal, error) {
	if s.large.Load() == string(id) {
		return store.RemovalPortion, nil
	}
	return s.Store.Remove(ctx, id)
}
