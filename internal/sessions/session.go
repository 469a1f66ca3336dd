package sessions

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
	"time"

	"signoff/internal/approvals"
	"signoff/internal/audit"
	"signoff/internal/domain"
	"signoff/internal/events"
	"signoff/internal/failpoint"
	"signoff/internal/secrets"
	"signoff/internal/store"
)

// session drives one execution. Its goroutine is the only one that touches the fields below the line.
type session struct {
	*Manager
	execution domain.Execution // its fields that never change; what changes is below
	epoch     int64
	takenUp   bool                 // from an earlier driver, or from the queue
	contested bool                 // it was claimed again before this session had left; guarded by Manager.mu
	arriving  bool                 // it reads what that left; guarded by Manager.mu
	summoned  bool                 // somebody else has written to it; guarded by Manager.mu
	rung      int64                // the bell, as it stood when it was taken up
	resumed   *domain.Conversation // what that left, once it was read
	inbox     *inbox
	watcher   *events.Watcher
	lease     context.Context // ends when this replica may not write any more
	departed  chan struct{}   // closes when it has left, and its agent with it

	// ———

	status     domain.Status
	length     int64                 // of the log, as far as this session knows
	cause      domain.InterruptCause // of the newest interruption
	turn       int
	inTurn     bool                 // the turn has begun and not ended
	promptText string               // what the person says in this turn
	options    domain.ChosenOptions // of an external agent, set by the turns that have ended
	setting    map[string]string    // options that this turn sets
	rounds     int
	round      string // message id of the round that was counted last
	usage      domain.Usage
	texts      map[string]*openText // messages, thoughts and outputs that have begun, by kind and id
	said       spoken
	repairs    int // how often this turn's answer was asked for before
	executed   []domain.ExecutedToolCall
	blocks     generating
	calls      map[string]*call           // without a fate
	decided    map[string]domain.Approval // answers to questions of an earlier driver, by call, until the agent asks again
	results    map[string]string          // what take-up told the model of calls that it closed
	closed     map[string]bool            // calls that had their fate
	whole      map[string]bool            // texts of this turn that were completed
	policy     approvals.Policy           // with the rules as they were last read
	behind     bool                       // an open question has not been held against the rules of today
	spent      *outcome                   // the budget is used up
	warned     map[string]bool            // bounds of the budget that were warned of
	began      domain.Usage               // of the execution when the turn began
	stirred    int                        // the writes of others that have been read
	verdicts   chan struct{}              // rings when a judgement that took a while is there
	again      <-chan time.Time           // rings when a reading that failed is to be tried again; nil otherwise
	flowing    bool                       // text arrives
	retryAt    time.Time                  // when a request to the model that failed is repeated; in the past: none is waited for
	closing    bool                       // the turn is being stopped: whoever asks is told that nobody will answer
	leaving    bool                       // the execution is handed over: whoever asks waits for the next driver
	clock      *clock
	wishes     store.ControlRequests // what others want of it, as last read
	since      time.Time             // when it became idle or interrupted
	quiet      time.Time             // since when nothing has happened; zero: it was taken up, and nothing has yet

	agent        domain.Agent // nil where its process is gone, or was not needed yet
	exited       bool         // the agent's process has ended by itself, or broke down: the next prompt starts it again
	agentSession string       // as the agent calls it, where it can take it up again
	loading      string       // the agent session that is taken up when the agent is opened
	fresh        bool         // the agent was just opened and remembers nothing of earlier turns
	continued    *domain.TurnContinued
	interrupting bool // the turn is stopped for the sake of another prompt
	toldNo       bool // a question of this turn was answered with no
	reopened     bool // the agent was gone before it heard the prompt of this turn

	stop     context.CancelCauseFunc // ends the turn; nil where none runs
	gone     chan struct{}           // closes when Prompt has returned
	result   *turnResult             // how the turn ended; nil before
	released bool                    // the execution is given back when the session has left
	parked   bool                    // nobody drives the execution any more
}

// call is a tool call without a fate.
type call struct {
	domain.ToolCall
	ask        *ask             // the agent waits for an answer
	unjudged   bool             // the policy has not said yet what becomes of it
	judging    *judging         // it is being judged; nil otherwise
	judgedBy   []string         // ids of the rules that it was judged by last
	came       audit.Provenance // who or what let it run, or did not
	sandbox    string           // what confines it, for a command of our own that runs
	approval   *domain.Approval // a person is asked
	slot       *slot            // of a command that runs, or waits for it
	delayed    *delayed         // the start of a command that waits for its slot
	running    bool
	client     *domain.ClientCall // the client runs it
	generation int                // that it has handed in; 0: none
	refusal    *refusal           // of a call that an external agent began before it asked
	left       *domain.OpenCall   // what the log told of it when it was taken up; nil: it came to this session
	lost       bool               // its server stopped while it ran, and it has not started again
	retry      *domain.Decision   // of a lost one: who wants it tried again
}

