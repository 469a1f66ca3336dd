package sessions

import (
	"bytes"
	"context"
	"errors"
	"io"
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
	"signoff/internal/store"
	"signoff/internal/workspace"
)

// Store is what the manager and its sessions read, and the leases.
type Store interface {
	Execution(ctx context.Context, tenant domain.TenantID, id domain.ExecutionID) (domain.Execution, error)
	ExecutionByKey(ctx context.Context, tenant domain.TenantID, key string) (domain.Execution, []byte, error)
	Events(ctx context.Context, id domain.ExecutionID, after int64, limit int) ([]domain.Event, error)
	ApprovalsOf(ctx context.Context, id domain.ExecutionID) ([]domain.Approval, error)
	Rules(ctx context.Context, tenant domain.TenantID, id domain.ExecutionID) ([]domain.PermissionRule, error)
	Memory(ctx context.Context, tenant domain.TenantID, scope domain.MemoryScope) (domain.Memory, error)
	SaveMemory(ctx context.Context, tenant domain.TenantID, save store.MemorySave) (domain.Memory, error)
	ControlRequests(ctx context.Context, id domain.ExecutionID) (store.ControlRequests, error)
	ClientCalls(ctx context.Context, id domain.ExecutionID, ids ...string) ([]domain.ClientCall, error)
	NewestGeneration(ctx context.Context, tenant domain.TenantID, id domain.ExecutionID) (*domain.Generation, error)
	Generations(ctx context.Context, tenant domain.TenantID, id domain.ExecutionID) ([]domain.Generation, error)
	EditedDocument(ctx context.Context, id domain.ExecutionID) (*domain.Document, error)
	LiveAt(ctx context.Context, tenant domain.TenantID, place string) ([]domain.ExecutionID, error)
	PromptByKey(ctx context.Context, id domain.ExecutionID, key string) (domain.QueuedPrompt, []byte, error)
	Delete(ctx context.Context, tenant domain.TenantID, id domain.ExecutionID, record domain.AuditRecord) error
	Deleted(ctx context.Context, limit int) ([]store.Deleted, error)
	Remove(ctx context.Context, id domain.ExecutionID) (store.Removal, error)
	Heartbeat(ctx context.Context, replica store.ReplicaID, ttl time.Duration) error
	Acquire(ctx context.Context, replica store.ReplicaID, limit int, but ...domain.ExecutionID) ([]store.Acquired, error)
	AcquireNow(ctx context.Context, replica store.ReplicaID, ids []domain.ExecutionID) ([]store.Acquired, error)
	AcquireQueued(ctx context.Context, replica store.ReplicaID, limit, each int, live map[domain.TenantID]int) ([]store.Acquired, error)
	Waiting(ctx context.Context, tenant domain.TenantID) (own, all int, err error)
	Head(ctx context.Context, id domain.ExecutionID) (store.Head, error)
	Owned(ctx context.Context, replica store.ReplicaID) (map[domain.ExecutionID]int64, error)
	Release(ctx context.Context, replica store.ReplicaID) error
	ReleaseExecution(ctx context.Context, id domain.ExecutionID, epoch int64) error
	Shared() bool
}

var _ Store = (*store.Store)(nil)

// OpenAgent makes the agent of an execution. It may take its time, and gives up when ctx ends. An agent session that it
// cannot take up is domain.CodeNotResumable.
type OpenAgent func(ctx context.Context, opening domain.Opening) (domain.Agent, error)

// NoSandbox is the name of a sandbox that can confine nothing and so runs nothing.
const NoSandbox = "none"

// Sandbox runs the commands of tools. What [domain.Command.Denied] lists, it keeps from them, or it does not begin.
type Sandbox interface {
	approvals.Isolation
	Name() string
	Run(ctx context.Context, command domain.Command, output io.Writer) (domain.CommandResult, error)
}

// Vault gives commands the secrets that they name.
type Vault interface {
	// Environment returns NAME=value for each name, or why one cannot be had.
	Environment(names []string) ([]string, error)
}

