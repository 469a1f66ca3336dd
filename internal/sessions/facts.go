package sessions

import (
	"time"

	"signoff/internal/approvals"
	"signoff/internal/audit"
	"signoff/internal/domain"
)

// takeIn writes down what the agent has said. Where it makes a question moot that a person may be deciding at this very
// moment, the question is ended first, in a change of its own: a decision that was faster stands. What the log has no room for is lost.
func (s *Session) takeIn() error {
	items, traces := s.inbox.take()
	d := &draft{debug: traces}
	for _, i := range items {
		if c := s.moot(i); c != nil {
			if err := s.commit(d); err != nil {
				return err
			}
			if err := s.withdraw(c); err != nil {
				return err
			}
			d = &draft{}
		}
		if s.measure(d) || i.closes() {
			s.absorb(d, i)
		}
	}
	if s.turn.result != nil && d.onlySays() {
		s.held = d
		return nil
	}
	return s.commit(d)
}

// absorb turns what the agent has said into facts for the log, and keeps the session's own picture in step. The status
// changes where it changes, so the log tells the story in its order.
func (s *Session) absorb(d *draft, i item) {
	switch {
	case i.delta != nil:
		s.flowed(d, i.delta)
	case i.ask != nil:
		s.asked(d, i.ask)
	case i.withdrawn != nil:
		s.unasked(i.withdrawn)
	case i.slotGiven != "":
		s.slotGiven(d, i.slotGiven)
	case i.submitted != nil:
		s.handedIn(d, i.submitted)
	case i.done != nil:
		s.turn.result = i.done
	default:
		s.fact(d, i.payload)
	}
	s.derive(d)
}

// fact takes one finished statement of the agent.
func (s *Session) fact(d *draft, payload domain.Payload) {
	switch p := payload.(type) {
	case domain.MessageCompleted:
		if length, begun := s.endText(d, domain.TextKey{Kind: domain.MessageDeltaType, ID: p.MessageID}); begun {
			p.Turn, p.Length = s.now(), length
			d.advanced = d.advanced || !p.Interrupted
			s.emit(d, p)
		}
	case domain.ThoughtCompleted:
		if length, begun := s.endText(d, domain.TextKey{Kind: domain.ThoughtDeltaType, ID: p.MessageID}); begun {
			p.Turn, p.Length = s.now(), length
			s.emit(d, p) // text follows a thought, so the status stays
		}
	case domain.ToolCallRequested:
		s.requested(d, p)
	case domain.ToolCallStarted:
		s.startedItself(d, p)
	case domain.ToolCallCompleted:
		s.completed(d, p)
	case domain.UsageUpdated:
		s.used(d, p)
	case domain.AgentExited:
		s.agent.exited = true
		s.emit(d, p)
	default:
		s.emit(d, s.dated(payload))
	}
}

// dated fills in the turn.
func (s *Session) dated(payload domain.Payload) domain.Payload {
	switch p := payload.(type) {
	case domain.ToolCallReported:
		p.Turn = s.now()
		return p
	case domain.PlanUpdated:
		p.Turn = s.now()
		return p
	case domain.RateLimitUpdated:
		p.Turn = s.now()
		return p
	case domain.AgentUpdated:
		p.Turn = s.now()
		return p
	case domain.AgentModeChanged:
		p.Turn = s.now()
		return p
	case domain.AgentOptionsUpdated:
		p.Turn = s.now()
		return p
	case domain.CommandsUpdated:
		p.Turn = s.now()
		return p
	case domain.AgentSilent:
		p.Turn = s.now()
		return p
	default:
		return payload
	}
}

// startedItself takes the start of a call that an external agent did not ask about, or was allowed.
func (s *Session) startedItself(d *draft, p domain.ToolCallStarted) {
	c, open := s.calls[p.ToolCallID]
	if !open || c.running() {
		return
	}
	c.came = audit.Provenance{DecidedBy: p.AllowedBy, Channel: audit.ByAgent}
	if p.Arguments == nil {
		p.Arguments = c.Arguments
	}
	s.emit(d, p)
}

func (s *Session) requested(d *draft, p domain.ToolCallRequested) {
	if _, open := s.calls[p.ToolCallID]; open || s.progress.Ended[p.ToolCallID] {
		return // a call is announced once
	}
	p.Turn = s.now()
	s.emit(d, p)
	s.calls[p.ToolCallID] = &call{
		ToolCall: domain.ToolCall{ID: p.ToolCallID, Tool: p.Tool, Class: p.Class, Arguments: p.Arguments, Summary: p.Summary},
		of:       s.progress,
		came:     audit.Provenance{DecidedBy: string(approvals.ByServer), Channel: audit.BySession}, // until it is judged
	}
	s.counted(d)
}

// completed takes the outcome of a call that the agent ran, or could not run. A second outcome is not a fact: the first one
// stands, also where the session gave it.
func (s *Session) completed(d *draft, p domain.ToolCallCompleted) {
	c, open := s.calls[p.ToolCallID]
	if !open {
		return
	}
	if c.refusal != nil && p.Outcome != domain.OutcomeSucceeded {
		p.Outcome, p.Error = c.refusal.outcome, &c.refusal.failure
	}
	if c.lost() { // the agent could not even ask for it again
		p = unrepeated(p)
	}
	s.endOutput(d, c)
	d.advanced = true
	s.complete(d, c, p)
	s.endCall(c)
}

