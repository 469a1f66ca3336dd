package sessions

import (
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

// derive sets the status of a running turn.
func (s *Session) derive(d *draft) { s.deriveWith(d, s.progress.Streaming) }

// deriveWith sets the first status that holds, where text arrives or does not.
func (s *Session) deriveWith(d *draft, streaming bool) {
	if !s.progress.Turn.Open || s.turn.result != nil {
		return
	}
	switch s.progress.Status {
	case domain.StatusInitializing, domain.StatusInterrupted: // the turn is open, and its agent is not at work
		return
	}
	status := domain.StatusWaiting
	switch {
	case s.anyCall(func(c *call) bool { return c.approval != nil }):
		status = domain.StatusPendingToolApproval
	case s.anyCall(func(c *call) bool { return c.running() || c.awaitsSlot() }):
		status = domain.StatusExecutingTool
	case streaming:
		status = domain.StatusStreaming
	}
	s.to(d, status, "")
}

func (s *Session) anyCall(is func(*call) bool) bool {
	for _, c := range s.calls {
		if is(c) {
			return true
		}
	}
	return false
}

// to changes the status of a live execution.
func (s *Session) to(d *draft, status domain.Status, reason string) {
	s.change(d, domain.StateChanged{To: status, Reason: reason})
}

// change is the only place where the status of a live execution changes, by itself or through [Session.to].
func (s *Session) change(d *draft, changed domain.StateChanged) {
	if s.progress.Status == changed.To {
		return
	}
	if !s.progress.Status.CanBecome(changed.To) {
		panic("sessions: no transition from " + string(s.progress.Status) + " to " + string(changed.To))
	}
	changed.From = s.progress.Status
	s.emit(d, changed)
}

// flowed takes a piece of text, as far as it may be seen already.
func (s *Session) flowed(d *draft, piece *delta) {
	key := domain.TextKey{Kind: piece.kind, ID: piece.id}
	if s.progress.Closed[key] || !s.speaks(piece) {
		return
	}
	if text := s.masking.write(key, piece.text.String()); text != "" {
		s.shown(d, key, text)
	}
}

// shown numbers a piece of text. The status is told before the first piece: who shows "streaming" shows it in time.
func (s *Session) shown(d *draft, key domain.TextKey, text string) {
	if key.Kind == domain.ToolCallUpdatedType {
		printed := 0
		if c := s.progress.Calls[key.ID]; c != nil {
			printed = c.Printed
		}
		s.emit(d, domain.ToolCallUpdated{ToolCallID: key.ID, Offset: printed, Output: text})
		return
	}
	s.deriveWith(d, true)
	offset := 0
	if open := s.progress.Texts[key]; open != nil {
		offset = open.Length
	}
	if key.Kind == domain.ThoughtDeltaType {
		s.emit(d, domain.ThoughtDelta{MessageID: key.ID, Turn: s.now(), Offset: offset, Text: text})
	} else {
		s.emit(d, domain.MessageDelta{MessageID: key.ID, Turn: s.now(), Offset: offset, Text: text})
	}
}

// speaks tells whether a piece of output is of a call that is open: what is printed after its outcome is lost.
func (s *Session) speaks(piece *delta) bool {
	_, open := s.calls[piece.id]
	return open || piece.kind != domain.ToolCallUpdatedType
}

// endText tells the rest of a text that has begun, which was held back because it might have become a secret, and returns its length.
// Each text ends once.
func (s *Session) endText(d *draft, key domain.TextKey) (length int, begun bool) {
	if s.progress.Texts[key] == nil && !s.masking.holds(key) {
		return 0, false
	}
	s.release(d, key)
	s.masking.forget(key)
	if open := s.progress.Texts[key]; open != nil {
		length = open.Length
	}
	return length, true
}

// release tells the end of a text that was held back.
func (s *Session) release(d *draft, key domain.TextKey) {
	if rest := s.masking.release(key); rest != "" {
		s.shown(d, key, rest)
	}
}

// releaseAll tells what of all texts was held back, in a change of its own: what comes after it may have to be drafted
// more than once, and a text can be let go of only once.
func (s *Session) releaseAll() error {
	d := &draft{}
	for _, key := range s.masking.keys() {
		s.release(d, key)
	}
	return s.commit(d)
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

// endOutput tells what of the output was held back; it belongs before the outcome.
func (s *Session) endOutput(d *draft, c *call) { s.endText(d, outputOf(c)) }

func outputOf(c *call) domain.TextKey {
	return domain.TextKey{Kind: domain.ToolCallUpdatedType, ID: c.ID}
}

// endCall forgets a call that has its outcome.
func (s *Session) endCall(c *call) {
	c.vacate()
	delete(s.calls, c.ID)
	s.masking.forget(outputOf(c))
}
