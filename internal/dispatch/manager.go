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
	"signoff/internal/workspace/folders"
)

// Store is the part of the store that the manager and its sessions use.
type Store interface {
	sessions.Store
	folders.Executions
	ExecutionByKey(ctx context.Context, tenant domain.TenantID, key string) (domain.Execution, []byte, error)
	PromptByKey(ctx context.Context, id domain.ExecutionID, key string) (domain.QueuedPrompt, []byte, error)
	Delete(ctx context.Context, tenant domain.TenantID, id domain.ExecutionID, record domain.AuditRecord) error
	Below(ctx context.Context, root domain.ExecutionID) ([]domain.ExecutionID, error)
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

// Config configures a manager and its sessions. The bounds of [Limits] take the place of those in [sessions.Config].
type Config struct {
	sessions.Config

	Replica   store.ReplicaID
	LeaseTTL  time.Duration // 0 = 10 s
	LookEvery time.Duration // how late at most an execution continues that wakes by itself, or that another replica releases; 0 = 1 s
	Limits    Limits

	// Folders has the own folders of executions; nil: no execution has one.
	Folders Folders

	// Budgets refuse creations of tenants whose daily budget is spent; nil: none are refused.
	Budgets Budgets

	// Removed is called after the rows of a deleted execution are removed; may be nil.
	Removed func()

	// CreateWithin is how long the database may take for a creation before the client gets an error. 0 = 1.9 s.
	CreateWithin time.Duration

	// Trust is called at each renewal with the time until which the lease is good (the zero time: for ever), and at its end with
	// the present time. Everything that the replica runs must be dead by then, also if the replica itself stands still. nil:
	// nobody needs to know.
	Trust func(until time.Time)
}

// Folders has the own folders of executions.
type Folders interface {
	sessions.Folders
	// Directory returns the working directory of an execution with an own folder.
	Directory(id domain.ExecutionID, own domain.OwnFolder) string
	// Clone returns the clone in which an execution works; nil: it works in none.
	Clone(id domain.ExecutionID, own domain.OwnFolder) *domain.Clone
	// RemoveUnused removes the own folder of an execution, unless a live one works in it.
	RemoveUnused(ctx context.Context, executions folders.Executions, id domain.ExecutionID) error
	// Sweep removes the folders that nobody needs any more.
	Sweep(ctx context.Context, executions folders.Executions) error
}

// Budgets are those that executions share.
type Budgets interface {
	// Check returns an error if nothing can be started for a tenant now.
	Check(ctx context.Context, tenant domain.TenantID) error
}

// Manager starts, cancels and recovers executions. Its methods may be called at once.
type Manager struct {
	engine *sessions.Engine
	store  Store
	log    *events.Log
	masker *secrets.Masker // of the texts of requests
	limits Limits
	leases leaseholder

	budgets Budgets // nil: none
	removed func()  // see [Config.Removed]
	folders Folders // nil: no execution has an own folder

	replica      store.ReplicaID
	ttl          time.Duration
	lookEvery    time.Duration
	createWithin time.Duration

	running sync.WaitGroup

	notification chan struct{} // there may be something to acquire
	releasing    chan struct{} // full while executions are released
	deleted      chan struct{} // there may be something to remove
	draining     chan struct{} // closes with the drain

	counts counts

	mu         sync.Mutex
	live       map[domain.ExecutionID]*driven // from before the first commit until the agent is gone
	tenants    map[domain.TenantID]int        // the number of places of each: its sessions, but for those that yield their places
	yielded    int                            // the number of sessions that yield their places
	recovering int                            // how many of them still read the log of an earlier driver
	more       bool                           // there was more to acquire than there was room for
	backlog    int                            // how often an execution may have been queued since the queue was last found empty
	urgent     map[domain.ExecutionID]bool    // somebody waits for them, and perhaps nobody drives them
	orphans    map[domain.ExecutionID]int64   // to be released, by epoch
	doubt      time.Time                      // until when this replica may own executions that it does not know of
	unused     []domain.ExecutionID           // executions that have ended here and do not keep their own folders
}

// counts are for the metrics.
type counts struct{ acquired, refused atomic.Int64 }

// driven is an execution that has a session here. The manager's lock guards it.
type driven struct {
	session    *sessions.Session
	exited     chan struct{} // closes when the session and its agent have ended
	contested  bool          // it was acquired again before its session had ended
	recovering bool          // its session reads the log of the earlier driver
	notified   bool          // somebody else has written to it
	yields     bool          // it waits for its children, and leaves them its place
}

var errNoRoom = errors.New("dispatch: no room for another session")

// admit makes a session, unless the server drains, has no lease, or still drives the execution. Drain waits for the session: the
// caller ends it with drive or with discard.
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
	m.takePlace(execution.Tenant)
	m.running.Add(1)
	return s, nil
}

// room tells whether there is room for one more session of a tenant, and nobody waits for it. m.mu is held.
func (m *Manager) room(tenant domain.TenantID) bool {
	return m.backlog == 0 && m.placesTaken() < m.limits.Live && m.tenants[tenant] < m.limits.LivePerTenant
}

// placesTaken is the number of places that the sessions of this server take. m.mu is held.
func (m *Manager) placesTaken() int { return len(m.live) - m.yielded }

