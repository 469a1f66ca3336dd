package dispatch

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"signoff/internal/domain"
	"signoff/internal/events"
	"signoff/internal/failpoint"
	"signoff/internal/secrets"
	"signoff/internal/sessions"
	"signoff/internal/store"
)

// Store is what the manager and its sessions read, and the leases.
type Store interface {
	sessions.Store
	ExecutionByKey(ctx context.Context, tenant domain.TenantID, key string) (domain.Execution, []byte, error)
	PromptByKey(ctx context.Context, id domain.ExecutionID, key string) (domain.QueuedPrompt, []byte, error)
	Delete(ctx context.Context, tenant domain.TenantID, id domain.ExecutionID, record domain.AuditRecord) error
	Deleted(ctx context.Context, limit int) ([]store.Deleted, error)
	Remove(ctx context.Context, id domain.ExecutionID) (store.Removal, error)
	Heartbeat(ctx context.Context, replica store.ReplicaID, ttl time.Duration) error
	Acquire(ctx context.Context, replica store.ReplicaID, limit int, but ...domain.ExecutionID) ([]store.Acquired, error)
	AcquireNow(ctx context.Context, replica store.ReplicaID, ids []domain.ExecutionID) ([]store.Acquired, error)
	AcquireQueued(ctx context.Context, replica store.ReplicaID, limit, each int, live map[domain.TenantID]int) ([]store.Acquired, error)
	Waiting(ctx context.Context, tenant domain.TenantID) (own, all int, err error)
	Owned(ctx context.Context, replica store.ReplicaID) (map[domain.ExecutionID]int64, error)
	Release(ctx context.Context, replica store.ReplicaID) error
	ReleaseExecution(ctx context.Context, id domain.ExecutionID, epoch int64) error
	Shared() bool
}

var _ Store = (*store.Store)(nil)

// Config is how a manager and its sessions are wired. The bounds of [Limits] take the place of those in [sessions.Config].
type Config struct {
	sessions.Config

	Replica   store.ReplicaID
	LeaseTTL  time.Duration // 0 = 10 s
	LookEvery time.Duration // how late at most an execution goes on that woke by itself, or that another replica let go; 0 = 1 s
	Limits    Limits

	// CreateWithin is how long the database may take for a creation; then the answer is that it takes too long. 0 = 1.9 s.
	CreateWithin time.Duration

	// Trust hears at each renewal until when this replica's lease is good (the zero time: for ever), and at its end, that
	// it is over. What the replica runs must be dead by then, also when the replica itself stands still. nil tells nobody.
	Trust func(until time.Time)
}

// Manager starts, cancels and takes up executions. Its methods may be called at once.
type Manager struct {
	engine *sessions.Engine
	store  Store
	log    *events.Log
	masker *secrets.Masker // of what people ask for
	limits Limits
	leases leaseholder

	replica      store.ReplicaID
	ttl          time.Duration
	lookEvery    time.Duration
	createWithin time.Duration

	running sync.WaitGroup

	notification chan struct{} // there may be something to take up
	releasing    chan struct{} // full while executions are given back
	deleted      chan struct{} // there may be something to remove
	draining     chan struct{} // closes with the drain

	counts counts

	mu         sync.Mutex
	live       map[domain.ExecutionID]*driven // from before the first commit until the agent is gone
	tenants    map[domain.TenantID]int        // how many of them each has
	recovering int                            // how many of them still read what an earlier driver left
	more       bool                           // there was more to take up than there was room for
	backlog    int                            // how often an execution may have been queued since the queue was last found empty
	urgent     map[domain.ExecutionID]bool    // somebody waits for them, and perhaps nobody drives them
	orphans    map[domain.ExecutionID]int64   // to be given back, by epoch
	doubt      time.Time                      // until when this replica may own what it does not know of
}

// counts are for the metrics.
type counts struct{ acquired, refused atomic.Int64 }

