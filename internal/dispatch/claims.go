package dispatch

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"time"

	"signoff/internal/domain"
	"signoff/internal/sessions"
	"signoff/internal/store"
)

// What nobody drives is driven on here: what was parked and woke, what was queued, what another replica has let go or lost.

const (
	// takeUpLimit gives up a round in which the database does not answer.
	takeUpLimit = 30 * time.Second
	// claimBatch is how many executions are claimed at once.
	claimBatch = 50
	// maxArriving is how many logs are read at once.
	maxArriving = 32
	// maxCalled bounds what a database that is away for long has called up.
	maxCalled = 10_000
)

// keepTakingUp looks at every tick, and when the bell rings.
func (m *Manager) keepTakingUp(ctx context.Context) {
	ticker := time.NewTicker(m.lookEvery)
	defer ticker.Stop()
	for tick := true; ; {
		if err := m.takeUp(ctx, tick); err != nil && ctx.Err() == nil {
			slog.Warn("cannot take up executions", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			tick = true
		case <-m.bell:
			tick = false
		}
	}
}

// takeUp claims executions that nobody drives, to go on from where their logs end, and gives back what this replica
// cannot drive. Between two ticks it looks only for what the bell may have rung for.
func (m *Manager) takeUp(ctx context.Context, tick bool) error {
	ctx, cancel := context.WithTimeout(ctx, takeUpLimit)
	defer cancel()
	if err := m.giveBack(ctx, tick); err != nil {
		return err
	}
	if err := m.claimCalled(ctx); err != nil {
		return err
	}
	m.mu.Lock()
	more, backlog := m.more, m.backlog > 0
	m.mu.Unlock()
	if tick || more {
		if err := m.claimLeft(ctx); err != nil {
			return err
		}
	}
	if tick || backlog {
		return m.admitQueued(ctx)
	}
	return nil
}

// call has an execution claimed at once, should nobody drive it: somebody has just written to it, and waits for what
// comes of that. Where it is driven the claim finds nothing. A session of this replica may be about to let go of it: then it is
// claimed again when that has left.
func (m *Manager) call(id domain.ExecutionID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	d, live := m.live[id]
	switch {
	case live:
		d.summoned = true
	case len(m.called) < maxCalled: // the ticks find the rest
		m.called[id] = true
		ring(m.bell)
	}
}

// lookAgain has this replica look for what another one has let go of, and not only at the next tick.
func (m *Manager) lookAgain() {
	m.mu.Lock()
	m.more = true
	m.mu.Unlock()
	ring(m.bell)
}

// claimCalled claims what was called for, also where a server that has just started finds thousands of others. What there is no place
// for waits for its turn among what is left.
func (m *Manager) claimCalled(ctx context.Context) error {
	m.mu.Lock()
	ids := slices.Sorted(maps.Keys(m.called))
	clear(m.called)
	m.mu.Unlock()
	for some := range slices.Chunk(ids, claimBatch) {
		if m.isDraining() || m.crowded() {
			return nil
		}
		claimed, err := m.store.AcquireNow(ctx, m.replica, some)
		if err != nil {
			return m.doubtful(err)
		}
		m.resumeAll(claimed)
	}
	return nil
}

// claimLeft claims what is left by whoever drove it, as many as may be on their way at once.
func (m *Manager) claimLeft(ctx context.Context) error {
	for !m.isDraining() {
		free, but := m.places()
		if free == 0 {
			return nil
		}
		claimed, err := m.store.Acquire(ctx, m.replica, free, but...)
		if err != nil {
			return m.doubtful(err)
		}
		m.resumeAll(claimed)
		if len(claimed) < free {
			return nil
		}
		if err := m.claimCalled(ctx); err != nil {
			return err
		}
	}
	return nil
}

// crowded tells whether not even what somebody waits for can be driven on.
func (m *Manager) crowded() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	crowded := len(m.live) >= woken*m.limits.Live
	m.more = m.more || crowded
	return crowded
}

// places is how many may be claimed now, and which not. Where there are none the next arrival rings for the rest.
func (m *Manager) places() (free int, but []domain.ExecutionID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for id, d := range m.live {
		if d.contested {
			but = append(but, id)
		}
	}
	free = max(0, min(claimBatch, maxArriving-m.arriving, woken*m.limits.Live-len(m.live)))
	m.more = free == 0
	return free, but
}

// Recovered implements [sessions.Dispatcher].
func (m *Manager) Recovered(s *sessions.Session) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.recovered(m.live[s.Execution().ID])
}

// recovered has the next log read in the place of this one. m.mu is held.
func (m *Manager) recovered(d *driven) {
	if !d.arriving {
		return
	}
	d.arriving = false
	m.arriving--
	if m.more {
		ring(m.bell)
	}
}

// doubtful passes on the error of a claim, which may have worked all the same.
func (m *Manager) doubtful(err error) error {
	if errors.Is(err, store.ErrUnknownOutcome) {
		m.wonder()
	}
	return err
}

func (m *Manager) resumeAll(claimed []store.Acquired) {
	for _, c := range claimed {
		m.resume(c)
	}
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
func (m *Manager) resume(c store.Acquired) {
	s, err := m.admit(c.Execution, c.Epoch)
	if err != nil {
		slog.Warn("cannot take up an execution now", "execution", c.Execution.ID, "error", err)
		m.Release(c.Execution.ID, c.Epoch)
		m.contest(c.Execution.ID)
		return
	}
	m.takeUps.Add(1)
	s.Recover(c.ForeignWrites)
	m.mu.Lock()
	m.live[c.Execution.ID].arriving = true
	m.arriving++
	m.mu.Unlock()
	slog.Info("execution taken up", "execution", c.Execution.ID, "epoch", c.Epoch, "status", c.Execution.Status)
	go m.drive(s)
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

// Release implements [sessions.Dispatcher]: it has an execution given back that this replica cannot drive on, at the next tick and until it works: this
// replica's lease is good, so nobody else would ever take it up. Not at once, since what did not work now would not
// work in the next instant either.
func (m *Manager) Release(id domain.ExecutionID, epoch int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.orphans[id] = max(m.orphans[id], epoch) // a session that leaves late knows an older one
}

// doubtLasts is for how long a commit whose answer was lost may still come through: the database may work on it long after the
// connection was given up.
const doubtLasts = 2 * time.Minute

// wonder has the next ticks look for executions that this replica owns and does not know of.
func (m *Manager) wonder() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.doubt = time.Now().Add(doubtLasts)
}

// giveBack releases what is orphaned; what does not work is tried again at the next tick.
func (m *Manager) giveBack(ctx context.Context, tick bool) error {
	if tick {
		if err := m.findUnknown(ctx); err != nil {
			return err
		}
	}
	m.giving <- struct{}{}
	defer func() { <-m.giving }()
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
	doubtful := time.Now().Before(m.doubt)
	m.mu.Unlock()
	if !doubtful {
		return nil
	}
	owned, err := m.store.Owned(ctx, m.replica)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for id, epoch := range owned {
		if _, live := m.live[id]; !live {
			m.orphans[id] = max(m.orphans[id], epoch)
		}
	}
	return nil
}
