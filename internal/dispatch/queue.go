package dispatch

import (
	"context"
	"errors"
	"maps"

	"signoff/internal/domain"
	"signoff/internal/events"
	"signoff/internal/store"
)

// A server drives so many executions at once and no more. What is created beyond that is queued: a row that whichever replica
// has room takes up. So overload costs disk, and then it is refused; it never becomes memory.

// Limits bounds the load that a server takes on. 0 is the default. Sessions that begin while the queue is read may exceed the bounds of
// sessions for a moment, and so may those that wake.
type Limits struct {
	Live            int // sessions of this server; 0 = 1000
	LivePerTenant   int // of them, of one tenant; 0 = all
	Queued          int // executions in the queue, which all replicas share; 0 = 10,000; see [NoQueue]
	QueuedPerTenant int // of one tenant; 0 = 1000
	Events          int // in the log of an execution; 0 = 2,000,000. Some hundreds of them are kept for its end
	Commands        int // that this server runs at once; 0 = 16
}

// NoQueue as a bound of the queue refuses what there is no room for at once.
const NoQueue = -1

func (l Limits) withDefaults() Limits {
	set := func(limit *int, usual int) {
		if *limit == 0 {
			*limit = usual
		}
	}
	set(&l.Live, 1000)
	set(&l.LivePerTenant, l.Live)
	set(&l.Queued, 10_000)
	set(&l.QueuedPerTenant, 1000)
	set(&l.Events, 2_000_000)
	set(&l.Commands, 16)
	return l
}

// woken is how many times the limit a server drives when what was parked wakes: what was admitted once does not queue again, since
// somebody waits for it, but all at once must not be too much either.
const woken = 2

var errNoRoom = errors.New("dispatch: no room for another session")

// room tells whether there is room for one more session of tenant, and nobody who waits for it. m.mu is held.
func (m *Manager) room(tenant domain.TenantID) bool {
	return m.backlog == 0 && len(m.live) < m.limits.Live && m.tenants[tenant] < m.limits.LivePerTenant
}

// enqueue creates an execution that waits for room.
//
// Errors: CodeTooMany where the tenant's part of the queue is full, CodeOverloaded where all of it is.
func (m *Manager) enqueue(
	ctx context.Context, execution domain.Execution, creation store.Change, key *store.Idempotency,
) (domain.Execution, error) {
	own, all, err := m.store.Waiting(ctx, execution.Tenant)
	switch {
	case err != nil:
		return execution, err
	case m.limits.QueuedPerTenant == NoQueue:
		m.refusals.Add(1)
		return execution, domain.Errorf(domain.CodeTooMany, "All room is taken, and this server queues nothing.")
	case own >= m.limits.QueuedPerTenant:
		m.refusals.Add(1)
		return execution, domain.Errorf(domain.CodeTooMany, "All room is taken, and %d executions wait already; try again when some of them have begun.", own)
	case all >= m.limits.Queued:
		m.refusals.Add(1)
		return execution, domain.Errorf(domain.CodeOverloaded, "All room is taken, and the queue of all replicas is full; try again later.")
	}
	creation.Create.Owner, creation.Create.Queued = "", true
	_, err = m.log.CommitOr(ctx, creation, func(_ store.Outcome, err error) { m.queuedLate(ctx, execution, key, err) })
	if errors.Is(err, events.ErrUnderWay) {
		return execution, underWay(ctx)
	}
	if err != nil {
		return execution, err
	}
	m.enqueued()
	execution.LastSeq = 1
	return execution, nil
}

// enqueued has the queue looked at: somebody may have left meanwhile.
func (m *Manager) enqueued() {
	m.mu.Lock()
	m.backlog++
	m.mu.Unlock()
	ring(m.bell)
}

// admitQueued takes up executions that wait for room, as far as there is any.
func (m *Manager) admitQueued(ctx context.Context) error {
	for !m.isDraining() {
		free, live := m.vacancies()
		if free == 0 {
			return nil
		}
		seen := m.queueings()
		claimed, err := m.store.AcquireQueued(ctx, m.replica, free, m.limits.LivePerTenant, live)
		if err != nil {
			return m.doubtful(err)
		}
		m.resumeAll(claimed)
		if len(claimed) == 0 {
			m.noBacklog(seen)
			return nil
		}
	}
	return nil
}

func (m *Manager) queueings() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.backlog
}

// noBacklog notes that the queue had nothing to take, but for what came while it was read: who is new must not go before that.
func (m *Manager) noBacklog(seen int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.backlog -= seen
}

// vacated has the queue looked at where it may have waited for the session that leaves: what was queued on another replica this one
// has not heard of, and nobody new is to go before it. m.mu is held.
func (m *Manager) vacated(tenant domain.TenantID) {
	full := len(m.live) >= m.limits.Live || m.tenants[tenant] >= m.limits.LivePerTenant
	if full && m.limits.Queued > 0 {
		m.backlog++
	}
}

// vacancies is for how many sessions there is room, and how many each tenant has.
func (m *Manager) vacancies() (free int, live map[domain.TenantID]int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	free = min(claimBatch, m.limits.Live-len(m.live))
	if free <= 0 {
		return 0, nil
	}
	return free, maps.Clone(m.tenants)
}
