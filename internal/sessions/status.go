package sessions

import (
	"signoff/internal/domain"
)

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
