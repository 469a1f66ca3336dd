package sessions

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"signoff/internal/domain"
	"signoff/internal/failpoint"
)

// The states of an execution, in the order in which a run visits them.

// queued is where every execution starts.
func (s *Session) queued() state {
	switch {
	case s.recovers:
		return s.recover
	case s.control.requests.Cancel != nil: // it was created too late for its answer
		return s.end(s.control.cancellation())
	case s.begun:
		return s.promptAgent
	}
	return s.takePlace(func() state {
		change := s.recorder.begin()
		change.to(domain.StatusInitializing, "")
		if err := s.recorder.commit(change); err != nil {
			return s.abandon(err)
		}
		return s.initializing
	})
}

// initializing opens the agent. An agent may be a process that takes its time, so the session listens meanwhile.
func (s *Session) initializing() state {
	o := s.agent.opening
	if s.agent.opening = nil; o == nil {
		o = s.agent.beginOpening()
	}
	defer func() { s.agent.open = o.stop() }() // also where something here panics: the process must not be forgotten
	for {
		select {
		case <-o.done:
			s.agent.open = o.agent
			return s.opened(o.err)
		case <-s.inbox.ready:
			if err := s.translator.commitInbox(); err != nil {
				return s.abandon(err)
			}
		case <-s.control.watcher.Notified():
			if s.control.readNew() == nil && s.control.requests.Cancel != nil { // what cannot be read now is read in the turn
				o.stop()
				return s.end(s.control.cancellation())
			}
		case <-s.engine.draining:
			return s.handOff
		case <-s.claim.lease.Done():
			return s.abandon(context.Cause(s.claim.lease))
		}
	}
}

// opened goes on when the agent is there, or will not be. What an execution was in the middle of is not lost with an
// agent that cannot be started, or cannot take up its session: somebody may mend that, or choose to begin anew.
func (s *Session) opened(err error) state {
	switch {
	case err == nil:
		return s.begin
	case s.turn.stage == turnReopened && s.progress.Turn.Number == 1:
		return s.end(failed(domain.FailureOf(err))) // it never did anything but exit
	case s.recorder.external() && s.progress.Turn.Number > 0:
		return s.interrupt(s.recorder.begin(), processGone(domain.FailureOf(err).Message))
	case errors.Is(err, domain.ErrProviderUnavailable):
		return s.interruptTurnOf(domain.CauseProvider, domain.FailureOf(err))
	default:
		return s.fail(failed(domain.FailureOf(err)))
	}
}

// waiting: the agent thinks, nothing has arrived. While it waits to repeat a request to its model, the clock stands still.
func (s *Session) waiting() state {
	if !s.recorder.awaitsRetry() {
		return s.listen()
	}
	due := time.NewTimer(time.Until(s.progress.RetryAt()))
	defer due.Stop()
	return s.await(nil, due.C, s.current)
}

// current is the state method of the derived status.
func (s *Session) current() state {
	switch s.progress.Status {
	case domain.StatusStreaming, domain.StatusPendingToolApproval, domain.StatusExecutingTool:
		return s.listen
	case domain.StatusIdle:
		return s.idle
	case domain.StatusInterrupted:
		return s.interrupted
	default:
		return s.waiting
	}
}

// listen waits for the one thing that happens next in a turn.
func (s *Session) listen() state {
	expiry, stopExpiry := s.calls.nextExpiry()
	defer stopExpiry()
	out, stopClock := s.recorder.timeLeft()
	defer stopClock()
	return s.await(expiry, out, s.timeOut)
}

// await waits for whatever comes first: that a question expires, that the time is out, and what can come in any state
// that waits. A channel that is nil never delivers.
func (s *Session) await(expiry, out <-chan time.Time, over state) state {
	parking, stopParking := s.parking.timer()
	defer stopParking()
	select {
	case <-s.inbox.ready:
		return s.readInbox
	case <-s.control.watcher.Notified():
		return s.notified
	case <-expiry:
		return s.expire
	case <-out:
		return over
	case <-parking:
		return s.park
	case <-s.control.again:
		s.control.again = nil
		return s.readControl
	case <-s.rules.verdicts:
		return s.readControl
	case <-s.engine.draining:
		return s.handOff
	case <-s.claim.lease.Done():
		return s.abandon(context.Cause(s.claim.lease))
	}
}

