package dispatch

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"signoff/internal/approvals"
	"signoff/internal/audit"
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

	bell     chan struct{} // there may be something to take up
	giving   chan struct{} // full while executions are given back
	deleted  chan struct{} // there may be something to remove
	draining chan struct{} // closes with the drain

	takeUps, refusals atomic.Int64 // for the metrics

	mu       sync.Mutex
	live     map[domain.ExecutionID]*driven // from before the first commit until the agent is gone
	tenants  map[domain.TenantID]int        // how many of them each has
	arriving int                            // how many of them still read what an earlier driver left
	more     bool                           // there was more to take up than there was room for
	backlog  int                            // how often an execution may have been queued since the queue was last found empty
	called   map[domain.ExecutionID]bool    // somebody waits for them, and perhaps nobody drives them
	orphans  map[domain.ExecutionID]int64   // to be given back, by epoch
	doubt    time.Time                      // until when this replica may own what it does not know of
}

// driven is an execution that has a session here. The manager's lock guards it.
type driven struct {
	session   *sessions.Session
	departed  chan struct{} // closes when the session has left, and its agent with it
	contested bool          // it was claimed again before its session had left
	arriving  bool          // its session reads what the earlier driver left
	summoned  bool          // somebody else has written to it
}

// NewManager returns a manager that drives nothing until Run is called.
func NewManager(config Config, s Store, log *events.Log) *Manager {
	m := &Manager{
		store: s, log: log, masker: config.Masker, limits: config.Limits.withDefaults(),
		replica: config.Replica, ttl: config.LeaseTTL, lookEvery: config.LookEvery, createWithin: config.CreateWithin,
		live: map[domain.ExecutionID]*driven{}, tenants: map[domain.TenantID]int{},
		called: map[domain.ExecutionID]bool{}, orphans: map[domain.ExecutionID]int64{},
		bell: make(chan struct{}, 1), giving: make(chan struct{}, 1), deleted: make(chan struct{}, 1), draining: make(chan struct{}),
	}
	config.MaxEvents, config.MaxCommands = m.limits.Events, m.limits.Commands
	m.engine = sessions.NewEngine(config.Config, s, log, m)
	if m.replica == "" {
		m.replica = store.ReplicaID(uuid.NewString())
	}
	if m.ttl == 0 {
		m.ttl = 10 * time.Second
	}
	if m.createWithin == 0 {
		m.createWithin = creationTime
	}
	if m.lookEvery == 0 {
		m.lookEvery = min(m.ttl/3, time.Second)
	}
	log.OnForeign(m.call)
	log.OnRelease(m.lookAgain)
	if m.leases.trust = config.Trust; config.Trust == nil {
		m.leases.trust = func(time.Time) {}
	}
	return m
}

// Start creates an execution and begins to drive it, or queues it where there is no room. When it returns, the execution and its first event are in the
// database. With an idempotency key that was used before, it returns the first answer again (replayed), or
// CodeIdempotencyMismatch where that came with another body.
//
// Where the database takes longer than [WithCreationTime] allows, it is CodeUnavailable or CodeStorage, and the creation is not in the
// database, or on its way there. What gets there all the same goes on with an idempotency key, since who repeats the request gets it;
// without one it is cancelled before its agent is asked anything.
func (m *Manager) Start(
	ctx context.Context, tenant domain.TenantID, by domain.Actor, request domain.Request, key *store.Idempotency,
) (execution domain.Execution, replayed bool, err error) {
	if err := m.takeOver(ctx, tenant, &request); err != nil {
		return m.notTakenOver(ctx, tenant, key, err)
	}
	if request, err = m.maskRequest(request); err != nil {
		return domain.Execution{}, false, err
	}
	execution = m.created(tenant, by, request)
	m.awaitDeparture(ctx, execution)
	ctx, cancel := withCreationTime(ctx, m.createWithin)
	defer cancel()
	creation := m.creation(execution, by, key)
	s, err := m.admit(execution, 1)
	if errors.Is(err, errNoRoom) {
		execution, err = m.enqueue(ctx, execution, creation, key)
		if err != nil {
			return m.notStarted(ctx, tenant, key, err)
		}
		return execution, false, nil
	}
	if err != nil {
		return m.notStarted(ctx, tenant, key, err)
	}
	failpoint.Hit(failpoint.SessionAdmitted)
	written := s.Create(&creation)
	_, err = m.log.CommitOr(ctx, creation, func(_ store.Outcome, err error) { m.createdLate(ctx, s, key, err) })
	switch {
	case errors.Is(err, events.ErrUnderWay):
		return domain.Execution{}, false, underWay(ctx)
	case err != nil:
		m.dismiss(s)
		return m.notStarted(ctx, tenant, key, err)
	}
	written()
	failpoint.Hit(failpoint.SessionCreated)
	execution.LastSeq = 1
	go m.drive(s)
	return execution, false, nil
}