// driven is an execution that has a session here. The manager's lock guards it.
type driven struct {
	session    *sessions.Session
	exited     chan struct{} // closes when the session has left, and its agent with it
	contested  bool          // it was claimed again before its session had left
	recovering bool          // its session reads what the earlier driver left
	notified   bool          // somebody else has written to it
}

var errNoRoom = errors.New("dispatch: no room for another session")

// admit takes a new session in, unless the server drains, has no lease, or still drives the execution. Whoever is
// admitted is waited for by Drain: the caller ends it with drive or with dismiss.
func (m *Manager) admit(execution domain.Execution, epoch int64) (*sessions.Session, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.isDraining() {
		return nil, domain.Errorf(domain.CodeUnavailable, "This server is shutting down; try another replica, or again in a moment.")
	}
	lease := m.leases.current()
	if lease == nil {
		return nil, domain.Errorf(domain.CodeUnavailable, "This server has lost touch with its database; try again in a moment.")
	}
	if epoch == 1 && !m.room(execution.Tenant) {
		return nil, errNoRoom
	}
	if _, live := m.live[execution.ID]; live {
		return nil, domain.Errorf(domain.CodeConflict, "The agent of an earlier session of this execution has not ended yet.")
	}
	if other := m.driving(execution); other != nil {
		return nil, domain.NotResumable("The execution %s is going on with that agent session.", other.session.Execution().ID)
	}
	s := m.engine.NewSession(execution, epoch, lease)
	m.live[execution.ID] = &driven{session: s, exited: make(chan struct{})}
	m.tenants[execution.Tenant]++
	m.running.Add(1)
	return s, nil
}

// room tells whether there is room for one more session of tenant, and nobody who waits for it. m.mu is held.
func (m *Manager) room(tenant domain.TenantID) bool {
	return m.backlog == 0 && len(m.live) < m.limits.Live && m.tenants[tenant] < m.limits.LivePerTenant
}

// driving finds the session that goes on with the same agent session as an execution. The database sees to it that there is one such
// execution, but the agent of one that has ended may still be here: two processes would write one transcript. m.mu is held.
func (m *Manager) driving(execution domain.Execution) *driven {
	wanted := execution.Request
	if wanted.ResumeSession == "" {
		return nil
	}
	for _, d := range m.live {
		other := d.session.Execution()
		if r := other.Request; r.ResumeSession == wanted.ResumeSession && r.Source.Command == wanted.Source.Command && other.Tenant == execution.Tenant {
			return d
		}
	}
	return nil
}

// drive runs an admitted session to its end.
func (m *Manager) drive(s *sessions.Session) {
	defer m.running.Done()
	s.Run()
}

// discard lets an admitted session go that was never driven.
func (m *Manager) discard(s *sessions.Session) {
	defer m.running.Done()
	s.Discard()
}

// Exited implements [sessions.Dispatcher].
func (m *Manager) Exited(s *sessions.Session) {
	failpoint.Hit(failpoint.AfterSession)
	execution := s.Execution()
	m.mu.Lock()
	defer m.mu.Unlock()
	d := m.live[execution.ID]
	m.roomFreed(execution.Tenant)
	delete(m.live, execution.ID)
	if m.tenants[execution.Tenant]--; m.tenants[execution.Tenant] == 0 {
		delete(m.tenants, execution.Tenant)
	}
	m.recovered(d)
	if d.notified && s.Released() {
		m.urgent[execution.ID] = true
	}
	if _, orphaned := m.orphans[execution.ID]; orphaned || m.backlog > 0 || m.more || d.notified {
		notify(m.notification)
	}
	close(d.exited)
}

// roomFreed has the queue looked at where it may have waited for the session that leaves: what was queued on another replica this one
// has not heard of, and nobody new is to go before it. m.mu is held.
func (m *Manager) roomFreed(tenant domain.TenantID) {
	full := len(m.live) >= m.limits.Live || m.tenants[tenant] >= m.limits.LivePerTenant
	if full && m.limits.Queued > 0 {
		m.backlog++
	}
}