// Config is how a manager is wired.
type Config struct {
	Replica    store.ReplicaID
	LeaseTTL   time.Duration // 0 = 10 s
	LookEvery  time.Duration // how late at most an execution goes on that woke by itself, or that another replica let go; 0 = 1 s
	ParkAfter  time.Duration // how long an execution that waits for somebody keeps its session; 0 = 1 min
	Limits     Limits
	DrainGrace time.Duration // how long running calls may take to end on a drain; 0 = 10 s
	Agents     map[domain.SourceType]OpenAgent
	Sandbox    Sandbox
	Workspace  *workspace.Workspace
	Vault      Vault
	Masker     *secrets.Masker // of what is written; nil knows only the shapes of common keys
	Judge      Judge           // nil = approvals.Policy.Judge

	// CreateWithin is how long the database may take for a creation; then the answer is that it takes too long. 0 = 1.9 s.
	CreateWithin time.Duration

	// Trust hears at each renewal until when this replica's lease is good (the zero time: for ever), and at its end, that
	// it is over. What the replica runs must be dead by then, also when the replica itself stands still. nil tells nobody.
	Trust func(until time.Time)

	// committed hears of each commit of a session, in its goroutine; for tests.
	committed func(id domain.ExecutionID, seq int64, progress *domain.Progress)
	// wallClock tells the time of day; time.Now but in tests.
	wallClock func() time.Time
}

// Manager starts, cancels and takes up executions. Its methods may be called at once.
type Manager struct {
	*dependencies // of its sessions

	replica      store.ReplicaID
	ttl          time.Duration
	lookEvery    time.Duration
	createWithin time.Duration

	running sync.WaitGroup

	bell    chan struct{} // there may be something to take up
	giving  chan struct{} // full while executions are given back
	deleted chan struct{} // there may be something to remove

	takeUps, refusals atomic.Int64 // for the metrics

	mu       sync.Mutex
	live     map[domain.ExecutionID]*session // from before the first commit until the agent is gone
	tenants  map[domain.TenantID]int         // how many of them each has
	arriving int                             // how many of them still read what an earlier driver left
	more     bool                            // there was more to take up than there was room for
	backlog  int                             // how often an execution may have been queued since the queue was last found empty
	called   map[domain.ExecutionID]bool     // somebody waits for them, and perhaps nobody drives them
	orphans  map[domain.ExecutionID]int64    // to be given back, by epoch
	doubt    time.Time                       // until when this replica may own what it does not know of
}

