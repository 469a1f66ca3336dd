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
	mu   sync.Mutex
	ctx  context.Context // nil while there is no lease
	lose context.CancelCauseFunc
	over *time.Timer // ends the lease when it is not renewed in time
}

func (l *leaseholder) current() context.Context {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ctx
}

// renewed trusts the lease until trusted; it begins a new one where there is none.
func (l *leaseholder) renewed(trusted time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ctx == nil {
		l.ctx, l.lose = context.WithCancelCause(context.Background())
		l.over = time.AfterFunc(time.Until(trusted), func() {
			slog.Error("lease lost, its executions are let go")
			l.end(errLeaseLost)
		})
		return
	}
	l.over.Reset(time.Until(trusted))
}

// end ends the lease, if there is one: those who hold it may not write any more.
func (l *leaseholder) end(why error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ctx != nil {
		l.over.Stop()
		l.lose(why)
		l.ctx = nil
	}
}

// Run renews the lease and takes up executions that nobody drives, until ctx ends. It returns the error of the first
// renewal, since a server that cannot write is not to serve.
func (m *Manager) Run(ctx context.Context, ready func()) error {
	defer m.lease.end(errOver) // what was not drained is let go, unwritten
	if err := m.renew(ctx); err != nil {
		return err
	}
	ready()
	ticker := time.NewTicker(m.ttl / 3)
	defer ticker.Stop()
	for {
		m.releaseOrphans(ctx)
		if err := m.takeUp(ctx); err != nil && ctx.Err() == nil {
			slog.Warn("cannot take up executions", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-m.orphaned:
			continue
		case <-ticker.C:
		}
		if err := m.renew(ctx); err != nil && ctx.Err() == nil {
			slog.Warn("cannot renew the lease", "error", err)
		}
	}
}

// renew counts from before the request was sent: when the answer took long, the lease is already that much shorter.
// The margin is for a clock that runs slower than the database's.
func (m *Manager) renew(ctx context.Context) error {
	sent := time.Now()
	ctx, cancel := context.WithTimeout(ctx, m.ttl/3)
	defer cancel()
	if err := m.store.Heartbeat(ctx, m.replica, m.ttl); err != nil {
		return err
	}
	m.lease.renewed(sent.Add(m.ttl - m.ttl/5))
	return nil
}

// mayStart returns the lease under which a new session would write.
func (m *Manager) mayStart() (context.Context, error) {
	select {
	case <-m.draining:
		return nil, domain.Errorf(domain.CodeUnavailable, "This server is shutting down; try another replica, or again in a moment.")
	default:
	}
	lease := m.lease.current()
	if lease == nil {
		return nil, domain.Errorf(domain.CodeUnavailable, "This server has lost touch with its database; try again in a moment.")
	}
	return lease, nil
}

// takeUp claims executions whose driver is gone, and drives them from where their logs end.
func (m *Manager) takeUp(ctx context.Context) error {
	for {
		lease, err := m.mayStart()
		if err != nil {
			return nil //nolint:nilerr // draining, or without a lease: nothing is taken up
		}
		claimed, err := m.store.Claim(ctx, m.replica, claimBatch)
		if errors.Is(err, store.ErrUnknownOutcome) {
			return errors.Join(err, m.findUnknown(ctx))
		}
		if err != nil {
			return err
		}
		for _, c := range claimed {
			m.resume(c, lease)
		}
		if len(claimed) < claimBatch {
			return nil
		}
	}
}

// findUnknown gives back what this replica owns without knowing: a claim may have worked although its answer was lost,
// and as long as this replica lives nobody else would take those executions.
func (m *Manager) findUnknown(ctx context.Context) error {
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

func (m *Manager) resume(c store.Claimed, lease context.Context) {
	s := m.session(c.Execution, c.Epoch, lease)
	conversation, err := m.conversation(c.Execution.ID)
	if err == nil {
		err = s.remember(conversation)
	}
	if err != nil {
		slog.Error("cannot read an execution to take it up", "execution", c.Execution.ID, "error", err)
		s.watcher.Close()
		m.orphan(c.Execution.ID, c.Epoch)
		return
	}
	slog.Info("execution taken up", "execution", c.Execution.ID, "epoch", c.Epoch, "status", c.Execution.Status)
	m.launch(s)
}

// conversation folds the whole log of an execution.
func (m *Manager) conversation(id domain.ExecutionID) (domain.Conversation, error) {
	var all []domain.Event
	for after := int64(0); ; {
		page, err := m.store.Events(context.Background(), id, after, eventPage)
		if err != nil {
			return domain.Conversation{}, err
		}
		all = append(all, page...)
		if len(page) < eventPage {
			return domain.Fold(all)
		}
		after = page[len(page)-1].Seq
	}
}

// orphan gives an execution back that its session cannot drive on, so that the next claim finds it. The database may be
// what failed, so it is tried until it works: this replica's lease is good, and nobody else would ever take it up.
func (m *Manager) orphan(id domain.ExecutionID, epoch int64) {
	m.mu.Lock()
	m.orphans[id] = epoch
	m.mu.Unlock()
	ring(m.orphaned)
}

// releaseOrphans gives back what it can; the rest waits for the next time.
func (m *Manager) releaseOrphans(ctx context.Context) {
	m.mu.Lock()
	orphans := maps.Clone(m.orphans)
	m.mu.Unlock()
	for id, epoch := range orphans {
		if err := m.store.ReleaseExecution(ctx, id, epoch); err != nil && domain.CodeOf(err) != domain.CodeStale {
			slog.Warn("cannot give an execution back, trying again", "execution", id, "error", err)
			continue
		}
		m.mu.Lock()
		if m.orphans[id] == epoch {
			delete(m.orphans, id)
		}
		m.mu.Unlock()
	}
}
