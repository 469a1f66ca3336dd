package sessions

import (
	"log/slog"
	"runtime/debug"

	"signoff/internal/domain"
	"signoff/internal/store"
)

// An execution whose agent is opened at once begins with its creation: one commit writes both. All others are created queued, and
// their sessions write the beginning. Without this, short executions cost a third more processor time (scripts/bench.sh -only
// turns).

// Create takes the change that creates the execution, with its first event, and adds the beginning of the first turn if it can.
// The caller commits the change, then calls the function that Create returns, and then [Session.Run].
func (s *Session) Create(creation *store.Change) (created func()) {
	if err := s.progress.Apply(creation.Events[0]); err != nil {
		panic(err) // it was just made
	}
	change := s.beginWith(creation)
	change.passBefore()
	return change.passAfter
}

// beginWith adds the beginning of the first turn to the change that creates the execution, if it can, and returns what it has
// added. The agent is prompted only after the commit: a repeated request with the same key must not prompt it twice.
//
// A bug in an agent must not take the request and a place of the server with it: the session meets the bug again, and ends the
// execution.
func (s *Session) beginWith(creation *store.Change) (change *changeSet) {
	change = s.recorder.begin()
	created, agent, agentSession := *s.progress.Clone(), *s.agent, s.recorder.agentSession
	defer func() {
		if r := recover(); r != nil {
			slog.Error("the beginning panicked", "execution", s.execution.ID, "panic", r, "stack", string(debug.Stack()))
			s.agent.close()
			*s.progress, *s.agent, s.recorder.agentSession, s.budget.spent, change = created, agent, agentSession, nil, s.recorder.begin()
		}
	}()
	if s.external() || s.execution.Request.OwnFolder != nil || s.execution.Request.Place() != "" { // a process or a folder takes its time; another execution may have to make room
		return change
	}
	s.agent.opening = s.agent.beginOpening()
	if !s.agent.opening.soon() {
		return change
	}
	s.agent.open, s.agent.opening = s.agent.opening.agent, nil
	change.to(domain.StatusInitializing, "")
	s.agent.introduce(change)
	if s.awaitsPrompt() {
		change.to(domain.StatusIdle, "")
	} else {
		s.startTurn(change)
		change.to(domain.StatusWaiting, "")
	}
	s.budget.settle(change)
	s.begun = true
	creation.Events = append(creation.Events, change.events...)
	creation.Create.Execution.Status, creation.Create.Execution.Turn = s.progress.Status, s.progress.Turn.Number
	return change
}
