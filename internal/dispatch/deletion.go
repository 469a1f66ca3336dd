package dispatch

import (
	"context"
	"log/slog"
	"time"

	"signoff/internal/audit"
	"signoff/internal/domain"
	"signoff/internal/failpoint"
	"signoff/internal/store"
)

// An execution is deleted in two steps. The first is one short transaction: after it the execution is gone for clients, whatever
// happens to this server. The second removes the rows, a portion in each transaction, so that no other writer waits for more than
// one portion. It begins when the execution has ended, and any replica continues it.

// Delete deletes a root with all executions below it; live ones are cancelled. A child is refused as CodeConflict. When it returns, nothing shows the execution any more, and its rows are
// removed soon: see [Manager.AwaitRemoval]. Until the last row is gone, a second deletion is no error.
func (m *Manager) Delete(ctx context.Context, tenant domain.TenantID, id domain.ExecutionID, by domain.Actor) error {
	execution, err := m.store.Execution(ctx, tenant, id)
	if domain.CodeOf(err) == domain.CodeNotFound { // the store knows whether it is being deleted
		execution, err = domain.Execution{ID: id, Tenant: tenant}, nil
	}
	if err != nil {
		return err
	}
	if err := m.store.Delete(ctx, tenant, id, audit.Execution("execution.deleted", execution, by, audit.ByAPI)); err != nil {
		return err
	}
	below, err := m.store.Below(ctx, id)
	for _, id := range append(below, id) {
		m.log.Forget(id)
		m.acquireSoon(id) // an execution must end before its rows are removed, so it needs a driver
	}
	notify(m.deleted)
	return err
}

// AwaitRemoval waits until no row of a deleted execution is left, for at most wait, or until this server drains. It tells whether
// all rows are gone.
func (m *Manager) AwaitRemoval(ctx context.Context, id domain.ExecutionID, wait time.Duration) (gone bool, err error) {
	watcher := m.log.Watch(id)
	defer watcher.Close()
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	for {
		_, err := m.store.Head(ctx, id)
		switch {
		case domain.CodeOf(err) == domain.CodeNotFound:
			return true, nil
		case ctx.Err() != nil:
			return false, nil
		case err != nil:
			return false, err
		}
		select {
		case <-watcher.Notified():
		case <-m.draining:
			return false, nil
		case <-ctx.Done():
			return false, nil
		}
	}
}

const (
	// removeTicks is how many ticks pass between two looks for deleted executions: only a replica that died leaves any behind.
	removeTicks = 10
	// removeBatch is how many deleted executions take turns, a portion each: a large one does not hold up the small ones.
	removeBatch = 50
	// firstLook is the first pause before the remover looks again for an execution that has not ended, or that another replica
	// removes. The pause doubles.
	firstLook = 50 * time.Millisecond
)

// keepRemoving removes deleted executions: at once those that an earlier server has left, and then whenever somebody deletes one.
func (m *Manager) keepRemoving(ctx context.Context) {
	pause := firstLook
	for {
		m.removeUnused(ctx)
		left, err := m.removeDeleted(ctx)
		if err != nil && ctx.Err() == nil {
			slog.Warn("cannot remove deleted executions", "error", err)
		}
		if !left {
			pause = removeTicks * m.lookEvery
		}
		again := time.NewTimer(pause)
		select {
		case <-m.deleted:
			pause = firstLook
		case <-again.C:
			pause = min(2*pause, removeTicks*m.lookEvery)
		case <-ctx.Done():
		}
		if again.Stop(); ctx.Err() != nil {
			return
		}
	}
}

// removeDeleted removes portions in turn until none can be removed, and tells whether there are deleted executions left.
func (m *Manager) removeDeleted(ctx context.Context) (left bool, err error) {
	for {
		deleted, err := m.store.Deleted(ctx, removeBatch)
		if err != nil || len(deleted) == 0 {
			return err == nil && len(deleted) > 0, err
		}
		progress := false
		for _, d := range deleted {
			if !d.Ended { // and none behind it has
				break
			}
			removed, err := m.removePortion(ctx, d.Execution)
			if err != nil {
				slog.Warn("cannot remove a deleted execution", "execution", d.Execution, "error", err)
			}
			progress = progress || removed
		}
		if err := ctx.Err(); err != nil || !progress {
			return true, err
		}
	}
}

// removeUnused removes the own folders of executions that have ended here and do not keep them. [Sweeper] removes the others.
func (m *Manager) removeUnused(ctx context.Context) {
	m.mu.Lock()
	unused := m.unused
	m.unused = nil
	m.mu.Unlock()
	if len(unused) == 0 {
		return
	}
	states, err := m.store.OwnFolders(ctx, unused)
	if err != nil {
		slog.Warn("cannot look up who keeps an own folder, and will try again in a minute", "error", err)
		return
	}
	for _, id := range unused {
		state, known := states[id]
		if known && (!state.Ended || state.Keep) { // the execution goes on: its session has only released it
			continue
		}
		if err := m.folders.RemoveUnused(ctx, m.store, id); err != nil {
			slog.Warn("cannot remove the own folder of an execution, and will try again in a minute", "execution", id, "error", err)
		}
	}
}

func (m *Manager) removePortion(ctx context.Context, id domain.ExecutionID) (progress bool, err error) {
	failpoint.Hit(failpoint.BeforeRemoval)
	removal, err := m.store.Remove(ctx, id)
	if removal == store.RemovalComplete {
		if m.folders != nil { // before anybody hears that the execution is gone
			if err := m.folders.RemoveUnused(ctx, m.store, id); err != nil {
				slog.Warn("cannot remove the own folder of an execution, and will try again within hours", "execution", id, "error", err)
			}
		}
		m.log.Forget(id) // whoever waits for it looks again
		m.removed()
	}
	return removal != store.RemovalNone, err
}
