package sessions

import (
	"context"
	"math"

	"signoff/internal/audit"
	"signoff/internal/checkpoints"
	"signoff/internal/domain"
	"signoff/internal/store"
)

// rollbacks does the rollbacks that a row of the database requests. The keeper does each one in the order of its requests, so no call begins meanwhile.
type rollbacks struct {
	core
	checkpointing *checkpointing
	control       *control
	inbox         *inbox
	begun         int // the number of the newest rollback that was handed to the keeper
}

// rolledBack is the end of a rollback.
type rolledBack struct {
	rollback domain.Rollback
	result   domain.RollbackResult
	err      error
}

// begin hands the requested rollback to the keeper. An earlier driver may have begun it.
func (r *rollbacks) begin() {
	asked := r.control.requests.Rollback
	if asked == nil || asked.Number == r.begun {
		return
	}
	r.begun = asked.Number
	r.checkpointing.open()
	keeper, rollback := r.checkpointing.keeper, *asked
	go func() {
		result, err := r.do(keeper, rollback)
		if r.claim.lease.Err() == nil { // otherwise the next driver finishes it
			_ = r.inbox.put(item{rolledBack: &rolledBack{rollback, result, err}}) // an error means that the session is over
		}
	}()
}

// do does a rollback in a goroutine of its own.
func (r *rollbacks) do(keeper *checkpoints.Keeper, rollback domain.Rollback) (domain.RollbackResult, error) {
	if keeper == nil {
		return domain.RollbackResult{}, domain.Errorf(domain.CodeNoCheckpoints, "This execution takes no checkpoints here.")
	}
	ctx := r.claim.lease
	target, err := r.resolve(ctx, rollback.Request)
	if err != nil {
		return domain.RollbackResult{}, err
	}
	journal, err := checkpoints.JournalFrom(rollback.Journal)
	if err != nil {
		return domain.RollbackResult{}, err
	}
	return keeper.Rollback(ctx, target, rollback.Request.Hash, journal,
		func(ctx context.Context, journal checkpoints.Journal) error {
			return r.engine.store.JournalRollback(ctx, store.RollbackWriter{
				Tenant: r.execution.Tenant, Execution: r.execution.ID, Number: rollback.Number, Epoch: r.claim.epoch,
			}, domain.Encode(journal))
		})
}

// resolve finds the checkpoint and the descendants that a request names.
func (r *rollbacks) resolve(ctx context.Context, request domain.RollbackRequest) (target checkpoints.Rollback, err error) {
	history := func(id domain.ExecutionID) (checkpoints.History, error) {
		log, err := r.engine.store.EventsOfType(ctx, id, domain.CheckpointCreatedType, 0, math.MaxInt32, math.MaxInt)
		if err != nil {
			return nil, err
		}
		return checkpoints.HistoryFrom(log)
	}
	own, err := history(r.execution.ID)
	if err != nil {
		return target, err
	}
	target.Paths = request.Paths
	if target.To, err = own.Numbered(request.To); err != nil || !request.Tree {
		return target, err
	}
	below, err := r.engine.store.Below(ctx, r.execution.ID)
	if err != nil {
		return target, err
	}
	target.Tree, err = checkpoints.Descendants(below, history)
	return target, err
}

// end writes the end of a rollback. A rollback that was refused has changed nothing, and the log has no event of it.
func (r *rollbacks) end(change *changeSet, done *rolledBack) {
	end := store.EndOfRollback(done.rollback.Number, done.result, done.err)
	if end.Result != nil {
		change.emit(domain.RollbackCompleted{
			Turn: r.turnNumber(), Rollback: done.rollback.Number, To: done.rollback.Request.To, Folders: done.result.Folders, By: done.rollback.Request.By,
			Error: done.result.Error,
		})
	}
	change.rollback = &end
	change.audit = append(change.audit, audit.Rollback(*r.execution, done.rollback, end.State, end.Result, audit.BySession))
	r.control.requests.Rollback = nil
}
