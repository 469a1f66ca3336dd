package sessions

import (
	"log/slog"
	"time"

	"signoff/internal/domain"
	"signoff/internal/failpoint"
)

// stopAgent stops the turn and takes what the agent still says, until it has returned or its grace is over. So a partial answer is
// kept, and the agent can report the outcome of a call that it has stopped.
func (s *Session) stopAgent(why error) error {
	if s.turn.stop == nil || s.turn.result != nil {
		return nil
	}
	s.turn.stopping()
	s.turn.stop(why)
	grace := time.NewTimer(StopGrace)
	defer grace.Stop()
	for s.turn.result == nil {
		select {
		case <-s.inbox.ready:
			if err := s.translator.commitInbox(); err != nil {
				return err
			}
		case <-grace.C:
			slog.Error("agent did not return after its turn was stopped", "execution", s.execution.ID)
			return nil
		}
	}
	return nil
}

// end closes everything that is open and writes the terminal event, in one commit. If an approval was decided or a prompt came in
// the same instant, the change is refused, and the session looks again.
func (s *Session) end(end outcome) state {
	if err := s.texts.releaseAll(); err != nil {
		return s.abandon(err)
	}
	for {
		_ = s.delegates.read() // an older reading is good enough: a child that is closed too late still ends after its turn
		judged, err := s.judged(end)
		if err == nil {
			err = s.recorder.attempt(func() *changeSet { return s.terminal(judged) })
		}
		if err == nil {
			return nil
		}
		queued := len(s.control.requests.Prompts)
		if domain.CodeOf(err) != domain.CodeStale || s.control.read() != nil {
			return s.abandon(err)
		}
		decided := s.permissions.dropDecided() || s.clients.dropAnswered() || s.blocks.acceptedMeanwhile()
		prompted := len(s.control.requests.Prompts) > queued
		switch {
		case prompted && end.status == domain.StatusCompleted && s.progress.Turn.Open:
			return s.afterTurn
		case prompted && end.status == domain.StatusCompleted:
			return s.idle
		case !prompted && !decided:
			return s.abandon(err)
		}
	}
}

// judged is the end in the light of accepted blocks and of the output schema. Blocks that somebody has accepted are a good end,
// whatever was requested since; an answer that does not fit its schema is not.
func (s *Session) judged(end outcome) (outcome, error) {
	if s.blocks.keeps() {
		if err := s.blocks.readAcceptance(); err != nil {
			return end, err
		}
		if s.blocks.accepted {
			return outcome{status: domain.StatusCompleted, finish: domain.FinishEndTurn, stop: end.stop}, nil
		}
	}
	if s.execution.Request.OutputSchema == nil || end.status != domain.StatusCompleted || s.awaitsPrompt() { // nothing was asked
		return end, nil
	}
	value, wrong := s.recorder.structured()
	if wrong != "" {
		return misfit(end.stop), nil
	}
	end.structured = value
	return end, nil
}

// fail ends a turn that cannot go on, and with it the execution. If there are earlier blocks, the execution stays idle so that
// somebody can accept them, unless its agent has not returned: it must not run beside an execution that rests.
func (s *Session) fail(end outcome) state {
	switch {
	case !s.blocks.keeps() || (s.turn.stop != nil && s.turn.result == nil):
		return s.end(end)
	case s.progress.Turn.Open:
		return s.endTurn(end, domain.StatusIdle)
	case len(s.control.requests.Prompts) == 0:
		return s.end(end)
	}
	change := s.recorder.begin()
	if s.progress.Status != domain.StatusWaiting {
		change.to(domain.StatusWaiting, "")
	}
	s.startTurn(change)
	if err := s.recorder.commit(change); err != nil {
		return s.abandon(err)
	}
	return s.endTurn(end, domain.StatusIdle)
}

// terminal makes the change that ends the execution.
func (s *Session) terminal(end outcome) *changeSet {
	if !s.progress.Status.CanBecome(end.status) {
		panic("sessions: no end as " + string(end.status) + " from " + string(s.progress.Status))
	}
	if end.failure != nil { // it may quote a provider or an agent; the row is shown like the event
		end.failure = &domain.Failure{Code: end.failure.Code, Message: s.engine.masker.MaskString(end.failure.Message)}
	}
	rested := s.progress.Status == domain.StatusIdle
	change := s.recorder.begin()
	change.advanced = true
	s.texts.close(change, false)
	s.calls.close(change)
	s.blocks.closeSubmitted(change, s.progress.Turn.Edits)
	if s.progress.Turn.Open && end.stop != "" {
		change.emit(domain.TurnEnded{Turn: s.progress.Turn.Number, StopReason: end.stop, Usage: s.progress.Usage.Since(s.progress.Turn.Before)})
	}
	for _, prompt := range s.control.requests.Prompts {
		change.dropped = append(change.dropped, prompt.ID)
		change.emit(domain.PromptDiscarded{PromptID: prompt.ID})
	}
	output := s.recorder.output(end)
	event := domain.ExecutionEnded{
		Status: end.status, FinishReason: end.finish, DurationSeconds: output.DurationSeconds, Usage: s.progress.Usage, Error: end.failure,
		Output: output.Shortened(), Charged: s.execution.Request.Charged(),
	}
	if end.cancel != nil {
		event.Reason, event.CancelledBy = end.cancel.Reason, &end.cancel.By
	}
	change.emit(event)
	s.delegates.end(change, end)
	change.reportRest(end.status, end, rested)
	change.audit = append(change.audit, end.record(s.execution))
	change.ended, change.output, change.accepted = &event, &output, s.blocks.accepted
	return change
}

// handOff ends the session for a server that shuts down. A running call may end first; no new call begins. Nothing fails: the log
// stays as it is, and the next driver continues from it.
func (s *Session) handOff() state {
	failpoint.Hit(failpoint.BeforeHandOff)
	s.turn.reaches(turnHandsOff)
	deadline := time.NewTimer(s.engine.drainGrace)
	defer deadline.Stop()
	for s.turn.result == nil && s.calls.any((*call).runsHere) {
		select {
		case <-s.inbox.ready:
			if err := s.translator.commitInbox(); err != nil {
				return s.abandon(err)
			}
			continue
		case <-s.control.watcher.Notified():
			if err := s.permissions.answerWithinCalls(); err != nil {
				return s.abandon(err)
			}
			continue
		case <-deadline.C:
		case <-s.claim.lease.Done():
		}
		break
	}
	if err := s.stopAgent(errDrain); err != nil {
		return s.abandon(err)
	}
	if err := s.permissions.withdrawWithinCalls(); err != nil {
		return s.abandon(err)
	}
	if err := s.texts.releaseAll(); err != nil {
		return s.abandon(err)
	}
	if s.turn.endedByItself() {
		return s.afterTurn
	}
	return s.release()
}

// release releases the execution as it stands.
func (s *Session) release() state {
	if err := s.recorder.writeHeld(); err != nil {
		return s.abandon(err)
	}
	failpoint.Hit(failpoint.BeforeSessionRelease)
	s.exit = exitReleased
	return nil
}
