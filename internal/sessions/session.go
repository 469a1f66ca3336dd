package sessions

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
	"time"

	"signoff/internal/domain"
	"signoff/internal/events"
	"signoff/internal/store"
)

// session drives one execution. Its goroutine is the only one that touches the fields below the line.
type session struct {
	*Manager
	execution domain.Execution // its fields that never change; what changes is below
	epoch     int64
	resumed   *domain.Conversation // what an earlier driver left; nil for a new execution
	inbox     *inbox
	watcher   *events.Watcher
	lease     context.Context // ends when this replica may not write any more
	drain     <-chan struct{} // closes when the server shuts down

	// ———

	status   domain.Status
	turn     int
	rounds   int
	round    string // message id of the round that was counted last
	usage    domain.Usage
	texts    map[string]*openText // messages, thoughts and outputs that have begun, by kind and id
	said     spoken
	calls    map[string]*call           // without a fate
	earlier  map[string]domain.Approval // approvals that an earlier driver asked for, by call
	results  map[string]string          // what take-up told the model of calls that it closed
	rules    []domain.PermissionRule
	stirred  int
	doubtful bool // an approval may have been decided before we listened
	flowing  bool // text arrives
	closing  bool // the turn is being stopped: nothing new is answered
	clock    *clock
	agent    domain.Agent
	stop     context.CancelCauseFunc // ends the turn; nil before it
	result   *turnResult             // how the turn ended; nil before
	wish     *store.CancelRequest    // somebody wants it cancelled
}

// call is a tool call without a fate.
type call struct {
	domain.ToolCall
	ask      *ask             // the agent waits for an answer
	approval *domain.Approval // a person is asked
	running  bool
}

// openText is a message or thought that has begun.
type openText struct {
	id      string
	thought bool
	length  int // UTF-8 bytes so far
}

// spoken keeps the newest message of the agent: what it said last is the output of the execution.
type spoken struct {
	id   string
	text strings.Builder
}

func (s *spoken) add(id, text string) {
	if s.id != id {
		s.id = id
		s.text.Reset()
	}
	s.text.WriteString(text)
}

// state is a method of the session that stays in one state and returns the next; nil ends the session.
type state func() state

// run goes from state to state. A bug in a session must not take the server down with all the others, and must not
// leave an execution that looks alive.
func (s *session) run() {
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
func (s *session) crashed() {
	defer func() {
		if r := recover(); r != nil {
			s.abandon(fmt.Errorf("sessions: panic after panic: %v", r))
		}
	}()
	if err := s.silence(errCrashed); err != nil {
		s.abandon(err)
		return
	}
	s.finish(failed(domain.FailureOf(errCrashed)))
}

var errCrashed = errors.New("sessions: panic")

func (s *session) leave() {
	s.inbox.close(errOver)
	s.watcher.Close()
	if s.stop != nil {
		s.stop(errOver)
	}
	if s.agent != nil {
		if err := s.agent.Close(); err != nil {
			slog.Warn("agent did not close cleanly", "execution", s.execution.ID, "error", err)
		}
	}
	s.left(s)
}

var errOver = errors.New("sessions: the session is over")

// commit writes a draft and answers those who wait for it. While the database is away it tries again: the agent goes
// on into the inbox meanwhile. It gives up where the lease is lost, where the change is refused, and where nobody can
// tell whether it was written.
func (s *session) commit(d *draft) error {
	if d.empty() {
		return nil
	}
	change := d.change(s)
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, 2*time.Second) {
		_, err := s.log.Commit(context.Background(), change)
		if err == nil {
			d.answer()
			return nil
		}
		if domain.CodeOf(err) != domain.CodeStorage || errors.Is(err, store.ErrUnknownOutcome) {
			return err
		}
		slog.Warn("cannot write, trying again", "execution", s.execution.ID, "error", err)
		select {
		case <-time.After(wait):
		case <-s.lease.Done():
			return err
		}
	}
}

// abandon ends the session without a further write. Whoever claims the execution next goes on from the log; it may be
// this server, at once, so what the agent runs must be dead before.
func (s *session) abandon(why error) state {
	slog.Warn("session abandoned", "execution", s.execution.ID, "epoch", s.epoch, "why", why)
	s.mute()
	s.orphan(s.execution.ID, s.epoch)
	return nil
}

// mute stops the agent and waits until it has returned, or its grace is over. What it still says is not heard.
func (s *session) mute() {
	if s.stop == nil || s.result != nil {
		return
	}
	s.stop(errOver)
	grace := time.NewTimer(stopGrace)
	defer grace.Stop()
	for {
		select {
		case <-s.inbox.bell:
			for _, i := range s.inbox.take() {
				if i.done != nil {
					return
				}
			}
		case <-grace.C:
			slog.Error("agent did not return after its session was abandoned", "execution", s.execution.ID)
			return
		}
	}
}
