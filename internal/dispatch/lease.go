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
	retired bool                  // given back for good
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

// retire ends the renewals, and waits for one that is under way.
func (l *leaseholder) retire() {
	l.renewing.Lock()
	defer l.renewing.Unlock()
	l.retired = true
}

// Run renews the lease and takes up executions that nobody drives, until ctx ends. It returns the error of the first
// renewal, since a server that cannot write is not to serve.
func (m *Manager) Run(ctx context.Context, ready func()) error {
	defer m.leases.end(errStopped) // what was not drained is let go, unwritten
	if err := m.beginLease(ctx); err != nil {
		return err
	}
	ready()
	var beside sync.WaitGroup
	defer beside.Wait()
	beside.Go(func() { m.keepRenewing(ctx) })
	beside.Go(func() { m.keepRemoving(ctx) })
	m.keepTakingUp(ctx)
	return nil
}

// beginLease tries for longer than a renewal may take: a server that starts while the database is slow must not give up, be
// started again and make it slower.
func (m *Manager) beginLease(ctx context.Context) error {
	for try := 1; ; try++ {
		err := m.renew(ctx)
		if err == nil || try == firstRenewals {
			return err
		}
		slog.Warn("cannot take a lease, trying again", "error", err)
		select {
		case <-time.After(m.ttl / 10):
		case <-ctx.Done():
			return err
		}
	}
}

// firstRenewals is how often that is tried.
const firstRenewals = 10

// age is how long ago the newest renewal that worked was sent.
func (l *leaseholder) age() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return time.Since(l.written)
}

// slowCommit is how long a change may wait before the server counts as one that cannot write.
const slowCommit = 2 * time.Second

// Writable tells whether the database takes in what is written: it answers every reading while a disk is full or slow, or a table is
// locked. It is asked by anybody, so it writes nothing itself, and goes by what is written all the time: the newest renewal of
// the lease is younger than half of it, no renewal or commit has just failed, and none waits for two seconds.
func (m *Manager) Writable() bool {
	return m.leases.age() < m.ttl/2 && !m.leases.failing.Load() && !m.log.Failing() && m.log.Waiting() < slowCommit
}

// keepRenewing has a rhythm of its own: what taking up waits for must not cost the lease.
func (m *Manager) keepRenewing(ctx context.Context) {
	ticker := time.NewTicker(m.ttl / 3)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		err := m.renew(ctx)
		m.leases.failing.Store(err != nil)
		if err != nil && ctx.Err() == nil {
			slog.Warn("cannot renew the lease", "error", err)
		}
	}
}

// renew counts from before the request was sent: when the answer took long, the lease is already that much shorter.
// The margin is for a clock that runs slower than the database's.
func (m *Manager) renew(ctx context.Context) error {
	m.leases.renewing.Lock()
	defer m.leases.renewing.Unlock()
	if m.leases.retired {
		return nil
	}
	sent := time.Now()
	ctx, cancel := context.WithTimeout(ctx, m.ttl/3)
	defer cancel()
	if err := m.store.Heartbeat(ctx, m.replica, m.ttl); err != nil {
		return err
	}
	var trusted time.Time
	if m.store.Shared() {
		trusted = sent.Add(m.ttl - m.ttl/5)
	}
	m.leases.renewed(sent, trusted)
	return nil
}
