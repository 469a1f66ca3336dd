package dispatch

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"signoff/internal/events"
	"signoff/internal/store"
)

// A server that starts while the database is away for a moment takes its lease when the database is back. One that stopped would not come back by
// itself.
func TestTheFirstLeaseIsAwaited(t *testing.T) {
	for name, c := range map[string]struct {
		away time.Duration
		lost bool
	}{
		"the database is there":               {},
		"the database is away for a moment":   {away: 20 * time.Second},
		"the database is away for far longer": {away: time.Hour, lost: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &awayStore{until: time.Now().Add(c.away)}
				m := NewManager(Config{LeaseTTL: time.Second}, s, events.NewLog(s))
				defer m.leases.end(errStopped)
				begun := time.Now()
				if err := m.beginLease(t.Context()); (err != nil) != c.lost || errors.Is(err, errAway) != c.lost {
					t.Errorf("beginLease fails with %v", err)
				}
				if took := time.Since(begun); took > leasePatience+time.Second {
					t.Errorf("it took %s", took)
				}
				if (m.leases.good() != nil) != c.lost {
					t.Errorf("the lease: %v", m.leases.good())
				}
			})
		})
	}
}

var errAway = errors.New("the database is away")

// awayStore takes no lease until a moment.
type awayStore struct {
	*store.Store // nil: nothing else is asked
	until        time.Time
}

func (s *awayStore) Shared() bool { return true }

func (s *awayStore) Heartbeat(context.Context, store.ReplicaID, time.Duration) error {
	if time.Now().Before(s.until) {
		return errAway
	}
	return nil
}
