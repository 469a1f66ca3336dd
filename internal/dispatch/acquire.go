package dispatch

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"time"

	"signoff/internal/domain"
	"signoff/internal/store"
)

// Executions that nobody drives get a driver here: those that were parked and woke, those from the queue, and those that another
// replica has released or lost.

const (
	// acquireLimit ends a round in which the database does not answer.
	acquireLimit = 30 * time.Second
	// acquireBatch is how many executions are acquired at once.
	acquireBatch = 50
	// maxRecovering is how many logs are read at once.
	maxRecovering = 32
)

// acquireUrgent acquires the executions that somebody has just written to, before the thousands of others that a new server may
// find. If there is no room for one, it waits among the others.
func (m *Manager) acquireUrgent(ctx context.Context) error {
	m.mu.Lock()
	ids := slices.Sorted(maps.Keys(m.urgent))
	clear(m.urgent)
	m.mu.Unlock()
	for some := range slices.Chunk(ids, acquireBatch) {
		if m.isDraining() || m.crowded() {
			return nil
		}
		claimed, err := m.store.AcquireNow(ctx, m.replica, some)
		if err != nil {
			return m.suspectAfter(err)
		}
		m.recoverAll(claimed)
	}
	return nil
}

// acquireReleased acquires the executions that their drivers have left, as many as may be recovered at once.
func (m *Manager) acquireReleased(ctx context.Context) error {
	for !m.isDraining() {
		free, but := m.places()
		if free == 0 {
			return nil
		}
		claimed, err := m.store.Acquire(ctx, m.replica, free, but...)
		if err != nil {
			return m.suspectAfter(err)
		}
		m.recoverAll(claimed)
		if len(claimed) < free {
			return nil
		}
		if err := m.acquireUrgent(ctx); err != nil {
			return err
		}
	}
	return nil
}

// crowded tells whether there is no room even for an execution that somebody waits for.
func (m *Manager) crowded() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	crowded := m.placesTaken() >= woken*m.limits.Live
	m.more = m.more || crowded
	return crowded
}

// places is how many executions may be acquired now, and which may not. If there is no place, the next session that has recovered
// notifies the manager.
func (m *Manager) places() (free int, but []domain.ExecutionID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for id, d := range m.live {
		if d.contested {
			but = append(but, id)
		}
	}
	free = max(0, min(acquireBatch, maxRecovering-m.recovering, woken*m.limits.Live-m.placesTaken()))
	m.more = free == 0
	return free, but
}

func (m *Manager) recoverAll(claimed []store.Acquired) {
	for _, c := range claimed {
		m.recover(c)
	}
}

// recover drives an acquired execution. Its session reads the log, so that a long one holds up nobody else.
func (m *Manager) recover(c store.Acquired) {
	s, err := m.admit(c.Execution, c.Epoch)
	if err != nil {
		slog.Warn("cannot acquire an execution now", "execution", c.Execution.ID, "error", err)
		m.Release(c.Execution.ID, c.Epoch)
		m.contest(c.Execution.ID)
		return
	}
	m.counts.acquired.Add(1)
	s.Recover(c.ForeignWrites)
	m.mu.Lock()
	m.live[c.Execution.ID].recovering = true
	m.recovering++
	m.mu.Unlock()
	slog.Info("execution acquired", "execution", c.Execution.ID, "epoch", c.Epoch, "status", c.Execution.Status)
	go m.drive(s)
}

// releaseOrphans releases the orphans; a release that fails is repeated at the next tick.
func (m *Manager) releaseOrphans(ctx context.Context, tick bool) error {
	if tick {
		if err := m.findUnknown(ctx); err != nil {
			return err
		}
	}
	m.releasing <- struct{}{}
	defer func() { <-m.releasing }()
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

// findUnknown finds the executions that this replica owns without knowing: a claim or a creation may have worked although its
// answer was lost.
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
