package sessions_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"signoff/internal/store/storetest"
)

func TestASlowDatabaseDoesNotEndTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &hooked{Store: storetest.SQLite(t)}
		tries, down := 0, true
		h.heartbeat = func() error {
			if tries++; down && tries < 5 {
				return errors.New("the database is slow")
			}
			if !down {
				return errors.New("the disk is full")
			}
			return nil
		}
		w := hookedWorld(t, h, 3*time.Second, nil) // fails the test where Run returns an error
		if tries != 5 || !w.manager.Writable() {
			t.Errorf("%d tries, writable %v", tries, w.manager.Writable())
		}
		down = false
		time.Sleep(2 * time.Second)
		if w.manager.Writable() {
			t.Error("a lease that cannot be renewed is a database that takes nothing in")
		}
	})
}
