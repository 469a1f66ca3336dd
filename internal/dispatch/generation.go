package dispatch

import (
	"context"

	"signoff/internal/audit"
	"signoff/internal/domain"
	"signoff/internal/store"
)

// The requests of people about the blocks that an execution generates.

// Edit asks for changes of the blocks. It is a prompt that never waits.
//
// Errors: those of Prompt; CodeNoGeneration (there are no blocks, or newer ones); CodeBusy (a turn runs).
func (m *Manager) Edit(
	ctx context.Context, tenant domain.TenantID, id domain.ExecutionID, prompt domain.QueuedPrompt, by domain.Actor,
	key *store.Idempotency,
) (accepted domain.QueuedPrompt, replayed bool, err error) {
	if prompt.Edit.Generation == 0 {
		newest, err := m.store.NewestGeneration(ctx, tenant, id)
		if err != nil {
			return domain.QueuedPrompt{}, false, err
		}
		if newest != nil {
			prompt.Edit.Generation = newest.Number
		}
	}
	prompt.WhenBusy = domain.WhenBusyReject
	return m.takePrompt(ctx, tenant, id, prompt, by, key)
}

// Accept takes the blocks of a generation, and closes the execution. It waits a few seconds for the end. A repeated acceptance
// gets the same answer.
//
// Errors: CodeNotFound; CodeNoGeneration; CodeBusy; CodeDocumentChanged.
func (m *Manager) Accept(
	ctx context.Context, tenant domain.TenantID, id domain.ExecutionID, acceptance store.Acceptance,
) (domain.Execution, error) {
	execution, err := m.store.Execution(ctx, tenant, id)
	if err != nil {
		return domain.Execution{}, err
	}
	_, err = m.log.Commit(ctx, store.Change{
		Execution: id, Accept: &acceptance,
		Events: []domain.Event{domain.NewEvent(id, domain.BlocksAccepted{Generation: acceptance.Generation, By: acceptance.By})},
		Audit:  []domain.AuditRecord{audit.Execution("blocks.accepted", execution, acceptance.By, audit.ByAPI)},
	})
	if err != nil || execution.Status.Terminal() {
		return execution, err
	}
	return m.awaitEnd(ctx, execution)
}