// Recovered implements [sessions.Dispatcher].
func (m *Manager) Recovered(s *sessions.Session) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.recovered(m.live[s.Execution().ID])
}

// recovered has the next log read in the place of this one. m.mu is held.
func (m *Manager) recovered(d *driven) {
	if !d.recovering {
		return
	}
	d.recovering = false
	m.recovering--
	if m.more {
		notify(m.notification)
	}
}

// Release implements [sessions.Dispatcher]: it has an execution given back that this replica cannot drive on, at the next tick and until it works: this
// replica's lease is good, so nobody else would ever take it up. Not at once, since what did not work now would not
// work in the next instant either.
func (m *Manager) Release(id domain.ExecutionID, epoch int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.orphans[id] = max(m.orphans[id], epoch) // a session that leaves late knows an older one
}

// Draining implements [sessions.Dispatcher].
func (m *Manager) Draining() <-chan struct{} { return m.draining }

func (m *Manager) isDraining() bool {
	select {
	case <-m.draining:
		return true
	default:
		return false
	}
}

// HoldsLease implements [sessions.Dispatcher].
func (m *Manager) HoldsLease() error { return m.leases.good() }

// maxUrgent bounds what a database that is away for long has called up.
const maxUrgent = 10_000

// acquireSoon has an execution claimed at once, should nobody drive it: somebody has just written to it, and waits for what
// comes of that. Where it is driven the claim finds nothing. A session of this replica may be about to let go of it: then it is
// claimed again when that has left.
func (m *Manager) acquireSoon(id domain.ExecutionID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	d, live := m.live[id]
	switch {
	case live:
		d.notified = true
	case len(m.urgent) < maxUrgent: // the ticks find the rest
		m.urgent[id] = true
		notify(m.notification)
	}
}

// lookAgain has this replica look for what another one has let go of, and not only at the next tick.
func (m *Manager) lookAgain() {
	m.mu.Lock()
	m.more = true
	m.mu.Unlock()
	notify(m.notification)
}

// enqueued has the queue looked at: somebody may have left meanwhile.
func (m *Manager) enqueued() {
	m.mu.Lock()
	m.backlog++
	m.mu.Unlock()
	notify(m.notification)
}

// contest leaves an execution to other replicas until its earlier session has left this one. Otherwise this replica, whose lease is good, would claim it
// again each time that it has given it back, and nobody would drive it as long as an agent does not return.
func (m *Manager) contest(id domain.ExecutionID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if d, live := m.live[id]; live {
		d.contested = true
	}
}

// doubtLasts is for how long a commit whose answer was lost may still come through: the database may work on it long after the
// connection was given up.
const doubtLasts = 2 * time.Minute

// suspectUnknown has the next ticks look for executions that this replica owns and does not know of.
func (m *Manager) suspectUnknown() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.doubt = time.Now().Add(doubtLasts)
}

// suspectAfter passes on the error of a claim, which may have worked all the same.
func (m *Manager) suspectAfter(err error) error {
	if errors.Is(err, store.ErrCommitUnknown) {
		m.suspectUnknown()
	}
	return err
}

// Acquired counts the executions that this replica went on with.
func (m *Manager) Acquired() int64 { return m.counts.acquired.Load() }

// Refused counts the creations that this replica had no room for.
func (m *Manager) Refused() int64 { return m.counts.refused.Load() }

// Live counts the executions that this replica drives. It is for the metrics.
func (m *Manager) Live() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.live)
}

// Commands tells how many commands of this server run, and how many wait for a slot.
func (m *Manager) Commands() (running, waiting int) { return m.engine.Commands() }

// notify never waits: two notifications before anybody looks are one.
func notify(notification chan struct{}) {
	select {
	case notification <- struct{}{}:
	default:
	}
}
