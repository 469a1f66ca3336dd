package sessions_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"signoff/internal/store/storetest"
)

func TestASlowDatabaseDoesNotEndTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &hooked{Store: storetest.SQLite(t)}
		var tries atomic.Int32
		var full atomic.Bool
		h.heartbeat = func() error {
			switch {
			case tries.Add(1) < 5:
				return errors.New("the database is slow")
			case full.Load():
				return errors.New("the disk is full")
			}
			return nil
		}
		w := hookedWorld(t, h, 3*time.Second, nil) // fails the test where Run returns an error
		if tries.Load() != 5 || !w.manager.Writable() {
			t.Errorf("%d tries, writable %v", tries.Load(), w.manager.Writable())
		}
		full.Store(true)
		time.Sleep(2 * time.Second)
		if w.manager.Writable() {
			t.Error("a lease that cannot be renewed is a database that takes nothing in")
		}
	})
}
