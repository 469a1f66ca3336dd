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

// leaseholder knows until when this replica may write. A session has the context of the lease under which it was started; the
// context ends with that lease, also if a new one begins.
type leaseholder struct {
	mu      sync.Mutex
	ctx     context.Context // nil while there is no lease
	lose    context.CancelCauseFunc
	until   time.Time             // when it is over; zero: never
	written time.Time             // when the newest successful renewal was sent
	over    *time.Timer           // ends the lease if it is not renewed in time; nil if no other replica could take over
	stopped bool                  // released for good
	trust   func(until time.Time) // informs the supervisors of commands; see [Config.Trust]

	failing  atomic.Bool // the newest renewal has failed
	renewing sync.Mutex  // held while a renewal is under way, so that none follows the release
}

func (l *leaseholder) current() context.Context {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ctx
}

// renewed trusts the lease until then; it begins a new one if there is none. A lease that no other replica could take (the zero
// time) lasts: on SQLite there is one server, and a slow disk must not cost it its executions.
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
				slog.Error("lease lost, the sessions of its executions end")
				l.end(errLeaseLost)
			})
		}
		return
	}
	if l.over != nil {
		l.over.Reset(trusted)
	}
}

// good is nil as long as the lease holds, by the clock: in a process that stood still, the timer may be late.
func (l *leaseholder) good() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ctx == nil || (!l.until.IsZero() && time.Now().After(l.until)) {
		return errLeaseLost
	}
	return nil
}

// end ends the lease, if there is one: its sessions may not write any more, and their commands are killed.
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

// age is the time since the newest successful renewal was sent.
func (l *leaseholder) age() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return time.Since(l.written)
}