// creation is the first change of an execution.
func (m *Manager) creation(execution domain.Execution, by domain.Actor, key *store.Idempotency) store.Change {
	request := execution.Request
	created := domain.NewEvent(execution.ID, domain.ExecutionCreated{Status: domain.StatusQueued, Source: request.Source})
	created.Time = execution.Created
	return store.Change{
		Execution: execution.ID,
		Epoch:     1,
		Create:    &store.Creation{Execution: execution, Owner: m.replica, Idempotency: key, Place: request.Place()},
		Events:    []domain.Event{created},
		Audit:     []domain.AuditRecord{audit.Execution("execution.created", execution, by, audit.ByAPI)},
	}
}

func (m *Manager) created(tenant domain.TenantID, by domain.Actor, request domain.Request) domain.Execution {
	now := time.Now().UTC().Truncate(time.Microsecond)
	return domain.Execution{
		ID: domain.ExecutionID(approvals.NewID()), Tenant: tenant, Request: request,
		Status: domain.StatusQueued, Created: now, Updated: now, ByKey: by.KeyID,
	}
}

func (m *Manager) notStarted(
	ctx context.Context, tenant domain.TenantID, key *store.Idempotency, err error,
) (domain.Execution, bool, error) {
	if errors.Is(err, store.ErrUnknownOutcome) {
		m.wonder() // where it was created after all, it is driven all the same
	}
	switch domain.CodeOf(err) {
	case domain.CodeConflict:
		if key != nil {
			return m.replay(ctx, tenant, key)
		}
	case domain.CodeTooMany, domain.CodeOverloaded, domain.CodeNotResumable: // a full queue does not forget what it has taken
		return m.notTakenOver(ctx, tenant, key, err)
	}
	return domain.Execution{}, false, err
}

// notTakenOver gives the first answer again also where what it took over is not there any more.
func (m *Manager) notTakenOver(
	ctx context.Context, tenant domain.TenantID, key *store.Idempotency, err error,
) (domain.Execution, bool, error) {
	if key != nil {
		if first, replayed, lookup := m.replay(ctx, tenant, key); domain.CodeOf(lookup) != domain.CodeNotFound {
			return first, replayed, lookup
		}
	}
	return domain.Execution{}, false, err
}

// replay is the first answer to an idempotency key.
func (m *Manager) replay(
	ctx context.Context, tenant domain.TenantID, key *store.Idempotency,
) (domain.Execution, bool, error) {
	first, bodyHash, err := m.store.ExecutionByKey(ctx, tenant, key.Key)
	if err == nil {
		err = sameBody(bodyHash, key)
	}
	if err != nil {
		return domain.Execution{}, false, err
	}
	return asCreated(first), true, nil
}

// sameBody refuses a key that comes again with another body than at first: the first answer would not be its answer.
func sameBody(firstHash []byte, key *store.Idempotency) error {
	if bytes.Equal(firstHash, key.BodyHash) {
		return nil
	}
	return domain.Errorf(domain.CodeIdempotencyMismatch, "This Idempotency-Key was used before with another body.")
}

// asCreated is an execution as it was answered when it was created.
func asCreated(e domain.Execution) domain.Execution {
	e.Status, e.Turn, e.Rounds, e.LastSeq = domain.StatusQueued, 0, 0, 1
	e.Usage, e.Output, e.Ended, e.Updated = domain.Usage{}, nil, nil, e.Created
	return e
}

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
	m.live[execution.ID] = &driven{session: s, departed: make(chan struct{})}
	m.tenants[execution.Tenant]++
	m.running.Add(1)
	return s, nil
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

