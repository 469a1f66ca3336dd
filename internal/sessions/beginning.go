package sessions

import (
	"log/slog"
	"runtime/debug"

	"signoff/internal/domain"
	"signoff/internal/store"
)

// An execution whose agent is there at once begins with its creation: one commit writes both, and who created it does not wait for
// four before the agent says its first word. All others are created queued, and their sessions write the rest.

// beginWith puts the beginning of the first turn into the change that creates the execution, where it can, and returns what it has put
// there. The agent is not asked anything before that is written: of a key that was used before nothing must be asked twice.
//
// A bug in an agent must not take the request and a place of the server with it: the session runs into it again, and ends the execution.
func (s *session) beginWith(creation *store.Change) (d *draft) {
	d = &draft{}
	defer func() {
		if r := recover(); r != nil {
			slog.Error("the beginning panicked", "execution", s.execution.ID, "panic", r, "stack", string(debug.Stack()))
			s.closeAgent()
			s.watcher.Close()
			anew := s.session(s.execution, s.epoch, s.lease)
			s.mu.Lock() // the manager looks at the sessions that live
			*s, d = *anew, &draft{}
			s.mu.Unlock()
		}
	}()
	if s.external() || place(s.execution.Request) != "" { // a process takes its time; another execution may have to make room
		return d
	}
	s.opening = s.beginToOpen()
	if !s.opening.soon() {
		return d
	}
	s.agent, s.opening = s.opening.agent, nil
	s.to(d, domain.StatusInitializing, "")
	s.introduce(d)
	s.startTurn(d)
	s.to(d, domain.StatusWaiting, "")
	s.settleAccounts(d)
	s.begun = true
	creation.Events = append(creation.Events, d.change(s).Events...)
	creation.Create.Execution.Status, creation.Create.Execution.Turn = s.status, s.turn
	return d
}

// goOn lets the agent of a turn run whose beginning is in the log.
func (s *session) goOn() state {
	if s.spent != nil {
		return s.stopSpending
	}
	if err := s.prompt(); err != nil {
		return s.abandon(err)
	}
	return s.sync
}