// readInbox takes what the agent has said.
func (s *Session) readInbox() state {
	s.control.quiet = time.Now()
	if err := s.translator.commitInbox(); err != nil {
		return s.abandon(err)
	}
	switch {
	case s.turn.result != nil:
		return s.afterTurn
	case s.budget.spent != nil:
		return s.stopSpending
	case s.rules.behind:
		return s.readControl
	default:
		return s.current()
	}
}

// notified checks whether the bell was rung by somebody else.
func (s *Session) notified() state {
	if s.control.watcher.ForeignWrites() == s.control.seen {
		return s.current()
	}
	return s.readControl
}

// readControl reads what others have written: wishes and decisions. The count of their writes is taken before the reading and
// noted only after all of it, so that nothing that came in between is taken for read.
func (s *Session) readControl() state {
	stirred := s.control.watcher.ForeignWrites()
	err := s.control.readNew()
	switch {
	case err == nil && s.control.requests.Cancel != nil:
		return s.cancelTurn
	case err == nil && s.superseded():
		return s.interruptTurn
	}
	change := s.recorder.begin()
	if err == nil {
		err = s.permissions.readDecisions(change)
	}
	if !change.empty() {
		s.control.quiet = time.Now()
	}
	if err := s.recorder.commit(change); err != nil {
		return s.abandon(err)
	}
	if err != nil {
		return s.readAgain(err)
	}
	s.control.seen = stirred
	return s.notified
}

// superseded tells whether the turn that runs is to make room for a prompt that does not want to wait.
func (s *Session) superseded() bool {
	return s.turn.stop != nil && len(s.control.requests.Prompts) > 0 && s.control.requests.Prompts[0].WhenBusy == domain.WhenBusyInterrupt
}

// readAgain stays in the state: a database that is away for a moment must not cost the call that runs.
func (s *Session) readAgain(err error) state {
	s.control.postpone(err)
	return s.current()
}

func (s *Session) cancelTurn() state {
	if err := s.stopAgent(errCancelled); err != nil {
		return s.abandon(err)
	}
	return s.end(s.control.cancellation())
}

func (s *Session) interruptTurn() state {
	s.turn.reaches(turnSuperseded)
	if err := s.stopAgent(errSuperseded); err != nil {
		return s.abandon(err)
	}
	if s.turn.result == nil {
		return s.end(failed(domain.Failure{Code: domain.CodeAgentFailed, Message: "The agent did not stop for the next prompt."}))
	}
	return s.afterTurn
}

func (s *Session) timeOut() state {
	if err := s.stopAgent(errTimedOut); err != nil {
		return s.abandon(err)
	}
	return s.fail(timedOut(s.execution.Request.TimeoutSeconds))
}

// expire ends the approvals whose time is over, each in a change of its own: one that was answered at the last moment
// must not keep the others open. What became of them is then read like any other decision.
func (s *Session) expire() state {
	now := time.Now()
	for _, c := range s.calls.open {
		if expires := c.expires(); expires == nil || expires.After(now) {
			continue
		}
		end := s.permissions.expire
		if c.approval == nil {
			end = s.clients.expire
		}
		if err := end(c); err != nil {
			return s.abandon(err)
		}
		failpoint.Hit(failpoint.AfterExpiry)
	}
	return s.readControl
}

// rest waits while no turn runs, for at most so many seconds since it began to; 0 is for ever.
func (s *Session) rest(seconds int, over state) state {
	var deadline <-chan time.Time
	if seconds > 0 {
		timer := time.NewTimer(s.progress.Since.Add(time.Duration(seconds) * time.Second).Sub(s.recorder.clock.now()))
		defer timer.Stop()
		deadline = timer.C
	}
	return s.await(nil, deadline, over)
}

// stopSpending ends the execution, with all that was said so far.
func (s *Session) stopSpending() state {
	if err := s.stopAgent(errSpent); err != nil {
		return s.abandon(err)
	}
	return s.fail(*s.budget.spent)
}

// takePlace goes on with what is next, unless another execution has taken the place of this one. It tries again while the database is
// away.
func (s *Session) takePlace(next state) state {
	for {
		by, err := s.blocks.supersede()
		switch {
		case err == nil && by == "":
			return next
		case err == nil:
			s.control.requests.Cancel = s.blocks.supersededBy(by)
			return s.end(s.control.cancellation())
		}
		slog.Warn("cannot settle the place of generated blocks, trying again", "execution", s.execution.ID, "error", err)
		select {
		case <-time.After(readPause):
		case <-s.engine.draining:
			return s.handOff
		case <-s.claim.lease.Done():
			return s.abandon(err)
		}
	}
}