// asked judges a call that the agent wants to run, or asks about.
func (s *Session) asked(d *draft, a *ask) {
	if s.turn.handsOver() {
		return // the asker's context ends soon; it asks again where the execution is driven next
	}
	if s.turn.stopped() || !s.progress.Turn.Open || s.turn.result != nil || s.spent != nil {
		a.reply <- nobody
		return
	}
	exposed := s.veil(a)
	c := s.announced(d, a.Call)
	if c == nil || c.ask != nil || (c.running() && a.ours() && c.client == nil) || s.spent != nil {
		a.reply <- nobody
		return
	}
	c.ask = a
	if c.client != nil { // an earlier driver asked the client, who may have answered since
		d.advanced, s.rules.behind = true, true
		return
	}
	if exposed && a.ours() {
		if c.approval != nil {
			s.retract(d, *c.approval)
		}
		s.refuse(d, c, domain.OutcomeFailed, domain.Failure{Code: domain.CodeSecretExposed, Message: exposedMessage})
		return
	}
	if a.ours() {
		c.Version, c.Action = a.Call.Version, a.Call.Action
	} else { // an external agent often says only now what the call is about: that is what a person is to see
		c.ToolCall = a.Call
	}
	row, decided := s.decided[c.ID]
	delete(s.decided, c.ID)
	switch {
	case c.approval != nil: // an earlier driver asked; coming back to the same question is as far as one can come
		d.advanced = true
		s.rules.behind = true // a rule of the time in between may answer it
	case decided:
		s.settle(d, c, row)
	default:
		s.judge(d, c)
	}
}

// announced returns the call, and announces it where the agent did not. Nil: it has had its outcome.
func (s *Session) announced(d *draft, asked domain.ToolCall) *call {
	if c, known := s.calls[asked.ID]; known {
		return c
	}
	s.requested(d, domain.ToolCallRequested{
		ToolCallID: asked.ID, MessageID: s.progress.Turn.Round, Tool: asked.Tool, Class: asked.Class,
		Arguments: asked.Arguments, Summary: asked.Summary,
	})
	return s.calls[asked.ID]
}

const exposedMessage = "The arguments hold the value of a secret, so they cannot be shown to anybody; name the secret instead."

// handedIn takes blocks. They are numbered once: after a restart, the agent hands the same call in again.
func (s *Session) handedIn(d *draft, handed *submission) {
	c, open := s.calls[handed.call.ID]
	switch {
	case s.turn.handsOver():
		return // the asker's context ends soon; it hands them in again where the execution is driven next
	case s.turn.stopped() || !s.progress.Turn.Open || s.turn.result != nil || !open || s.spent != nil:
		handed.reply <- domain.Errorf(domain.CodeConflict, "The blocks come too late: the turn is over.")
		return
	case c.generation() == 0:
		s.generated(d, c, handed)
	}
	d.replies = append(d.replies, func() { handed.reply <- nil })
}

func (s *Session) generated(d *draft, c *call, handed *submission) {
	runbook := s.runbook()
	generation := domain.Generation{
		Execution: s.execution.ID, Number: s.progress.Generations + 1, State: domain.GenerationSubmitted, Turn: s.progress.Turn.Number, ToolCallID: c.ID,
		Blocks: s.deps.masker.JSON(handed.blocks), Created: time.Now().UTC().Truncate(time.Microsecond),
	}
	if runbook.Document != nil {
		generation.DocumentRevision = runbook.Document.Revision
	}
	d.advanced = true
	d.generated = &generation
	s.emit(d, domain.BlocksGenerated{
		Generation: generation.Number, Turn: generation.Turn, ToolCallID: generation.ToolCallID, Blocks: generation.Blocks,
		InsertAfter: runbook.InsertAfter, DocumentRevision: generation.DocumentRevision,
	})
}

// slotGiven starts a command that has got its slot. One that nobody had to be asked about is judged again: while it waited,
// rules may have come that forbid it.
func (s *Session) slotGiven(d *draft, id string) {
	c, open := s.calls[id]
	if !open || !c.awaitsSlot() {
		return
	}
	if s.turn.stopped() || s.turn.handsOver() { // it starts where the execution is driven next, or never
		c.slot.release()
		return
	}
	next := c.delayed
	c.delayed = nil
	if next.started.ApprovalID == "" {
		s.judge(d, c)
		return
	}
	s.start(d, c, next.started, next.answer)
}

// used takes what the agent says it has used up.
func (s *Session) used(d *draft, p domain.UsageUpdated) {
	p.Usage = p.Usage.AtLeast(s.progress.Usage)
	if p.Turn == nil {
		turn := p.Usage.Since(s.progress.Turn.Before)
		p.Turn = &turn
	}
	s.emit(d, p)
	s.spend(d)
}