// refusal is the fate of a call that was refused, should its agent not say that it has succeeded all the same.
type refusal struct {
	fate    domain.Fate
	failure domain.Failure
}

// openText is a message or thought that has begun.
type openText struct {
	id      string
	thought bool
	length  int  // UTF-8 bytes so far
	whole   bool // nothing is missing, it was only not closed
	masking *secrets.Stream
}

// spoken keeps the newest message of the agent: what it said last is the output of the execution. A message that was
// interrupted, with an agent that went on without it, is none of that: a model whose answer broke off in the middle and that had
// nothing to say in its next attempt would have half a sentence for its answer.
type spoken struct {
	id          string
	text        strings.Builder
	cut         bool // text is only the beginning
	interrupted bool

	whole    string // the newest message that was not interrupted
	wholeCut bool
}

func (s *spoken) add(id, text string) {
	if s.id != id {
		s.id = id
		s.text.Reset()
		s.cut, s.interrupted = false, false
	}
	room := outputBytes - s.text.Len()
	if len(text) > room {
		s.cut = true
		text = strings.ToValidUTF8(text[:max(0, room)], "")
	}
	s.text.WriteString(text)
}

// completed notes how a message ended.
func (s *spoken) completed(m domain.MessageCompleted) {
	switch {
	case m.MessageID != s.id:
	case m.Interrupted:
		s.interrupted = true
	default:
		s.whole, s.wholeCut = s.text.String(), s.cut
	}
}

// last is what the agent said last. Where all went well that is whole; otherwise it may be what it was about to say.
func (s *spoken) last(well bool) (text string, cut bool) {
	if well && s.interrupted {
		return s.whole, s.wholeCut
	}
	return s.text.String(), s.cut
}

// outputBytes bounds the output. The whole of it is in the log; kept in one piece, a message without an end would take the
// memory of the server, and then of whoever reads the execution.
const outputBytes = 1 << 20

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

// leave ends the agent and only then lets go of the execution: whoever drives it next may be this server, at once, and
// the tools of two drivers must never run together.
func (s *session) leave() {
	s.inbox.close(errOver)
	s.watcher.Close()
	s.vacate((*call).awaitsSlot)
	if s.stop != nil {
		s.stop(errOver)
		s.outlive()
	}
	s.closeAgent()
	s.vacate(func(*call) bool { return true })
	if s.released {
		s.orphan(s.execution.ID, s.epoch)
	}
	s.left(s)
}

func (s *session) vacate(which func(*call) bool) {
	for _, c := range s.calls {
		if which(c) {
			c.vacate()
		}
	}
}

func (s *session) closeAgent() {
	if s.agent == nil {
		return
	}
	failpoint.Hit(failpoint.AgentClosing)
	if err := s.agent.Close(); err != nil {
		slog.Warn("agent did not close cleanly", "execution", s.execution.ID, "error", err)
	}
	failpoint.Hit(failpoint.AgentClosed)
	s.agent, s.exited = nil, false
}

// external tells whether the agent is a process that keeps a history of its own.
func (s *session) external() bool { return s.execution.Request.Source.Type == domain.SourceACP }

// now is the turn that a fact belongs to; 0 between two turns.
func (s *session) now() int {
	if s.inTurn {
		return s.turn
	}
	return 0
}

// outlive waits until Prompt has returned, however long that takes.
func (s *session) outlive() {
	late := time.NewTimer(stopGrace)
	defer late.Stop()
	for {
		select {
		case <-s.gone:
			return
		case <-late.C:
			slog.Error("agent does not return although its session is over", "execution", s.execution.ID)
		}
	}
}

var errOver = errors.New("sessions: the session is over")

// commit writes a draft and answers those who wait for it. While the database is away it tries again: the agent goes
// on into the inbox meanwhile. It gives up where the lease is lost, where the change is refused, and where nobody can
// tell whether it was written.
func (s *session) commit(d *draft) error {
	if d.empty() { // nothing to write, but perhaps somebody to answer
		d.answer()
		return nil
	}
	change := d.change(s)
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, 2*time.Second) {
		d.passBefore()
		outcome, err := s.log.Commit(s.lease, change)
		if err == nil {
			s.length = max(s.length, outcome.LastSeq)
		}
		if err == nil && s.lease.Err() != nil {
			return context.Cause(s.lease) // it is written, but nothing may start under it any more
		}
		if err == nil {
			d.passAfter()
			for _, call := range d.executed {
				s.executed = domain.AppendExecuted(s.executed, call)
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
		case <-s.lease.Done():
			return err
		}
	}
}

// abandon ends the session without a further write. Whoever claims the execution next goes on from the log.
func (s *session) abandon(why error) state {
	slog.Warn("session abandoned", "execution", s.execution.ID, "epoch", s.epoch, "why", why)
	s.released = true
	return nil
}
