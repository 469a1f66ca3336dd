package dispatch

import (
	"context"
	"maps"

	"signoff/internal/domain"
)

// admitQueued acquires executions that wait for room, as long as there is room.
func (m *Manager) admitQueued(ctx context.Context) error {
	for !m.isDraining() {
		free, live := m.vacancies()
		if free == 0 {
			return nil
		}
		m.mu.Lock()
		seen := m.backlog
		m.mu.Unlock()
		claimed, err := m.store.AcquireQueued(ctx, m.replica, free, m.limits.LivePerTenant, live)
		if err != nil {
			return m.suspectAfter(err)
		}
		m.recoverAll(claimed)
		if len(claimed) == 0 {
			m.mu.Lock()
			m.backlog -= seen // not to 0: executions that were queued while the queue was read come before new ones
			m.mu.Unlock()
			return nil
		}
	}
	return nil
}

// vacancies is the number of sessions for which there is room, and how many places each tenant has taken.
func (m *Manager) vacancies() (free int, live map[domain.TenantID]int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	free = min(acquireBatch, m.limits.Live-m.placesTaken())
	if free <= 0 {
		return 0, nil
	}
	return free, maps.Clone(m.tenants)
}
