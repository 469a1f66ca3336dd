package sessions

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"signoff/internal/domain"
)

// The states of an execution, in the order in which a run visits them.

// queued is where every execution starts.
func (s *session) queued() state {
	if s.takenUp {
		return s.takeUp
	}
	d := &draft{}
	s.to(d, domain.StatusInitializing, "")
	if err := s.commit(d); err != nil {
		return s.abandon(err)
	}
	return s.initializing
}

// initializing opens the agent. An agent may be a process that takes its time, so the session listens meanwhile.
func (s *session) initializing() state {
	type opening struct {
		agent domain.Agent
		err   error
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	opened := make(chan opening, 1)
	go func() {
		var o opening
		defer func() {
			if r := recover(); r != nil {
				o.err = fmt.Errorf("sessions: opening the agent panicked: %v", r)
			}
			opened <- o
		}()
		o.agent, o.err = s.open(ctx, s.execution)
	}()
	for {
		select {
		case o := <-opened:
			s.agent = o.agent
			if o.err != nil {
				return s.finish(failed(domain.FailureOf(o.err)))
			}
			return s.begin
		case <-s.watcher.Bell():
			if wanted, _ := s.cancelled(); wanted { // what cannot be read now is read in the turn
				cancel(errOver)
				s.agent = (<-opened).agent
				return s.finish(s.cancellation())
			}
		case <-s.draining:
			cancel(errOver)
			s.agent = (<-opened).agent
			return s.handOver
		case <-s.lease.Done():
			cancel(errOver)
			s.agent = (<-opened).agent
			return s.abandon(context.Cause(s.lease))
		}
	}
}

// begin starts the turn, or goes on with the one that an earlier driver began.
func (s *session) begin() state {
	d := &draft{}
	d.add(domain.AgentStarted{Source: s.execution.Request.Source, Sandbox: s.sandbox.Name()})
	if s.turn == 0 {
		s.turn = 1
		d.add(domain.TurnStarted{Turn: s.turn})
	}
	s.to(d, domain.StatusWaiting, "")
	s.derive(d) // an approval of an earlier driver may be open
	if err := s.commit(d); err != nil {
		return s.abandon(err)
	}
	s.prompt()
	return s.sync
}

// prompt lets the agent run in a goroutine of its own; how it ends comes through the inbox like all that it says. The
// end of the lease reaches the agent also while the session itself waits for a database that does not answer.
func (s *session) prompt() {
	ctx, stop := context.WithCancelCause(s.lease)
	s.stop, s.gone = stop, make(chan struct{})
	s.clock = newClock(time.Duration(s.execution.Request.TimeoutSeconds) * time.Second)
	prompt := domain.Prompt{Turn: s.turn, Rounds: s.rounds, History: s.history()}
	h := &host{inbox: s.inbox, directory: s.execution.Request.WorkingDirectory, workspace: s.workspace, sandbox: s.sandbox}
	agent, inbox, gone := s.agent, s.inbox, s.gone
	go func() {
		result := &turnResult{}
		defer func() {
			if r := recover(); r != nil {
				result.err = fmt.Errorf("sessions: agent panicked: %v", r)
			}
			close(gone)
			_ = inbox.put(item{done: result}) // refused only where the session has left
		}()
		result.stop, result.err = agent.Prompt(ctx, h, prompt)
	}()
}

// waiting: the agent thinks, nothing has arrived.
func (s *session) waiting() state {
	s.clock.run()
	return s.listen()
}

// streaming: text or thought arrives.
func (s *session) streaming() state {
	s.clock.run()
	return s.listen()
}

// pendingToolApproval: a person is asked, and the time that people take is not the agent's.
func (s *session) pendingToolApproval() state {
	s.clock.pause()
	return s.listen()
}

// executingTool: a call runs.
func (s *session) executingTool() state {
	s.clock.run()
	return s.listen()
}

// current is the state method of the derived status.
func (s *session) current() state {
	switch s.status {
	case domain.StatusStreaming:
		return s.streaming
	case domain.StatusPendingToolApproval:
		return s.pendingToolApproval
	case domain.StatusExecutingTool:
		return s.executingTool
	default:
		return s.waiting
	}
}

// listen waits for the one thing that happens next in a turn.
func (s *session) listen() state {
	expiry, stopExpiry := s.nextExpiry()
	defer stopExpiry()
	select {
	case <-s.inbox.bell:
		return s.hear
	case <-s.watcher.Bell():
		return s.look
	case <-expiry:
		return s.expire
	case <-s.clock.out():
		return s.timeOut
	case <-s.again:
		s.again = nil
		return s.sync
	case <-s.draining:
		return s.handOver
	case <-s.lease.Done():
		return s.abandon(context.Cause(s.lease))
	}
}

// hear takes what the agent has said.
func (s *session) hear() state {
	if err := s.commit(s.absorb(s.inbox.take())); err != nil {
		return s.abandon(err)
	}
	if s.result != nil {
		return s.conclude
	}
	return s.current()
}

// look checks whether the bell was rung by somebody else.
func (s *session) look() state {
	if s.watcher.Stirred() == s.stirred {
		return s.current()
	}
	return s.sync
}

// sync reads what others have written: the wish to cancel, and decisions. The count of their writes is taken before
// the reading and noted only after all of it, so that nothing that came in between is taken for read.
func (s *session) sync() state {
	stirred := s.watcher.Stirred()
	wanted, err := s.cancelled()
	if wanted {
		return s.cancelTurn
	}
	var d *draft
	if err == nil {
		d, err = s.decisions()
	}
	if err != nil {
		return s.readAgain(err)
	}
	if err := s.commit(d); err != nil {
		return s.abandon(err)
	}
	s.stirred = stirred
	return s.look
}

// readPause is how long a session waits before it reads again what it could not read.
const readPause = 250 * time.Millisecond

// readAgain stays in the state: a database that is away for a moment must not cost the call that runs.
func (s *session) readAgain(err error) state {
	slog.Warn("cannot read, trying again", "execution", s.execution.ID, "error", err)
	s.again = time.After(readPause)
	return s.current()
}

// conclude ends the execution the way the agent ended its turn. A wish to cancel that came meanwhile goes first: some
// agents call a cancel an ordinary end, and some an error.
func (s *session) conclude() state {
	if wanted, _ := s.cancelled(); wanted { // what cannot be read is not known, and the turn has ended
		return s.finish(s.cancellation())
	}
	if s.result.err != nil {
		return s.finish(failed(domain.FailureOf(s.result.err)))
	}
	return s.finish(stopped(s.result.stop))
}

func (s *session) cancelTurn() state {
	if err := s.silence(errCancelled); err != nil {
		return s.abandon(err)
	}
	return s.finish(s.cancellation())
}

func (s *session) timeOut() state {
	if err := s.silence(errTimedOut); err != nil {
		return s.abandon(err)
	}
	return s.finish(timedOut(s.execution.Request.TimeoutSeconds))
}