// NewManager returns a manager that drives nothing until Run is called.
func NewManager(config Config, s Store, log *events.Log) *Manager {
	limits := config.Limits.withDefaults()
	m := &Manager{
		dependencies: &dependencies{
			store: s, log: log, agents: config.Agents, sandbox: config.Sandbox, workspace: config.Workspace, vault: config.Vault,
			masker: config.Masker, judges: config.Judge, limits: limits, parkAfter: config.ParkAfter, drainGrace: config.DrainGrace,
			commands: newCommandQueue(limits.Commands), draining: make(chan struct{}), committed: config.committed, wallClock: config.wallClock,
		},
		replica: config.Replica, ttl: config.LeaseTTL, lookEvery: config.LookEvery, createWithin: config.CreateWithin,
		live: map[domain.ExecutionID]*session{}, tenants: map[domain.TenantID]int{},
		called: map[domain.ExecutionID]bool{}, orphans: map[domain.ExecutionID]int64{},
		bell: make(chan struct{}, 1), giving: make(chan struct{}, 1), deleted: make(chan struct{}, 1),
	}
	m.dispatch = m
	if m.replica == "" {
		m.replica = store.ReplicaID(uuid.NewString())
	}
	if m.wallClock == nil {
		m.wallClock = time.Now
	}
	if m.judges == nil {
		m.judges = approvals.Policy.Judge
	}
	if m.ttl == 0 {
		m.ttl = 10 * time.Second
	}
	if m.createWithin == 0 {
		m.createWithin = creationTime
	}
	if m.drainGrace == 0 {
		m.drainGrace = 10 * time.Second
	}
	if m.lookEvery == 0 {
		m.lookEvery = min(m.ttl/3, time.Second)
	}
	if m.parkAfter == 0 {
		m.parkAfter = time.Minute
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
	if err := s.progress.Apply(creation.Events[0]); err != nil {
		panic(err) // it was made here
	}
	failpoint.Hit(failpoint.SessionAdmitted)
	beginning := s.beginWith(&creation)
	beginning.passBefore()
	_, err = m.log.CommitOr(ctx, creation, func(_ store.Outcome, err error) { m.createdLate(ctx, s, key, err) })
	switch {
	case errors.Is(err, events.ErrUnderWay):
		return domain.Execution{}, false, underWay(ctx)
	case err != nil:
		m.dismiss(s)
		return m.notStarted(ctx, tenant, key, err)
	}
	beginning.passAfter()
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
		Create:    &store.Creation{Execution: execution, Owner: m.replica, Idempotency: key, Place: place(request)},
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
func (m *Manager) admit(execution domain.Execution, epoch int64) (*session, error) {
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
		return nil, domain.NotResumable("The execution %s is going on with that agent session.", other.execution.ID)
	}
	s := m.session(execution, epoch, lease)
	m.live[execution.ID] = s
	m.tenants[execution.Tenant]++
	m.running.Add(1)
	return s, nil
}

// driving finds the session that goes on with the same agent session as an execution. The database sees to it that there is one such
// execution, but the agent of one that has ended may still be here: two processes would write one transcript. m.mu is held.
func (m *Manager) driving(execution domain.Execution) *session {
	wanted := execution.Request
	if wanted.ResumeSession == "" {
		return nil
	}
	for _, s := range m.live {
		if r := s.execution.Request; r.ResumeSession == wanted.ResumeSession &&
			r.Source.Command == wanted.Source.Command && s.execution.Tenant == execution.Tenant {
			return s
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
	if ended, err := m.store.Execution(ctx, other.execution.Tenant, other.execution.ID); err != nil || !ended.Status.Terminal() {
		return
	}
	select {
	case <-other.claim.departed:
	case <-time.After(stopGrace):
	case <-ctx.Done():
	}
}

// drive runs an admitted session to its end.
func (m *Manager) drive(s *session) {
	defer m.running.Done()
	s.run()
}

// dismiss lets an admitted session go that was never driven.
func (m *Manager) dismiss(s *session) {
	defer m.running.Done()
	s.control.watcher.Close()
	s.closeAgent()
	m.left(s)
}

// session returns a session that listens already, so that nothing is missed between the first commit and its start.
func (m *Manager) session(execution domain.Execution, epoch int64, lease context.Context) *session {
	watcher := m.log.Watch(execution.ID)
	policy, _ := approvals.NewPolicy(execution.Request) // one that cannot be read refuses every call
	return &session{
		deps: m.dependencies, execution: execution,
		claim:    claim{epoch: epoch, lease: lease, departed: make(chan struct{})},
		progress: progressOf(execution), clock: clock{wall: m.wallClock}, length: execution.LastSeq,
		agent:   agentHandle{session: execution.AgentSession, loading: execution.Request.ResumeSession},
		control: control{watcher: watcher, seen: watcher.ForeignWrites(), quiet: time.Now()},
		inbox:   newInbox(), masking: masking{masker: m.masker, streams: map[domain.TextKey]*secrets.Stream{}},
		calls: map[string]*call{}, decided: map[string]domain.Approval{},
		rules: rules{policy: policy, verdicts: make(chan struct{}, 1)},
	}
}

// progressOf is what is known of an execution before its log is read.
func progressOf(execution domain.Execution) *domain.Progress {
	p := domain.NewProgress()
	p.Status, p.Cause, p.Usage = execution.Status, execution.Cause, execution.Usage
	p.Turn.Number, p.Turn.Rounds = execution.Turn, execution.Rounds
	return p
}

func (m *Manager) left(s *session) {
	failpoint.Hit(failpoint.SessionLeft)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.live[s.execution.ID] == s {
		m.vacated(s.execution.Tenant)
		delete(m.live, s.execution.ID)
		if m.tenants[s.execution.Tenant]--; m.tenants[s.execution.Tenant] == 0 {
			delete(m.tenants, s.execution.Tenant)
		}
	}
	m.arrivedLocked(s)
	if s.claim.summoned && (s.claim.released || s.claim.parked) {
		m.called[s.execution.ID] = true
	}
	if _, orphaned := m.orphans[s.execution.ID]; orphaned || m.backlog > 0 || m.more || s.claim.summoned {
		ring(m.bell)
	}
	close(s.claim.departed)
}

func (d *dependencies) open(ctx context.Context, opening domain.Opening) (domain.Agent, error) {
	source := opening.Execution.Request.Source.Type
	open, known := d.agents[source]
	if !known {
		return nil, domain.Errorf(domain.CodeInvalid, "This server has no agents of type %s.", source)
	}
	return open(ctx, opening)
}

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
