package sessions

import (
	"maps"
	"slices"
	"strings"

	"signoff/internal/approvals"
	"signoff/internal/audit"
	"signoff/internal/domain"
	"signoff/internal/secrets"
)

// takeIn writes down what the agent has said. Where it makes a question moot that a person may be deciding at this very
// moment, the question is ended first, in a change of its own: a decision that was faster stands. What the log has no room for is lost.
func (s *session) takeIn() error {
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
	return s.commit(d)
}

// absorb turns what the agent has said into facts for the log, and keeps the session's own picture in step. The status
// changes where it changes, so the log tells the story in its order.
func (s *session) absorb(d *draft, i item) {
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
		s.result = i.done
		s.flowing = false
	default:
		s.fact(d, i.payload)
	}
	s.derive(d)
}

// derive sets the status of a running turn: the first that holds.
func (s *session) derive(d *draft) {
	if !s.inTurn || s.result != nil || s.status == domain.StatusInitializing {
		return
	}
	status := domain.StatusWaiting
	switch {
	case s.anyCall(func(c *call) bool { return c.approval != nil }):
		status = domain.StatusPendingToolApproval
	case s.anyCall(func(c *call) bool { return c.running || c.awaitsSlot() }):
		status = domain.StatusExecutingTool
	case s.flowing:
		status = domain.StatusStreaming
	}
	s.to(d, status, "")
}

func (s *session) anyCall(is func(*call) bool) bool {
	for _, c := range s.calls {
		if is(c) {
			return true
		}
	}
	return false
}

// to changes the status of a live execution.
func (s *session) to(d *draft, status domain.Status, reason string) {
	s.change(d, domain.StateChanged{To: status, Reason: reason})
}

// change is the only place where the status of a live execution changes, by itself or through [session.to].
func (s *session) change(d *draft, changed domain.StateChanged) {
	if s.status == changed.To {
		return
	}
	if !s.status.CanBecome(changed.To) {
		panic("sessions: no transition from " + string(s.status) + " to " + string(changed.To))
	}
	changed.From = s.status
	d.add(changed)
	s.status = changed.To
}

// flowed numbers a piece of text. The status is told before the first piece: who shows "streaming" shows it in time.
func (s *session) flowed(d *draft, piece *delta) {
	if s.whole[textKey(piece.kind, piece.id)] || !s.speaks(piece) {
		return
	}
	open := s.text(piece.kind, piece.id)
	if text := open.masking.Write(piece.text.String()); text != "" {
		s.shown(d, piece.kind, open, text)
	}
}

// shown tells a piece of text, as it may be seen.
func (s *session) shown(d *draft, kind domain.EventType, open *openText, text string) {
	offset := open.length
	open.length += len(text)
	switch kind {
	case domain.MessageDeltaType:
		s.flowing = true
		s.derive(d)
		if s.inTurn {
			s.said.add(open.id, text)
		}
		d.add(domain.MessageDelta{MessageID: open.id, Turn: s.now(), Offset: offset, Text: text})
	case domain.ThoughtDeltaType:
		s.flowing = true
		s.derive(d)
		d.add(domain.ThoughtDelta{MessageID: open.id, Turn: s.now(), Offset: offset, Text: text})
	default:
		d.add(domain.ToolCallUpdated{ToolCallID: open.id, Offset: offset, Output: text})
	}
}

// speaks tells whether a piece of output is of a call that is open: what is printed after its fate is lost.
func (s *session) speaks(piece *delta) bool {
	_, open := s.calls[piece.id]
	return open || piece.kind != domain.ToolCallUpdatedType
}

func textKey(kind domain.EventType, id string) string { return string(kind) + " " + id }

func (s *session) text(kind domain.EventType, id string) *openText {
	key := textKey(kind, id)
	open, known := s.texts[key]
	if !known {
		open = &openText{id: id, thought: kind == domain.ThoughtDeltaType, masking: secrets.NewStream(s.masker)}
		s.texts[key] = open
	}
	return open
}

// endText closes a text that is open and returns its length. Each is closed once. What was held back because it might
// have become a secret is told first.
func (s *session) endText(d *draft, kind domain.EventType, id string) (length int, ended bool) {
	key := textKey(kind, id)
	open, known := s.texts[key]
	if !known {
		return 0, false
	}
	s.release(d, kind, open)
	delete(s.texts, key)
	s.whole[key] = true
	return open.length, true
}

