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

// queued is the first state of every execution.
func (s *Session) queued() state {
	switch {
	case s.recovers:
		return s.recover
	case s.control.requests.Cancel != nil: // it was created after its request was answered
		return s.end(s.control.cancellation())
	case s.begun && s.awaitsPrompt():
		return s.readControl
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

// initializing opens the agent. An agent may be a process that takes its time, so the session goes on reading.
func (s *Session) initializing() state {
	o := s.agent.opening
	if s.agent.opening = nil; o == nil {
		o = s.agent.beginOpening()
	}
	defer func() { s.agent.open = o.stop() }() // also if the session panics here: the process must not be left
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
			if s.control.readNew() == nil && s.control.requests.Cancel != nil { // a request that cannot be read now is read in the turn
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

// opened continues when the agent is open, or cannot be opened. The work of the execution is not lost with an agent that cannot be
// started or cannot load its session: a person may repair that, or choose to begin anew.
func (s *Session) opened(err error) state {
	switch {
	case err == nil:
		return s.begin
	case s.turn.stage == turnReopened && s.progress.Turn.Number == 1:
		return s.end(failed(domain.FailureOf(err))) // the agent has done nothing but exit
	case s.external() && s.progress.Turn.Number > 0:
		return s.interrupt(s.recorder.begin(), processGone(domain.FailureOf(err).Message))
	case errors.Is(err, domain.ErrProviderUnavailable):
		return s.interruptTurnOf(domain.CauseProvider, domain.FailureOf(err))
	default:
		return s.fail(failed(domain.FailureOf(err)))
	}
}

// waiting: the agent works, nothing has arrived. While it waits to repeat a request to its model, the clock stands still.
func (s *Session) waiting() state {
	if !s.awaitsRetry() {
		return s.listen()
	}
	due := time.NewTimer(time.Until(s.progress.RetryAt()))
	defer due.Stop()
	return s.await(nil, due.C, s.current)
}

// current is the state method of the execution's status.
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

// listen waits for the next event of a turn.
func (s *Session) listen() state {
	expiry, stopExpiry := s.calls.nextExpiry()
	defer stopExpiry()
	out, over, stopClock := s.timeLeft()
	defer stopClock()
	return s.await(expiry, out, over)
}

// timeLeft delivers when the active time of the turn is used up, by its time-out or by the budget; never while its clock stands still.
func (s *Session) timeLeft() (<-chan time.Time, state, func() bool) {
	left, limited := s.recorder.timeLeft()
	over := s.timeOut
	if rest, bounded := s.budget.timeLeft(); bounded && (!limited || rest < left) {
		left, limited, over = rest, true, s.spendTime
	}
	if !limited || !s.progress.Active() {
		return nil, nil, func() bool { return false }
	}
	timer := time.NewTimer(left)
	return timer.C, over, timer.Stop
}

// await waits for whatever comes first: a question expires, the time is over, or one of those events that can come in any state
// that waits. A channel that is nil never delivers.
func (s *Session) await(expiry, out <-chan time.Time, over state) state {
	s.yield(s.parking.waitsInTree())
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

// yield tells the dispatcher whether the place of the session is free for others.
func (s *Session) yield(yields bool) {
	if s.yields != yields {
		s.yields = yields
		s.engine.dispatch.Yield(s.execution.ID, yields)
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
	case s.rules.behind || s.delegates.behind:
		return s.readControl
	default:
		return s.current()
	}
}

// notified continues after a notification: it reads if somebody else has written.
func (s *Session) notified() state {
	if s.control.watcher.ForeignWrites() == s.control.seen {
		return s.current()
	}
	return s.readControl
}

// readControl reads what others have written: control requests and decisions. It counts their writes before it reads, and notes
// the count only afterwards, so that it does not miss what they write meanwhile.
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
		s.rollbacks.begin()
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
	if s.rules.behind || s.delegates.behind { // a question was just written, or a call began to wait for children
		return s.readControl
	}
	return s.notified
}

// superseded tells whether the turn has to make room for a prompt that interrupts.
func (s *Session) superseded() bool {
	return s.turn.stop != nil && len(s.control.requests.Prompts) > 0 && s.control.requests.Prompts[0].WhenBusy == domain.WhenBusyInterrupt
}

// readAgain stays in the state: a database that is away for a moment must not cost a running call.
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

func (s *Session) spendTime() state {
	s.budget.timeIsUp()
	return s.stopSpending
}

// expire ends the questions that have expired, each in a change of its own: a question that was answered in the last moment must
// not keep the others open. The outcomes are then read like any other decision.
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

// rest waits while no turn runs, at most so many seconds; 0 is for ever.
func (s *Session) rest(seconds int, over state) state {
	var deadline <-chan time.Time
	if seconds > 0 {
		timer := time.NewTimer(s.progress.Since.Add(time.Duration(seconds) * time.Second).Sub(s.recorder.clock.now()))
		defer timer.Stop()
		deadline = timer.C
	}
	return s.await(nil, deadline, over)
}

// stopSpending ends the execution, whose budget is used up, and keeps everything that was said.
func (s *Session) stopSpending() state {
	if err := s.stopAgent(errSpent); err != nil {
		return s.abandon(err)
	}
	return s.fail(*s.budget.spent)
}

// takePlace goes on with next, unless a newer execution generates blocks for the same place. It tries again while the database is
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
