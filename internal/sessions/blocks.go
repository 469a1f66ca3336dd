package sessions

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"signoff/internal/audit"
	"signoff/internal/domain"
	"signoff/internal/store"
)

// Generations: blocks that the agent hands in, and that a person accepts or wants changed. The call that has handed them in stays
// open after its turn, so that the model is told of the outcome, and is not asked before there is one.

// blocks are the blocks that the agent hands in, and their acceptance.
type blocks struct {
	core
	recorder *recorder
	budget   *budget
	calls    *openCalls
	turn     *turnRun
	accepted bool // somebody has accepted the newest generation
	document *domain.Document
}

// runbook is the runbook that the agent works on in this turn.
func (b *blocks) runbook() domain.Runbook {
	runbook := b.execution.Request.Runbook
	runbook.Document = cmp.Or(b.document, runbook.Document)
	return runbook
}

func (b *blocks) generates() bool { return b.execution.Request.Kind == domain.KindGeneration }

// submitted tells whether the turn has handed in blocks.
func (b *blocks) submitted() bool {
	return b.calls.any(func(c *call) bool { return c.generation() > 0 })
}

// keeps tells whether there are blocks to accept, however the turn ended: earlier blocks stay until newer ones take their place.
func (b *blocks) keeps() bool { return b.generates() && b.progress.Generations > 0 }

// These are the outcomes that the model reads.
const (
	blocksAccepted = "The blocks were accepted."
	blocksDropped  = "The blocks were not accepted."
	blocksEdited   = "The blocks were shown to the person, who asks for changes."
)

// submittedOutcome is the outcome of a call that has handed in blocks.
func (b *blocks) submittedOutcome(c *call, edits int) domain.ToolCallCompleted {
	switch {
	case b.accepted:
		return domain.ToolCallCompleted{ToolCallID: c.ID, Outcome: domain.OutcomeSucceeded, Output: blocksAccepted}
	case edits == c.generation():
		return domain.ToolCallCompleted{ToolCallID: c.ID, Outcome: domain.OutcomeSucceeded, Output: blocksEdited}
	}
	failure := domain.Failure{Code: domain.CodeCancelled, Message: blocksDropped}
	return domain.ToolCallCompleted{ToolCallID: c.ID, Outcome: domain.OutcomeCancelled, Output: failure.Message, Error: &failure}
}

func (b *blocks) readAcceptance() error {
	ctx, cancel := b.claim.reading()
	defer cancel()
	newest, err := b.engine.store.NewestGeneration(ctx, b.execution.Tenant, b.execution.ID)
	if err == nil {
		b.accepted = newest != nil && newest.State == domain.GenerationAccepted
	}
	return err
}

// supersede sees to it that only the newest execution generates blocks for its place. Each execution looks after its creation, so
// of two that were created at once at least one sees the other.
func (b *blocks) supersede() (by domain.ExecutionID, err error) {
	at := b.execution.Request.Place()
	if at == "" {
		return "", nil
	}
	ctx, cancel := b.claim.reading()
	defer cancel()
	live, err := b.engine.store.LiveAt(ctx, b.execution.Tenant, at)
	if err != nil || len(live) == 0 {
		return "", err
	}
	newest := live[len(live)-1]
	for _, id := range live {
		if id == newest || id == b.execution.ID {
			continue
		}
		if err := b.cancelOther(ctx, id, newest); err != nil {
			return "", err
		}
	}
	if newest != b.execution.ID {
		return newest, nil
	}
	return "", nil
}

func (b *blocks) cancelOther(ctx context.Context, id, newest domain.ExecutionID) error {
	cancel := b.supersededBy(newest)
	other := domain.Execution{ID: id, Request: domain.Request{RunbookID: b.execution.Request.RunbookID}}
	_, err := b.engine.log.Commit(ctx, store.Change{
		Execution: id, Cancel: cancel,
		Audit: []domain.AuditRecord{audit.Execution("execution.cancelled", other, cancel.By, audit.BySession)},
	})
	if domain.CodeOf(err) == domain.CodeStale && !errors.Is(err, store.ErrCommitUnknown) {
		return nil // it has ended by itself
	}
	return err
}

// supersededBy is the request to cancel. It names the key that created the newer execution, if that is this one.
func (b *blocks) supersededBy(newest domain.ExecutionID) *store.CancelRequest {
	by := domain.Actor{Name: "execution " + string(newest)}
	if newest == b.execution.ID {
		by.KeyID = b.execution.ByKey
	}
	return &store.CancelRequest{Reason: "superseded by " + string(newest), By: by}
}

// submit takes blocks. A call gets one number: after a restart, the agent hands the same call in again.
func (b *blocks) submit(change *changeSet, handed *submission) {
	c, open := b.calls.open[handed.call.ID]
	switch {
	case b.turn.handsOff():
		return // the asker's context ends soon; it hands the blocks in again to the next driver
	case b.turn.stopped() || !b.progress.Turn.Open || b.turn.result != nil || !open || b.budget.spent != nil:
		handed.reply <- domain.Errorf(domain.CodeConflict, "The blocks come too late: the turn is over.")
		return
	case c.generation() == 0:
		b.add(change, c, handed)
	}
	change.replies = append(change.replies, func() { handed.reply <- nil })
}

func (b *blocks) add(change *changeSet, c *call, handed *submission) {
	runbook := b.runbook()
	generation := domain.Generation{
		Execution: b.execution.ID, Number: b.progress.Generations + 1, State: domain.GenerationSubmitted, Turn: b.progress.Turn.Number, ToolCallID: c.ID,
		Blocks: b.engine.masker.JSON(handed.blocks), Created: time.Now().UTC().Truncate(time.Microsecond),
	}
	if runbook.Document != nil {
		generation.DocumentRevision = runbook.Document.Revision
	}
	change.advanced = true
	change.generated = &generation
	change.emit(domain.BlocksGenerated{
		Generation: generation.Number, Turn: generation.Turn, ToolCallID: generation.ToolCallID, Blocks: generation.Blocks,
		InsertAfter: runbook.InsertAfter, DocumentRevision: generation.DocumentRevision,
	})
}

// acceptedMeanwhile tells whether somebody accepted the blocks while the end was written.
func (b *blocks) acceptedMeanwhile() bool {
	before := b.accepted
	return b.keeps() && b.readAcceptance() == nil && b.accepted && !before
}

// closeSubmitted ends the call that has handed in blocks, since its outcome is known now. The turn changes the generation edits;
// 0: none.
func (b *blocks) closeSubmitted(change *changeSet, edits int) {
	for _, id := range slices.Sorted(maps.Keys(b.calls.open)) {
		if c := b.calls.open[id]; c.generation() > 0 {
			change.complete(c, b.submittedOutcome(c, edits))
		}
	}
}
