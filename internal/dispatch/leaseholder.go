package dispatch

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

var (
	errStopped   = errors.New("dispatch: the server has stopped")
	errLeaseLost = errors.New("dispatch: the lease is over, another replica may drive its executions")
)

// leaseholder knows until when this replica may write. Sessions hold the context of the lease under which they were
// started; it ends with the lease and does not come back with a new one.
type leaseholder struct {
	mu      sync.Mutex
	ctx     context.Context // nil while there is no lease
	lose    context.CancelCauseFunc
	until   time.Time             // when it is over; zero: it lasts
	written time.Time             // when the newest renewal that worked was sent
	over    *time.Timer           // ends the lease when it is not renewed in time; nil where nobody else could take over
	stopped bool                  // given back for good
	trust   func(until time.Time) // tells the supervisors of commands; see [Config.Trust]

	failing  atomic.Bool // the newest renewal did not work: the database takes nothing in
	renewing sync.Mutex  // held while a renewal is under way, so that none follows the giving back
}

func (l *leaseholder) current() context.Context {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ctx
}

// renewed trusts the lease until then; it begins a new one where there is none. A lease that nobody else could take
// (the zero time) lasts: on SQLite there is one server, and a slow disk must not cost it what it drives.
func (l *leaseholder) renewed(sent, until time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.trust(until)
	l.written, l.until = sent, until
	trusted := max(time.Until(until), time.Nanosecond)
	if l.ctx == nil {
		l.ctx, l.lose = context.WithCancelCause(context.Background())
		if !until.IsZero() {
			l.over = time.AfterFunc(trusted, func() {
				slog.Error("lease lost, its executions are let go")
				l.end(errLeaseLost)
			})
		}
		return
	}
	if l.over != nil {
		l.over.Reset(trusted)
	}
}

// good is nil as long as the lease holds, by the clock: a process that stood still has not heard its timer yet.
func (l *leaseholder) good() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ctx == nil || (!l.until.IsZero() && time.Now().After(l.until)) {
		return errLeaseLost
	}
	return nil
}

// end ends the lease, if there is one: those who hold it may not write any more, and what they run is killed.
func (l *leaseholder) end(why error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ctx == nil {
		return
	}
	if l.over != nil {
		l.over.Stop()
	}
	l.trust(time.Now())
	l.lose(why)
	l.ctx, l.over = nil, nil
}

// stopRenewing ends the renewals, and waits for one that is under way.
func (l *leaseholder) stopRenewing() {
	l.renewing.Lock()
	defer l.renewing.Unlock()
	l.stopped = true
}

// age is how long ago the newest renewal that worked was sent.
func (l *leaseholder) age() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return time.Since(l.written)
}