// release tells the end of a text that was held back.
func (s *session) release(d *draft, kind domain.EventType, open *openText) {
	if rest := open.masking.Close(); rest != "" {
		s.shown(d, kind, open, rest)
	}
}

// releaseAll tells what of all texts was held back, in a change of its own: what comes after it may have to be drafted
// more than once, and a text can be let go of only once. Nothing may follow in any of them: of a secret whose first half was
// let go of, the second half is not found.
func (s *session) releaseAll() error {
	d := &draft{}
	for _, key := range slices.Sorted(maps.Keys(s.texts)) {
		kind, _, _ := strings.Cut(key, " ")
		s.release(d, domain.EventType(kind), s.texts[key])
	}
	return s.commit(d)
}

// fact takes one finished statement of the agent.
func (s *session) fact(d *draft, payload domain.Payload) {
	switch p := payload.(type) {
	case domain.MessageCompleted:
		if length, ended := s.endText(d, domain.MessageDeltaType, p.MessageID); ended {
			p.Turn, p.Length = s.now(), length
			s.flowing = false
			s.said.completed(p)
			d.progress = d.progress || !p.Interrupted
			d.add(p)
		}
	case domain.ThoughtCompleted:
		if length, ended := s.endText(d, domain.ThoughtDeltaType, p.MessageID); ended {
			p.Turn, p.Length = s.now(), length
			d.add(p) // text follows a thought, so the status stays
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
		s.exited = true
		d.add(p)
	case domain.ModelRetrying:
		s.retryAt, s.flowing = p.At, false
		d.add(p)
	default:
		d.add(s.dated(payload))
	}
}

// dated fills in the turn.
func (s *session) dated(payload domain.Payload) domain.Payload {
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
func (s *session) startedItself(d *draft, p domain.ToolCallStarted) {
	c, open := s.calls[p.ToolCallID]
	if !open || c.running {
		return
	}
	c.running = true
	c.came = audit.Provenance{DecidedBy: p.AllowedBy, Channel: audit.ByAgent}
	if p.Arguments == nil {
		p.Arguments = c.Arguments
	}
	d.add(p)
}

func (s *session) requested(d *draft, p domain.ToolCallRequested) {
	if _, open := s.calls[p.ToolCallID]; open || s.closed[p.ToolCallID] {
		return // a call is announced once
	}
	p.Turn = s.now()
	s.flowing = false
	if p.MessageID != s.round {
		s.round = p.MessageID
		s.rounds++
	}
	s.calls[p.ToolCallID] = &call{
		ToolCall: domain.ToolCall{ID: p.ToolCallID, Tool: p.Tool, Class: p.Class, Arguments: p.Arguments, Summary: p.Summary},
		came:     audit.Provenance{DecidedBy: string(approvals.ByServer), Channel: audit.BySession}, // until it is judged
	}
	d.add(p)
	s.counted(d)
}

// completed takes the fate of a call that the agent ran, or could not run. A second fate is not a fact: the first one
// stands, also where the session gave it.
func (s *session) completed(d *draft, p domain.ToolCallCompleted) {
	c, open := s.calls[p.ToolCallID]
	if !open {
		return
	}
	if c.refusal != nil && p.Fate != domain.FateSucceeded {
		p.Fate, p.Error = c.refusal.fate, &c.refusal.failure
	}
	if c.lost { // the agent could not even ask for it again
		p = unrepeated(p)
	}
	s.endOutput(d, c)
	s.endCall(c)
	d.progress = true
	d.fate(s, c, p)
}

// endOutput tells what of the output was held back; it belongs before the fate.
func (s *session) endOutput(d *draft, c *call) { s.endText(d, domain.ToolCallUpdatedType, c.ID) }

// endCall forgets a call that has its fate; its id is never used again.
func (s *session) endCall(c *call) {
	c.vacate()
	delete(s.calls, c.ID)
	s.closed[c.ID] = true
	delete(s.texts, textKey(domain.ToolCallUpdatedType, c.ID))
}