// takePlace takes a place for a tenant, and freePlace frees it. m.mu is held.
func (m *Manager) takePlace(tenant domain.TenantID) { m.tenants[tenant]++ }

func (m *Manager) freePlace(tenant domain.TenantID) {
	m.roomFreed(tenant)
	if m.tenants[tenant]--; m.tenants[tenant] == 0 {
		delete(m.tenants, tenant)
	}
}

// driving finds the session that continues the same agent session as an execution. The database allows one such execution, but the
// agent of one that has ended may still be here: two processes would write one transcript. m.mu is held.
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

// discard ends an admitted session that was never driven.
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
	if d.yields {
		m.yielded--
	} else {
		m.freePlace(execution.Tenant)
	}
	delete(m.live, execution.ID)
	m.recovered(d)
	if d.notified && s.Released() {
		m.urgent[execution.ID] = true
	}
	if _, orphaned := m.orphans[execution.ID]; orphaned || m.backlog > 0 || m.more || d.notified {
		notify(m.notification)
	}
	if own := execution.Request.OwnFolder; own != nil && !own.Keep && m.folders != nil {
		m.unused = append(m.unused, execution.ID)
		notify(m.deleted)
	}
	close(d.exited)
}

// Yield implements [sessions.Dispatcher]: a session that waits only for children leaves its place to them, and takes it again when it continues, also if no
// place is free then. Otherwise a tree with as many parents as places would wait for itself for ever.
func (m *Manager) Yield(id domain.ExecutionID, yields bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	d, live := m.live[id]
	if !live || d.yields == yields {
		return
	}
	d.yields = yields
	tenant := d.session.Execution().Tenant
	if !yields {
		m.yielded--
		m.takePlace(tenant)
		return
	}
	m.freePlace(tenant)
	m.yielded++
	if m.backlog > 0 || m.more {
		notify(m.notification)
	}
}

// roomFreed has the queue read if it may have waited for the place that becomes free: this replica may not know of executions that were
// queued on another one, and no new execution must go before them. m.mu is held.
func (m *Manager) roomFreed(tenant domain.TenantID) {
	full := m.placesTaken() >= m.limits.Live || m.tenants[tenant] >= m.limits.LivePerTenant
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

// recovered lets the next log be read. m.mu is held.
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

// Release implements [sessions.Dispatcher]: it releases an execution that this replica cannot drive on, at the next tick and until
// it works. The lease of this replica is good, so no other replica would ever acquire it. It does not do so at once: the failure
// that has ended the session may still last.
func (m *Manager) Release(id domain.ExecutionID, epoch int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.orphans[id] = max(m.orphans[id], epoch) // a session that ends late knows an older epoch
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

// maxUrgent bounds the list while the database is away for long.
const maxUrgent = 10_000

// acquireSoon acquires an execution at once if nobody drives it: somebody has just written to it, and waits for the effect. If it
// is driven, there is nothing to acquire. A session of this replica may be about to release it: then it is acquired when that
// session has ended.
func (m *Manager) acquireSoon(id domain.ExecutionID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	d, live := m.live[id]
	switch {
	case live:
		d.notified = true
	case len(m.urgent) < maxUrgent: // the ticks find the others
		m.urgent[id] = true
		notify(m.notification)
	}
}

// lookAgain looks at once for executions that another replica has released, and not only at the next tick.
func (m *Manager) lookAgain() {
	m.mu.Lock()
	m.more = true
	m.mu.Unlock()
	notify(m.notification)
}

// Enqueued implements [sessions.Dispatcher]: it has the queue read, where a session has just put children, or a request an execution. Another session may
// have ended meanwhile.
func (m *Manager) Enqueued() {
	m.mu.Lock()
	m.backlog++
	m.mu.Unlock()
	notify(m.notification)
}

// contest leaves an execution to other replicas until its earlier session here has ended. Otherwise this replica, whose lease is
// good, would acquire and release it again and again as long as an agent does not return, and nobody would drive it.
func (m *Manager) contest(id domain.ExecutionID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if d, live := m.live[id]; live {
		d.contested = true
	}
}

// doubtLasts is how long a commit whose answer was lost may still come through: the database may work on it long after the
// connection has ended.
const doubtLasts = 2 * time.Minute

// suspectUnknown makes the next ticks look for executions that this replica owns and does not know of.
func (m *Manager) suspectUnknown() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.doubt = time.Now().Add(doubtLasts)
}

// suspectAfter returns the error of a claim, which may have worked all the same.
func (m *Manager) suspectAfter(err error) error {
	if errors.Is(err, store.ErrCommitUnknown) {
		m.suspectUnknown()
	}
	return err
}

// Acquired counts the executions that this replica has acquired.
func (m *Manager) Acquired() int64 { return m.counts.acquired.Load() }

// Refused counts the creations for which this replica had no room.
func (m *Manager) Refused() int64 { return m.counts.refused.Load() }

// Live counts the executions that this replica drives. It is for the metrics.
func (m *Manager) Live() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.live)
}

// Commands counts the commands of this server that run, and those that wait for a slot.
func (m *Manager) Commands() (running, waiting int) { return m.engine.Commands() }

// notify never waits: two notifications before anybody looks are one.
func notify(notification chan struct{}) {
	select {
	case notification <- struct{}{}:
	default:
	}
}
