package sessions

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"signoff/internal/audit"
	"signoff/internal/domain"
	"signoff/internal/events"
	"signoff/internal/failpoint"
	"signoff/internal/store"
)

// Session drives one execution. Its goroutine alone touches it, but for what is marked otherwise.
type Session struct {
	deps      *Engine
	execution domain.Execution // its fields that never change; what changes is in progress
	claim     claim
	progress  *domain.Progress // what the log implies; only [Session.emit] changes it
	clock     clock            // of the events
	length    int64            // of the log, as far as this session knows
	turn      turnRun
	agent     agentHandle
	control   control
	inbox     *inbox // what the agent has said
	masking   masking
	calls     map[string]*call           // those of progress, with what the log does not hold
	decided   map[string]domain.Approval // answers to questions of an earlier driver, by call, until the agent asks again
	rules     rules
	blocks    generating
	spent     *outcome // the budget is used up
	held      *draft   // what the agent said last, as it came with the end of the turn; nil: all is written
}

// claim is the right to drive an execution, and how it was got and goes.
type claim struct {
	epoch    int64
	lease    context.Context // ends when this replica may not write any more
	recovers bool            // from an earlier driver, or from the queue
	begun    bool            // the first turn began with the creation
	bell     int64           // as it stood when the execution was claimed
	released bool            // the execution is given back when the session has left
	parked   bool            // nobody drives the execution any more
}

// control is what others want of the execution, and when the session looks again.
type control struct {
	watcher  *events.Watcher
	requests store.ControlRequests // as last read
	seen     int                   // the writes of others that have been read
	again    <-chan time.Time      // rings when a reading that failed is to be tried again; nil otherwise
	quiet    time.Time             // since when nothing has happened; zero: it was taken up, and nothing has yet
}

// call is a tool call without an outcome.
type call struct {
	domain.ToolCall                    // as it was asked about last
	of              *domain.Progress   // the session's
	ask             *ask               // the agent waits for an answer
	unjudged        bool               // the policy has not said yet what becomes of it
	judging         *judging           // it is being judged; nil otherwise
	judgedBy        []string           // ids of the rules that it was judged by last
	came            audit.Provenance   // who or what let it run, or did not
	approval        *domain.Approval   // a person is asked
	slot            *slot              // of a command that runs, or waits for it
	delayed         *delayed           // the start of a command that waits for its slot
	client          *domain.ClientCall // the client runs it
	refusal         *refusal           // of a call that an external agent began before it asked
	retry           *domain.Decision   // of a lost one: who wants it tried again
}

// logged is what the log tells of the call; the zero value where it has its outcome.
func (c *call) logged() domain.OpenCall {
	if open := c.of.Calls[c.ID]; open != nil {
		return *open
	}
	return domain.OpenCall{}
}

// running tells whether the call has started.
func (c *call) running() bool { return c.logged().Running }

// lost tells whether its server stopped while it ran, and it has not started again.
func (c *call) lost() bool { return c.logged().Lost }

// generation is the one that it has handed in; 0: none.
func (c *call) generation() int { return c.logged().Generation }

// refusal is the outcome of a call that was refused, should its agent not say that it has succeeded all the same.
type refusal struct {
	outcome domain.Outcome
	failure domain.Failure
}

// state is a method of the session that stays in one state and returns the next; nil ends the session.
type state func() state

// Execution is the one that the session drives, as it was when the session was made.
func (s *Session) Execution() domain.Execution { return s.execution }

// Cancel has the session end as soon as it runs. It is called before [Session.Run].
func (s *Session) Cancel(request *store.CancelRequest) { s.control.requests.Cancel = request }

// Recover has the session go on from the log of an earlier driver, or of an execution that was queued. The bell is how often somebody had
// written to the execution when it was claimed. It is called before [Session.Run].
func (s *Session) Recover(bell int64) {
	s.claim.recovers, s.claim.bell, s.control.quiet = true, bell, time.Time{}
}

// LetGo tells, when the session has left, whether the execution goes on without it.
func (s *Session) LetGo() bool { return s.claim.released || s.claim.parked }

// Dismiss lets a session go that was never run.
func (s *Session) Dismiss() {
	s.control.watcher.Close()
	s.closeAgent()
	s.deps.dispatch.Left(s)
}