// awaitDeparture waits for the agent of an execution that has ended. Whoever has seen the end may go on with its agent session at once,
// and is not to be refused because the process takes a moment to leave.
func (m *Manager) awaitDeparture(ctx context.Context, execution domain.Execution) {
	m.mu.Lock()
	other := m.driving(execution)
	m.mu.Unlock()
	if other == nil {
		return
	}
	earlier := other.session.Execution()
	if ended, err := m.store.Execution(ctx, earlier.Tenant, earlier.ID); err != nil || !ended.Status.Terminal() {
		return
	}
	select {
	case <-other.departed:
	case <-time.After(sessions.StopGrace):
	case <-ctx.Done():
	}
}

// drive runs an admitted session to its end.
func (m *Manager) drive(s *sessions.Session) {
	defer m.running.Done()
	s.Run()
}

// dismiss lets an admitted session go that was never driven.
func (m *Manager) dismiss(s *sessions.Session) {
	defer m.running.Done()
	s.Dismiss()
}

// Left implements [sessions.Dispatcher].
func (m *Manager) Left(s *sessions.Session) {
	failpoint.Hit(failpoint.SessionLeft)
	execution := s.Execution()
	m.mu.Lock()
	defer m.mu.Unlock()
	d := m.live[execution.ID]
	m.vacated(execution.Tenant)
	delete(m.live, execution.ID)
	if m.tenants[execution.Tenant]--; m.tenants[execution.Tenant] == 0 {
		delete(m.tenants, execution.Tenant)
	}
	m.recovered(d)
	if d.summoned && s.LetGo() {
		m.called[execution.ID] = true
	}
	if _, orphaned := m.orphans[execution.ID]; orphaned || m.backlog > 0 || m.more || d.summoned {
		ring(m.bell)
	}
	close(d.departed)
}

// Draining implements [sessions.Dispatcher].
func (m *Manager) Draining() <-chan struct{} { return m.draining }

// HoldsLease implements [sessions.Dispatcher].
func (m *Manager) HoldsLease() error { return m.leases.good() }

// Commands tells how many commands of this server run, and how many wait for a slot.
func (m *Manager) Commands() (running, waiting int) { return m.engine.Commands() }

// TakenUp counts the executions that this replica went on with, and Refused those that it had no room for. They are for the metrics.
func (m *Manager) TakenUp() int64 { return m.takeUps.Load() }
func (m *Manager) Refused() int64 { return m.refusals.Load() }

// Live counts the executions that this replica drives. It is for the metrics.
func (m *Manager) Live() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.live)
}

// Drain lets go of all executions and returns when their sessions have left, or with the cause of ctx. New ones are
// refused from its beginning on.
func (m *Manager) Drain(ctx context.Context) error {
	m.mu.Lock()
	if !m.isDraining() {
		close(m.draining)
	}
	m.mu.Unlock()
	left := make(chan struct{})
	go func() {
		m.running.Wait()
		close(left)
	}()
	select {
	case <-left:
		m.leases.retire()
		return m.letGo(ctx)
	case <-ctx.Done():
		slog.Error("drain was cut short", "live", m.Live())
		return context.Cause(ctx)
	}
}

// givingLasts is for how long a drain waits for what is being given back. A statement that hangs must not keep everything from the others.
const givingLasts = time.Second

// letGo gives all back and tells the others, once nothing else is being given back: the row that such a statement still held, the
// others passed over when they looked.
func (m *Manager) letGo(ctx context.Context) error {
	late := time.NewTimer(givingLasts)
	defer late.Stop()
	select {
	case m.giving <- struct{}{}:
		defer func() { <-m.giving }()
	case <-late.C:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	err := m.store.Release(ctx, m.replica)
	failpoint.Hit(failpoint.LeaseReleased)
	if err != nil {
		return err
	}
	if err := m.log.AnnounceRelease(ctx); err != nil {
		slog.Warn("cannot tell the other replicas that this one has let go; they look each second", "error", err)
	}
	return nil
}

// ring is a bell: it never waits, and two rings before anybody looks are one.
func ring(bell chan struct{}) {
	select {
	case bell <- struct{}{}:
	default:
	}
}
