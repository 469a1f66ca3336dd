package files

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"signoff/internal/domain"
)

// TestRoomIsShared: a tenant that takes all it can leaves room to others, and who waits gets what is given back.
func TestRoomIsShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r room
		ctx := t.Context()
		take := func(tenant domain.TenantID, bytes int64) func() {
			t.Helper()
			began := time.Now()
			giveBack, err := r.take(ctx, tenant, bytes)
			if err != nil || time.Since(began) > 0 {
				t.Fatalf("%s gets no %d bytes at once: %v", tenant, bytes, err)
			}
			return giveBack
		}
		first := take("slow", roomForOne-domain.MaxFileSize)
		second := take("slow", domain.MaxFileSize)
		began := time.Now()
		if _, err := r.take(ctx, "slow", 1); domain.CodeOf(err) != domain.CodeOverloaded || time.Since(began) != waitForRoom {
			t.Errorf("a tenant's byte too many: %v after %s", err, time.Since(began))
		}
		other := take("other", roomForAll-roomForOne)
		if _, err := r.take(ctx, "third", 1); domain.CodeOf(err) != domain.CodeOverloaded {
			t.Errorf("a byte too many of all: %v", err)
		}

		got := make(chan error)
		for range 2 {
			go func() {
				giveBack, err := r.take(ctx, "slow", domain.MaxFileSize)
				if err == nil {
					time.Sleep(time.Second)
					giveBack()
				}
				got <- err
			}()
		}
		synctest.Wait()
		second()
		second() // once more gives nothing
		for range 2 {
			if err := <-got; err != nil {
				t.Errorf("who waited: %v", err)
			}
		}

		gone, cancel := context.WithCancel(ctx)
		cancel()
		take("slow", domain.MaxFileSize)
		if _, err := r.take(gone, "slow", 1); !errors.Is(err, context.Canceled) {
			t.Errorf("who is gone: %v", err)
		}
		first()
		other()
		if r.taken != domain.MaxFileSize || len(r.by) != 1 {
			t.Errorf("%d bytes are taken, by %v", r.taken, r.by)
		}
	})
}