// Run drives the execution until it has ended, or is let go of. A bug in a session must not take the server down with all the others, and
// must not leave an execution that looks alive.
func (s *Session) Run() {
	defer s.leave()
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

// crashed books the execution as failed, unless what it would write is what panics.
func (s *Session) crashed() {
	defer func() {
		if r := recover(); r != nil {
			s.abandon(fmt.Errorf("sessions: panic after panic: %v", r))
		}
	}()
	// What was about to be written when it panicked is not in the log, and must not be gone on from.
	if _, err := s.readLog(nil); err != nil {
		s.abandon(err)
		return
	}
	s.attachCalls()
	if err := s.silence(errCrashed); err != nil {
		s.abandon(err)
		return
	}
	s.finish(failed(domain.FailureOf(errCrashed)))
}

var errCrashed = errors.New("sessions: panic")

// leave ends the agent and only then lets go of the execution: whoever drives it next may be this server, at once, and
// the tools of two drivers must never run together.
func (s *Session) leave() {
	s.inbox.close(errOver)
	s.control.watcher.Close()
	s.vacate((*call).awaitsSlot)
	if s.turn.stop != nil {
		s.turn.stop(errOver)
		s.outlive()
	}
	s.closeAgent()
	s.vacate(func(*call) bool { return true })
	if s.claim.released {
		s.deps.dispatch.Release(s.execution.ID, s.claim.epoch)
	}
	s.deps.dispatch.Left(s)
}

func (s *Session) vacate(which func(*call) bool) {
	for _, c := range s.calls {
		if which(c) {
			c.vacate()
		}
	}
}

func (s *Session) closeAgent() {
	if s.agent.opening != nil {
		s.agent.open, s.agent.opening = s.agent.opening.stop(), nil
	}
	if s.agent.open == nil {
		return
	}
	failpoint.Hit(failpoint.AgentClosing)
	if err := s.agent.open.Close(); err != nil {
		slog.Warn("agent did not close cleanly", "execution", s.execution.ID, "error", err)
	}
	failpoint.Hit(failpoint.AgentClosed)
	s.agent.open, s.agent.exited = nil, false
}

// external tells whether the agent is a process that keeps a history of its own.
func (s *Session) external() bool { return s.execution.Request.Source.Type == domain.SourceACP }

// now is the turn that a fact belongs to; 0 between two turns.
func (s *Session) now() int {
	if s.progress.Turn.Open {
		return s.progress.Turn.Number
	}
	return 0
}

// outlive waits until Prompt has returned, however long that takes.
func (s *Session) outlive() {
	late := time.NewTimer(StopGrace)
	defer late.Stop()
	for {
		select {
		case <-s.turn.gone:
			return
		case <-late.C:
			slog.Error("agent does not return although its session is over", "execution", s.execution.ID)
		}
	}
}

var errOver = errors.New("sessions: the session is over")

// attempt commits a change that may be refused, because somebody else was faster: then the session is as it was before, and looks again.
// Nothing else is committed while it is drafted.
func (s *Session) attempt(drafted func() *draft) error {
	before := s.progress.Clone()
	err := s.commit(drafted())
	if err != nil {
		*s.progress = *before
	}
	return err
}

// tellHeld writes what is held where nothing else follows it: half an answer, of a turn that the next driver goes on with.
func (s *Session) tellHeld() error {
	d := s.held
	if d == nil {
		return nil
	}
	s.held = nil
	return s.commit(d)
}

// commit writes a draft and answers those who wait for it. What the agent said last goes with the end of the turn: both
// came in the same moment, and are one commit. While the database is away it tries again: the agent goes
// on into the inbox meanwhile. It gives up where the lease is lost, where the change is refused, and where nobody can
// tell whether it was written.
func (s *Session) commit(d *draft) error {
	if d.empty() { // nothing to write, but perhaps somebody to answer
		d.answer()
		return nil
	}
	if s.held != nil {
		d = d.after(s.held)
	}
	change := d.change(s)
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, 2*time.Second) {
		d.passBefore()
		outcome, err := s.deps.log.Commit(s.claim.lease, change)
		if err == nil {
			s.length = max(s.length, outcome.LastSeq)
		}
		if err == nil && s.claim.lease.Err() != nil {
			return context.Cause(s.claim.lease) // it is written, but nothing may start under it any more
		}
		if err == nil {
			s.held = nil
			d.passAfter()
			if s.deps.committed != nil {
				s.deps.committed(s.execution.ID, outcome.LastSeq, s.progress)
			}
			d.answer()
			return nil
		}
		if domain.CodeOf(err) != domain.CodeStorage || errors.Is(err, store.ErrUnknownOutcome) {
			return err
		}
		slog.Warn("cannot write, trying again", "execution", s.execution.ID, "error", err)
		select {
		case <-time.After(wait):
		case <-s.claim.lease.Done():
			return err
		}
	}
}

// abandon ends the session without a further write. Whoever claims the execution next goes on from the log.
func (s *Session) abandon(why error) state {
	slog.Warn("session abandoned", "execution", s.execution.ID, "epoch", s.claim.epoch, "why", why)
	s.claim.released = true
	return nil
}
