package sessions_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	"signoff/internal/dispatch"
	"signoff/internal/store/storetest"
)

// supervisors stand for those that hear of the lease.
type supervisors struct {
	mu  sync.Mutex
	all []time.Time
}

func (s *supervisors) trust(until time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, until)
}

func (s *supervisors) told() []time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.all)
}

// TestSupervisorsAreTold has a server renew once, and then end as if killed: nothing is released, so everything must die.
func TestSupervisorsAreTold(t *testing.T) {
	for name, shared := range map[string]bool{"one server": false, "replicas": true} {
		t.Run(name, func(t *testing.T) {
			heard := &supervisors{}
			h := &hooked{Store: storetest.SQLite(t), shared: shared}
			before := time.Now()
			w := newWorldThrough(t, h, h.Store, nil, func(c *dispatch.Config) { c.LeaseTTL, c.Trust = time.Hour, heard.trust })
			after := time.Now()
			w.stop()
			all := heard.told()
			if len(all) != 2 {
				t.Fatalf("heard %v", all)
			}
			const margin = 48 * time.Minute // an hour, less a fifth
			if shared && (all[0].Before(before.Add(margin)) || all[0].After(after.Add(margin))) || !shared && !all[0].IsZero() {
				t.Errorf("trusted until %v", all[0])
			}
			if all[1].IsZero() || all[1].After(time.Now()) {
				t.Errorf("at the end trusted until %v", all[1])
			}
		})
	}
}
