package acp

import (
	"context"
	"errors"
	"sync"
	"time"

	"signoff/internal/sandbox/stdio"
)

// errTurnCancelled ends what the agent has asked for in a turn that was cancelled.
var errTurnCancelled = errors.New("the turn was cancelled")

// service counts what the agent has asked of us and is waiting for. All of it ends when a turn is cancelled: there is an
// agent that never ends its turn while a permission request has no answer.
type service struct {
	mu    sync.Mutex
	scope context.Context //nolint:containedctx // of all requests, and of the commands that they have started
	stop  context.CancelCauseFunc
	owed  int
	idle  chan struct{} // closes when nothing is owed; nil while nobody waits for it
}

// renew makes room for new requests after a cancelled turn. What is asked between the cancel and its answer is
// cancelled too.
func (s *service) renew(life context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.scope == nil || s.scope.Err() != nil {
		s.scope, s.stop = context.WithCancelCause(life)
	}
}

// end ends all requests and commands, and those that come before the next renew.
func (s *service) end(why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stop(why)
}

// enter begins to serve a request; the context ends with the request or with the service.
func (s *service) enter(ctx context.Context) (context.Context, func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.owed++
	scope := s.scope
	ctx, cancel := context.WithCancelCause(ctx)
	detach := context.AfterFunc(scope, func() { cancel(context.Cause(scope)) })
	if scope.Err() != nil {
		cancel(context.Cause(scope)) // now, and not a moment later
	}
	return ctx, func() {
		detach()
		cancel(nil)
		s.leave()
	}
}

func (s *service) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.owed--
	if s.owed == 0 && s.idle != nil {
		close(s.idle)
		s.idle = nil
	}
}

// owes tells whether the agent waits for an answer. Then it is not the agent that is silent.
func (s *service) owes() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.owed > 0
}

// settle waits until nothing is owed, at most for so long.
func (s *service) settle(grace time.Duration) {
	s.mu.Lock()
	if s.owed == 0 {
		s.mu.Unlock()
		return
	}
	if s.idle == nil {
		s.idle = make(chan struct{})
	}
	idle := s.idle
	s.mu.Unlock()
	stdio.Within(grace, idle)
}

// commands is the context of a command that the agent starts: it outlives the request, and may outlive the turn, but
// not a cancel.
func (s *service) commands() context.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.scope
}
