package sessions

import (
	"context"
	"errors"
	"time"

	"signoff/internal/domain"
	"signoff/internal/store"
)

// Session drives one execution. Its goroutine alone touches it and what belongs to it, but for what is marked otherwise.
type Session struct {
	engine      *Engine
	execution   *domain.Execution // its fields that never change; what changes is in progress
	claim       claim
	progress    *domain.Progress // the recorder's
	recorder    *recorder
	budget      *budget
	calls       *openCalls
	texts       *texts
	turn        *turnRun
	agent       agentHandle
	control     *control
	inbox       *inbox // what the agent has said
	rules       *rules
	clients     *clientCalls
	permissions *permissions
	blocks      generating
	recovers    bool  // it goes on from an earlier driver, or from the queue
	begun       bool  // the first turn began with the creation
	bell        int64 // as it stood when the execution was claimed
	exit        exit
}

// claim is the right to drive an execution.
type claim struct {
	epoch int64
	lease context.Context // ends when this replica may not write any more
}

// reading is the context of a query: it ends with the lease, since what comes later is nobody's business here.
func (c claim) reading() (context.Context, context.CancelFunc) {
	return context.WithTimeout(c.lease, readTimeout)
}

// readTimeout gives a query up that the database does not answer.
const readTimeout = 10 * time.Second

// exit is how a session leaves its execution.
type exit int

const (
	exitEnded    exit = iota
	exitReleased      // the execution is given back when the session has left
	exitParked        // nobody drives the execution any more
)

// generating is what a session knows of the blocks of its execution.
type generating struct {
	accepted bool // somebody has accepted the newest
	document *domain.Document
}

// state is a method of the session that stays in one state and returns the next; nil ends the session.
type state func() state

var errOver = errors.New("sessions: the session is over")

// Execution is the one that the session drives, as it was when the session was made.
func (s *Session) Execution() domain.Execution { return *s.execution }

// Cancel has the session end as soon as it runs. It is called before [Session.Run].
func (s *Session) Cancel(request *store.CancelRequest) { s.control.requests.Cancel = request }

// Recover has the session go on from the log of an earlier driver, or of an execution that was queued. The bell is how often somebody had
// written to the execution when it was claimed. It is called before [Session.Run].
func (s *Session) Recover(bell int64) {
	s.recovers, s.bell, s.control.quiet = true, bell, time.Time{}
}

// LetGo tells, when the session has left, whether the execution goes on without it.
func (s *Session) LetGo() bool { return s.exit != exitEnded }
