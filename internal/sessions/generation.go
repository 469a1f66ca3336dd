package sessions

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"signoff/internal/audit"
	"signoff/internal/domain"
	"signoff/internal/store"
)

// Generations: blocks that the agent hands in, and a person accepts or wants changed. The call that handed them in stays
// open over the end of its turn, so that the model hears of the outcome, and is not asked before there is one.

// runbook is what the agent works on, in this turn.
func (s *Session) runbook() domain.Runbook {
	runbook := s.execution.Request.Runbook
	runbook.Document = cmp.Or(s.blocks.document, runbook.Document)
	return runbook
}

func (s *Session) generates() bool { return s.execution.Request.Kind == domain.KindGeneration }

// submitted tells whether the turn has handed in blocks.
func (s *Session) submitted() bool {
	return s.calls.any(func(c *call) bool { return c.generation() > 0 })
}

// keepsBlocks tells whether there is something to accept, whatever became of the turn: the blocks of before stay until newer ones
// take their place.
func (s *Session) keepsBlocks() bool { return s.generates() && s.progress.Generations > 0 }

// what the model is told of the blocks that it has handed in.
const (
	blocksAccepted = "The blocks were accepted."
	blocksDropped  = "The blocks were not accepted."
	blocksEdited   = "The blocks were shown to the person, who asks for changes."
)

// submittedOutcome is what becomes of a call that has handed in blocks.
func (s *Session) submittedOutcome(c *call, edits int) domain.ToolCallCompleted {
	switch {
	case s.blocks.accepted:
		return domain.ToolCallCompleted{ToolCallID: c.ID, Outcome: domain.OutcomeSucceeded, Output: blocksAccepted}
	case edits == c.generation():
		return domain.ToolCallCompleted{ToolCallID: c.ID, Outcome: domain.OutcomeSucceeded, Output: blocksEdited}
	}
	failure := domain.Failure{Code: domain.CodeCancelled, Message: blocksDropped}
	return domain.ToolCallCompleted{ToolCallID: c.ID, Outcome: domain.OutcomeCancelled, Output: failure.Message, Error: &failure}
}

func (s *Session) readAcceptance() error {
	ctx, cancel := s.claim.reading()
	defer cancel()
	newest, err := s.engine.store.NewestGeneration(ctx, s.execution.Tenant, s.execution.ID)
	if err == nil {
		s.blocks.accepted = newest != nil && newest.State == domain.GenerationAccepted
	}
	return err
}

// supersede sees to it that one execution alone generates blocks for its place: the newest. Each one looks after it was
// created, so of two that were created at once at least one sees the other.
func (s *Session) supersede() (by domain.ExecutionID, err error) {
	at := s.execution.Request.Place()
	if at == "" {
		return "", nil
	}
	ctx, cancel := s.claim.reading()
	defer cancel()
	live, err := s.engine.store.LiveAt(ctx, s.execution.Tenant, at)
	if err != nil || len(live) == 0 {
		return "", err
	}
	newest := live[len(live)-1]
	for _, id := range live {
		if id == newest || id == s.execution.ID {
			continue
		}
		if err := s.cancelOther(ctx, id, newest); err != nil {
			return "", err
		}
	}
	if newest != s.execution.ID {
		return newest, nil
	}
	return "", nil
}

func (s *Session) cancelOther(ctx context.Context, id, newest domain.ExecutionID) error {
	wish := s.supersededBy(newest)
	other := domain.Execution{ID: id, Request: domain.Request{RunbookID: s.execution.Request.RunbookID}}
	_, err := s.engine.log.Commit(ctx, store.Change{
		Execution: id, Cancel: wish,
		Audit: []domain.AuditRecord{audit.Execution("execution.cancelled", other, wish.By, audit.BySession)},
	})
	if domain.CodeOf(err) == domain.CodeStale && !errors.Is(err, store.ErrCommitUnknown) {
		return nil // it has ended by itself
	}
	return err
}

// supersededBy is the wish for an end, in the name of the key that has created the newer execution, where this is that one.
func (s *Session) supersededBy(newest domain.ExecutionID) *store.CancelRequest {
	by := domain.Actor{Name: "execution " + string(newest)}
	if newest == s.execution.ID {
		by.KeyID = s.execution.ByKey
	}
	return &store.CancelRequest{Reason: "superseded by " + string(newest), By: by}
}

// settling goes on with what is next, unless another execution has taken the place of this one. It tries again while the database is
// away.
func (s *Session) settling(next state) state {
	for {
		by, err := s.supersede()
		switch {
		case err == nil && by == "":
			return next
		case err == nil:
			s.control.requests.Cancel = s.supersededBy(by)
			return s.finish(s.control.cancellation())
		}
		slog.Warn("cannot settle the place of generated blocks, trying again", "execution", s.execution.ID, "error", err)
		select {
		case <-time.After(readPause):
		case <-s.engine.draining:
			return s.handOver
		case <-s.claim.lease.Done():
			return s.abandon(err)
		}
	}
}
