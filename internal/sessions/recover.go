package sessions

import (
	"signoff/internal/domain"
	"signoff/internal/failpoint"
)

// recover is the first state of an execution that an earlier driver left. It closes what was open: a message that broke off is
// interrupted, and a call that may have run is of unknown outcome, or a person is asked about it.
func (s *Session) recover() state {
	failpoint.Hit(failpoint.BeforeRecovery)
	if broken, err := s.recovery.read(); err != nil {
		if broken {
			return s.end(failed(domain.FailureOf(err)))
		}
		return s.abandon(err) // it is acquired again in a while
	}
	if err := s.recovery.releaseBudgets(); err != nil {
		return s.abandon(err)
	}
	if s.parking.onlyWaits() {
		return s.parkAgain
	}
	s.engine.dispatch.Recovered(s)
	failpoint.Hit(failpoint.AfterRecovery)
	switch {
	case s.control.requests.Cancel != nil:
		return s.end(s.control.cancellation())
	case s.progress.Status == domain.StatusIdle || s.progress.Status == domain.StatusInterrupted:
		return s.recoverIdle
	}
	if s.progress.Turn.Number == 0 { // its first driver may have ended before it looked
		return s.takePlace(s.recoverTurn)
	}
	return s.recoverTurn
}

// recoverIdle continues an execution that needs no agent before somebody wants something of it. It can get no further until then,
// so its recovery is not in vain.
func (s *Session) recoverIdle() state {
	s.recorder.transcript = nil // nobody needs it before the next prompt
	if s.execution.Recovery > 0 {
		change := s.recorder.begin()
		change.advanced = true
		if err := s.recorder.commit(change); err != nil {
			return s.abandon(err)
		}
	}
	return s.readControl
}

// recoverTurn closes what broke off, and continues the turn if that is safe.
func (s *Session) recoverTurn() state {
	change := s.recorder.begin()
	why := s.recovery.obstacle()
	if why == nil || s.progress.Status == domain.StatusQueued {
		change.to(domain.StatusInitializing, s.recovery.reason())
	}
	s.texts.close(change, false)
	s.permissions.closeUnknown(change)
	change.advanced = false // to close what broke off is no progress
	if why != nil {
		return s.interrupt(change, *why)
	}
	if err := s.recorder.commit(change); err != nil {
		return s.abandon(err)
	}
	s.agent.loading = s.agent.reopens()
	if s.external() && s.progress.Turn.Open {
		s.turn.continued = s.agent.continuation(domain.ResumeLoad)
	}
	return s.initializing
}
