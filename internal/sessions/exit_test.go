package sessions_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"signoff/internal/dispatch"
	"signoff/internal/domain"
	"signoff/internal/sessions/sessionstest"
	"signoff/internal/store"
	"signoff/internal/store/storetest"
)

// A replica lost its lease, and its agent does not return. It must not acquire and release again and again the executions that
// others have driven and released meanwhile: nobody else would get them. When the agent has returned it may.
func TestWhatIsStillLeavingIsForOthers(t *testing.T) {
	h := &hooked{Store: storetest.Open(t, store.Config{DatabaseURL: storetest.Migrated(t)}), shared: true}
	var cut atomic.Bool
	h.heartbeat = func() error {
		if cut.Load() {
			return errors.New("cut off")
		}
		return nil
	}
	release := make(chan struct{})
	var turns atomic.Int32
	stubborn := func(ctx context.Context, turn *sessionstest.Turn) (domain.StopReason, error) {
		if turns.Add(1) == 1 {
			err := turn.Say("m1", "working")
			<-release
			return "", err
		}
		return domain.StopEndTurn, turn.Say("m2", "done")
	}
	w := newWorldThrough(t, h, h.Store, stubborn, func(c *dispatch.Config) { c.LeaseTTL, c.LookEvery = 2*time.Second, 20*time.Millisecond })
	id := w.start()
	w.until(id, domain.MessageDeltaType)
	head := func() store.Head {
		head, err := h.Head(context.Background(), id)
		if err != nil {
			t.Fatal(err)
		}
		return head
	}
	until := func(what string, done func() bool) {
		t.Helper()
		for deadline := time.Now().Add(w.patience); !done(); time.Sleep(5 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%s: %+v", what, head())
			}
		}
	}

	cut.Store(true)
	if err := h.Heartbeat(context.Background(), "other", time.Hour); err == nil {
		t.Fatal("it is not cut off")
	}
	if err := h.Store.Heartbeat(context.Background(), "other", time.Hour); err != nil {
		t.Fatal(err)
	}
	until("another replica takes it over", func() bool {
		claimed, err := h.Store.Acquire(context.Background(), "other", 9)
		return err == nil && len(claimed) == 1
	})
	cut.Store(false)
	until("the first one is back", func() bool { return w.manager.Writable() })
	claims, epoch := h.claims.Load(), head().Epoch
	if err := h.Release(context.Background(), "other"); err != nil {
		t.Fatal(err)
	}
	until("it has looked a few times", func() bool { return h.claims.Load() > claims+20 })
	if now := head(); now.Epoch > epoch+1 || now.Owner != "" {
		t.Errorf("it was claimed %d times by who cannot drive it: %+v", now.Epoch-epoch, now)
	}

	close(release)
	if end := w.ended(id); end.Status != domain.StatusCompleted {
		t.Errorf("%s: %+v", end.Status, end.Output)
	}
}
