package sessions

import (
	"signoff/internal/domain"
	"signoff/internal/store"
)

// An execution that cannot go on by itself is interrupted: a person or a client chooses how it goes on. The cause decides between
// which modes, see [domain.InterruptCause].

// interruptTurnOf interrupts the execution in the turn of our own agent. The turn stays open, and a retry continues it from the
// log.
func (s *Session) interruptTurnOf(cause domain.InterruptCause, failure domain.Failure) state {
	if s.turn.stop != nil {
		s.turn.stop(errOver)
	}
	s.turn.stop, s.turn.result, s.turn.continued = nil, nil, nil
	s.agent.close()
	return s.interrupt(s.recorder.begin(), interruption{cause: cause, reason: s.engine.masker.MaskString(failure.Message), code: failure.Code})
}

// interruptSpent interrupts the execution because the daily budget of its tenant is spent. The open calls of an external agent end here: its process is
// stopped.
func (s *Session) interruptSpent() state {
	failure := domain.FailureOf(s.turn.result.err)
	if !s.external() {
		return s.interruptTurnOf(domain.CauseDailyBudget, failure)
	}
	if err := s.endOpen(); err != nil {
		return s.abandon(err)
	}
	change := s.recorder.begin()
	s.texts.close(change, false)
	s.calls.close(change)
	if err := s.recorder.commit(change); err != nil {
		return s.abandon(err)
	}
	s.forgetTurn()
	return s.interruptTurnOf(domain.CauseDailyBudget, failure)
}

// interrupt waits until somebody chooses how to go on.
func (s *Session) interrupt(change *changeSet, why interruption) state {
	change.transition(domain.StateChanged{To: domain.StatusInterrupted, Reason: why.reason, Cause: why.cause, Code: why.code})
	change.report(domain.DelegateUpdated{ExecutionID: s.execution.ID, Status: domain.StatusInterrupted, Cause: why.cause}, false)
	if err := s.recorder.commit(change); err != nil {
		return s.abandon(err)
	}
	return s.readControl
}

// interrupted: somebody has to choose how the execution goes on. Only some causes have a deadline.
func (s *Session) interrupted() state {
	chosen := s.control.requests.Resume
	switch {
	case chosen != nil && chosen.Mode == domain.ResumeFail:
		return s.failInterrupted(chosen.By.Name + " chose not to go on.")
	case chosen != nil:
		return s.resume(*chosen)
	case s.control.requests.Close != nil:
		return s.failInterrupted(s.control.requests.Close.Name + " closed the execution.")
	}
	return s.rest(s.choosingSeconds(), func() state {
		return s.failInterrupted("nobody chose in time how to go on.")
	})
}

// failInterrupted ends an interrupted execution. If there are earlier blocks, only its turn ends, so that somebody can accept
// them.
func (s *Session) failInterrupted(why string) state {
	end := failed(domain.Failure{Code: domain.CodeInterrupted, Message: whatHappened[s.progress.Cause] + ", and " + why})
	if s.blocks.keeps() && s.progress.Turn.Open {
		return s.endTurn(end, domain.StatusIdle)
	}
	return s.end(end)
}

var whatHappened = map[domain.InterruptCause]string{
	domain.CauseProvider:    "The request to the model failed",
	domain.CauseRecovery:    "The execution was recovered again and again without progress",
	domain.CauseProcessGone: "The agent's process was lost",
	domain.CauseDailyBudget: "The daily budget of the tenant was spent",
}

// resume continues as somebody has chosen.
func (s *Session) resume(chosen store.ResumeRequest) state {
	if !s.external() { // our own agent knows only the history that it is given
		if err := s.recorder.readTranscript(); err != nil {
			return s.readAgain(err)
		}
	}
	s.control.requests.Resume = nil
	s.agent.loading = s.agent.reopens()
	if chosen.Mode == domain.ResumeFresh {
		s.agent.loading = ""
	}
	if s.progress.Turn.Open {
		s.turn.continued = s.agent.continuation(chosen.Mode)
		s.turn.continued.By = &chosen.By
	}
	change := s.recorder.begin()
	change.resumed, change.advanced = true, true
	change.to(domain.StatusInitializing, "resumed")
	if err := s.recorder.commit(change); err != nil {
		return s.abandon(err)
	}
	return s.initializing
}
