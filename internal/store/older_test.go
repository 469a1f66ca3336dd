package store_test

import (
	"testing"
	"time"

	"signoff/internal/domain"
	"signoff/internal/store"
	"signoff/internal/store/storetest"
)

// What a binary of version 4 does to heads, while newer ones run beside it.
const (
	olderClaims   = `update execution_heads set owner = 'old', epoch = epoch + 1, recoveries = recoveries + 1 where owner is null`
	olderLetsGo   = `update execution_heads set owner = null, recoveries = recoveries - 1 where owner = 'old'`
	olderIsHeard  = `update execution_heads set bell = bell + 1`
	olderSaysMore = `update execution_heads set last_seq = last_seq + 1, bell = bell + 0`
)

// A binary of version 4 does not know that executions are parked or queued. What it has taken up or written to is not asleep.
func TestOlderBinariesWake(t *testing.T) {
	for name, test := range map[string]struct {
		queued bool
		older  []string
		awake  bool
	}{
		"it was parked and taken up":  {older: []string{olderClaims, olderLetsGo}, awake: true},
		"it was parked and written":   {older: []string{olderIsHeard}, awake: true},
		"it was parked and is":        {older: []string{olderSaysMore}},
		"it was queued and taken up":  {queued: true, older: []string{olderClaims, olderLetsGo}, awake: true},
		"it was queued and is":        {queued: true, older: []string{olderIsHeard}},
		"it is driven by the old one": {older: []string{olderIsHeard, olderClaims}},
	} {
		t.Run(name, func(t *testing.T) {
			s := storetest.PostgresReplicas(t, 1)[0]
			sleeper(t, s, test.queued)
			for _, statement := range test.older {
				if _, err := s.DB().ExecContext(t.Context(), statement); err != nil {
					t.Fatal(err)
				}
			}
			for _, replica := range []store.ReplicaID{"new", "old"} {
				if err := s.Heartbeat(t.Context(), replica, time.Hour); err != nil {
					t.Fatal(err)
				}
			}
			claimed, err := s.Acquire(t.Context(), "new", 10)
			if err != nil || (len(claimed) == 1) != test.awake {
				t.Errorf("claimed %v, %v", claimed, err)
			}
			if own, _, err := s.Waiting(t.Context(), domain.DefaultTenant); err != nil || (own == 1) != (test.queued && !test.awake) {
				t.Errorf("%d wait for room, %v", own, err)
			}
		})
	}
}

// sleeper is an execution that is parked without end, or waits for room.
func sleeper(t *testing.T, s *store.Store, queued bool) {
	t.Helper()
	if !queued {
		create(t, s, "x")
		commit(t, s, store.Change{Execution: "x", Epoch: 1, Park: &store.Park{}})
		return
	}
	commit(t, s, store.Change{Execution: "x", Epoch: 1, Create: &store.Creation{Queued: true, Execution: domain.Execution{
		ID: "x", Tenant: domain.DefaultTenant, Status: domain.StatusQueued, Created: time.Now()}}})
}
