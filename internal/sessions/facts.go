package sessions

import (
	"time"

	"signoff/internal/domain"
)

// takeIn writes down what the agent has said. Where it makes a question moot that a person may be deciding at this very
// moment, the question is ended first, in a change of its own: a decision that was faster stands. What the log has no room for is lost.
func (s *Session) takeIn() error {
	items, traces := s.inbox.take()
	change := s.recorder.begin()
	change.debug = traces
	for _, i := range items {
		if c := s.permissions.obsolete(i); c != nil {
			if err := s.recorder.commit(change); err != nil {
				return err
			}
			if err := s.permissions.withdraw(c); err != nil {
				return err
			}
			change = s.recorder.begin()
		}
		if s.budget.measure(change) || i.closes() {
			s.absorb(change, i)
		}
	}
	if s.turn.result != nil && change.onlySays() {
		s.recorder.held = change
		return nil
	}
	return s.recorder.commit(change)
}

// absorb turns what the agent has said into facts for the log, and keeps the session's own picture in step. The status
// changes where it changes, so the log tells the story in its order.
func (s *Session) absorb(change *changeSet, i item) {
	switch {
	case i.delta != nil:
		s.texts.write(change, i.delta)
	case i.ask != nil:
		s.permissions.authorize(change, i.ask)
	case i.withdrawn != nil:
		s.permissions.askerLeft(i.withdrawn)
	case i.slotGiven != "":
		s.permissions.slotGiven(change, i.slotGiven)
	case i.submitted != nil:
		s.handedIn(change, i.submitted)
	case i.done != nil:
		s.turn.result = i.done
	default:
		s.fact(change, i.payload)
	}
	s.calls.deriveStatus(change)
}

// fact takes one finished statement of the agent.
func (s *Session) fact(change *changeSet, payload domain.Payload) {
	switch p := payload.(type) {
	case domain.MessageCompleted:
		if length, begun := s.texts.end(change, domain.TextKey{Kind: domain.MessageDeltaType, ID: p.MessageID}); begun {
			p.Turn, p.Length = s.recorder.turnNumber(), length
			change.advanced = change.advanced || !p.Interrupted
			change.emit(p)
		}
	case domain.ThoughtCompleted:
		if length, begun := s.texts.end(change, domain.TextKey{Kind: domain.ThoughtDeltaType, ID: p.MessageID}); begun {
			p.Turn, p.Length = s.recorder.turnNumber(), length
			change.emit(p) // text follows a thought, so the status stays
		}
	case domain.ToolCallRequested:
		s.calls.request(change, p)
	case domain.ToolCallStarted:
		s.calls.startedByAgent(change, p)
	case domain.ToolCallCompleted:
		s.calls.complete(change, p)
	case domain.UsageUpdated:
		s.used(change, p)
	case domain.AgentExited:
		s.agent.exited = true
		change.emit(p)
	default:
		change.emit(s.dated(payload))
	}
}

// dated fills in the turn.
func (s *Session) dated(payload domain.Payload) domain.Payload {
	switch p := payload.(type) {
	case domain.ToolCallReported:
		p.Turn = s.recorder.turnNumber()
		return p
	case domain.PlanUpdated:
		p.Turn = s.recorder.turnNumber()
		return p
	case domain.RateLimitUpdated:
		p.Turn = s.recorder.turnNumber()
		return p
	case domain.AgentUpdated:
		p.Turn = s.recorder.turnNumber()
		return p
	case domain.AgentModeChanged:
		p.Turn = s.recorder.turnNumber()
		return p
	case domain.AgentOptionsUpdated:
		p.Turn = s.recorder.turnNumber()
		return p
	case domain.CommandsUpdated:
		p.Turn = s.recorder.turnNumber()
		return p
	case domain.AgentSilent:
		p.Turn = s.recorder.turnNumber()
		return p
	default:
		return payload
	}
}

// handedIn takes blocks. They are numbered once: after a restart, the agent hands the same call in again.
func (s *Session) handedIn(change *changeSet, handed *submission) {
	c, open := s.calls.open[handed.call.ID]
	switch {
	case s.turn.handsOver():
		return // the asker's context ends soon; it hands them in again where the execution is driven next
	case s.turn.stopped() || !s.progress.Turn.Open || s.turn.result != nil || !open || s.budget.spent != nil:
		handed.reply <- domain.Errorf(domain.CodeConflict, "The blocks come too late: the turn is over.")
		return
	case c.generation() == 0:
		s.generated(change, c, handed)
	}
	change.replies = append(change.replies, func() { handed.reply <- nil })
}

func (s *Session) generated(change *changeSet, c *call, handed *submission) {
	runbook := s.runbook()
	generation := domain.Generation{
		Execution: s.execution.ID, Number: s.progress.Generations + 1, State: domain.GenerationSubmitted, Turn: s.progress.Turn.Number, ToolCallID: c.ID,
		Blocks: s.engine.masker.JSON(handed.blocks), Created: time.Now().UTC().Truncate(time.Microsecond),
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

// used takes what the agent says it has used up.
func (s *Session) used(change *changeSet, p domain.UsageUpdated) {
	p.Usage = p.Usage.AtLeast(s.progress.Usage)
	if p.Turn == nil {
		turn := p.Usage.Since(s.progress.Turn.Before)
		p.Turn = &turn
	}
	change.emit(p)
	s.budget.spend(change)
}
