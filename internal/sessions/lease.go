package sessions

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"sync"
	"time"

	"signoff/internal/domain"
	"signoff/internal/store"
)

const (
	// claimBatch is how many executions are taken up at once.
	claimBatch = 50
	// eventPage is how much of a log is read at once when an execution is taken up.
	eventPage = 1000
)

var errLeaseLost = errors.New("sessions: the lease is over, another replica may drive its executions")

// leaseholder knows until when this replica may write. Sessions hold the context of the lease under which they were
// started; it ends with the lease and does not come back with a new one.
type leaseholder struct {
	mu      sync.Mutex
	ctx     context.Context // nil while there is no lease
	lose    context.CancelCauseFunc
	over    *time.Timer           // ends the lease when it is not renewed in time; nil where nobody else could take over
	retired bool                  // given back for good
	trust   func(until time.Time) // tells the supervisors of commands; see [Config.Trust]

	renewing sync.Mutex // held while a renewal is under way, so that none follows the giving back
}

func (l *leaseholder) current() context.Context {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ctx
}

// renewed trusts the lease until then; it begins a new one where there is none. A lease that nobody else could take
// (the zero time) lasts: on SQLite there is one server, and a slow disk must not cost it what it drives.
func (l *leaseholder) renewed(until time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.trust(until)
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
	defer m.leases.end(errOver) // what was not drained is let go, unwritten
	if err := m.renew(ctx); err != nil {
		return err
	}
	ready()
	var renewing sync.WaitGroup
	defer renewing.Wait()
	renewing.Go(func() { m.everyTick(ctx, "renew the lease", m.renew) })
	if err := m.takeUp(ctx); err != nil {
		slog.Warn("cannot take up executions", "error", err)
	}
	m.everyTick(ctx, "take up executions", m.takeUp)
	return nil
}

// everyTick does something at a third of the lease's time. Renewing and taking up have a rhythm each: what one waits
// for must not keep the other waiting.
func (m *Manager) everyTick(ctx context.Context, doing string, do func(context.Context) error) {
	ticker := time.NewTicker(m.ttl / 3)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if err := do(ctx); err != nil && ctx.Err() == nil {
			slog.Warn("cannot "+doing, "error", err)
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
	m.leases.renewed(trusted)
	return nil
}

// takeUp gives back what this replica cannot drive, and claims executions whose driver is gone, to go on from where
// their logs end.
func (m *Manager) takeUp(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, max(m.ttl, time.Second))
	defer cancel()
	if err := m.giveBack(ctx); err != nil {
		return err
	}
	for !m.isDraining() {
		claimed, err := m.store.Claim(ctx, m.replica, claimBatch)
		if errors.Is(err, store.ErrUnknownOutcome) {
			m.wonder()
		}
		if err != nil {
			return err
		}
		for _, c := range claimed {
			m.resume(c)
		}
		if len(claimed) < claimBatch {
			return nil
		}
	}
	return nil
}

func (m *Manager) isDraining() bool {
	select {
	case <-m.draining:
		return true
	default:
		return false
	}
}

// resume drives a claimed execution. Its log is read by its session, so that a long one holds up nobody else.
func (m *Manager) resume(c store.Claimed) {
	s, err := m.admit(c.Execution, c.Epoch)
	if err != nil {
		slog.Warn("cannot take up an execution now", "execution", c.Execution.ID, "error", err)
		m.orphan(c.Execution.ID, c.Epoch)
		return
	}
	s.takenUp = true
	slog.Info("execution taken up", "execution", c.Execution.ID, "epoch", c.Epoch, "status", c.Execution.Status)
	go m.drive(s)
}

// orphan has an execution given back that this replica cannot drive on, at the next tick and until it works: this
// replica's lease is good, so nobody else would ever take it up. Not at once, since what did not work now would not
// work in the next instant either.
func (m *Manager) orphan(id domain.ExecutionID, epoch int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.orphans[id] = epoch
}

// doubtTicks is for how long a commit whose answer was lost may still come through.
const doubtTicks = 5

// wonder has the next ticks look for executions that this replica owns and does not know of.
func (m *Manager) wonder() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.doubt = doubtTicks
}

// giveBack releases what is orphaned; what does not work is tried again at the next tick.
func (m *Manager) giveBack(ctx context.Context) error {
	if err := m.findUnknown(ctx); err != nil {
		return err
	}
	m.mu.Lock()
	orphans := maps.Clone(m.orphans)
	m.mu.Unlock()
	for id, epoch := range orphans {
		if err := m.store.ReleaseExecution(ctx, id, epoch); err != nil && domain.CodeOf(err) != domain.CodeStale {
			return err
		}
		m.mu.Lock()
		if m.orphans[id] == epoch {
			delete(m.orphans, id)
		}
		m.mu.Unlock()
	}
	return nil
}

// findUnknown finds what this replica owns without knowing: a claim or a creation may have worked although its answer
// was lost.
func (m *Manager) findUnknown(ctx context.Context) error {
	m.mu.Lock()
	doubt := m.doubt
	m.doubt = max(0, doubt-1)
	m.mu.Unlock()
	if doubt == 0 {
		return nil
	}
	owned, err := m.store.Owned(ctx, m.replica)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range owned {
		if _, live := m.live[c.Execution.ID]; !live {
			m.orphans[c.Execution.ID] = c.Epoch
		}
	}
	return nil
}
