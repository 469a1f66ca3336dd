package sessions

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"

	"signoff/internal/domain"
)

// Run drives the execution until it has ended, or the session releases it. A bug in a session must not take the server down with
// all the others, and must not leave an execution that looks alive.
func (s *Session) Run() {
	defer s.close()
	defer func() {
		if r := recover(); r != nil {
			slog.Error("session panicked", "execution", s.execution.ID, "panic", r, "stack", string(debug.Stack()))
			s.crashed()
		}
	}()
	for next := state(s.queued); next != nil; {
		next = next()
	}
}

// Discard ends a session that was never run.
func (s *Session) Discard() {
	s.control.watcher.Close()
	s.agent.close()
	s.checkpointing.close()
	s.engine.dispatch.Exited(s)
}

// crashed fails the execution, unless the end panics, too.
func (s *Session) crashed() {
	defer func() {
		if r := recover(); r != nil {
			s.abandon(fmt.Errorf("sessions: panic after panic: %v", r))
		}
	}()
	// The log does not have what was about to be written, so the session must not continue from that.
	if _, err := s.recorder.replay(nil); err != nil {
		s.abandon(err)
		return
	}
	s.recorder.held = nil
	s.calls.attach()
	if err := s.stopAgent(errCrashed); err != nil {
		s.abandon(err)
		return
	}
	s.end(failed(domain.FailureOf(errCrashed)))
}

var errCrashed = errors.New("sessions: panic")

// close ends the agent and only then releases the execution: the next driver may be this server, at once, and the tools of two
// drivers must never run together.
func (s *Session) close() {
	s.inbox.close(errOver)
	s.control.watcher.Close()
	s.calls.releaseSlots((*call).awaitsSlot)
	if s.turn.stop != nil {
		s.turn.stop(errOver)
		s.turn.outlive(s.execution.ID)
	}
	s.agent.close()
	s.checkpointing.close()
	s.calls.releaseSlots(func(*call) bool { return true })
	if s.exit == exitReleased {
		s.engine.dispatch.Release(s.execution.ID, s.claim.epoch)
	}
	s.engine.dispatch.Exited(s)
}
