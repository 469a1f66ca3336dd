package sessions

import (
	"errors"
	"time"

	"signoff/internal/domain"
	"signoff/internal/store"
)

// An execution that waits for somebody needs neither a goroutine nor a process. After a while in which nothing has happened
// it is parked: a row that whoever writes to it wakes, or its next expiry, on any replica. One that waits to repeat a request to its model
// is parked at once, where that is not soon.

var errPark = errors.New("sessions: the execution is parked")

// park lets the agent and then the execution go. The bell is read first: what was written before that is read here, and what
// is written after it has the parking refused.
func (s *Session) park() state {
	select {
	case <-s.inbox.ready:
		return s.readInbox
	default:
	}
	s.control.quiet = time.Now() // should it not come to it, then not at once again
	ctx, cancel := s.claim.reading()
	defer cancel()
	head, err := s.engine.store.Head(ctx, s.execution.ID)
	if err == nil {
		err = s.control.read()
	}
	if err != nil {
		return s.readAgain(err)
	}
	if s.control.wanted() {
		return s.readControl
	}
	change := s.recorder.begin()
	unread, decided := s.permissions.readDecisions(change), !change.empty()
	if err := s.recorder.commit(change); err != nil {
		return s.abandon(err)
	}
	switch {
	case unread != nil:
		return s.readAgain(unread)
	case decided:
		return s.readControl
	}
	return s.suspend(head.ForeignWrites)
}

// suspend stops the agent and gives the execution to whoever claims it when it wakes. An agent that comes to its end at this
// very moment has the last word.
func (s *Session) suspend(bell int64) state {
	s.turn.reaches(turnHandsOff)
	if err := s.stopAgent(errPark); err != nil {
		return s.abandon(err)
	}
	if err := s.texts.releaseAll(); err != nil {
		return s.abandon(err)
	}
	switch {
	case s.turn.endedByItself():
		s.turn.stage = turnStopped // nobody else goes on with it
		return s.afterTurn
	case s.turn.stop != nil && s.turn.result == nil: // it does not return, and nobody else may begin before it has
		return s.release()
	}
	s.agent.close()
	// Nobody can get any further before somebody answers: it has not been recovered in vain.
	change := s.recorder.begin()
	change.advanced, change.park = true, &store.Park{ForeignWrites: bell, Until: s.parking.wakes()}
	err := s.recorder.commit(change)
	switch {
	case domain.CodeOf(err) == domain.CodeStale: // somebody has just written
		return s.release()
	case err != nil:
		return s.abandon(err)
	}
	s.exit = exitParked
	return nil
}

// parkAgain closes what broke off with the earlier driver and parks the execution at once.
func (s *Session) parkAgain() state {
	newer, err := s.permissions.newerRules()
	if err != nil {
		return s.abandon(err)
	}
	if newer {
		s.engine.dispatch.Recovered(s)
		return s.recoverTurn
	}
	change := s.recorder.begin()
	s.texts.close(change, false)
	if err := s.recorder.commit(change); err != nil {
		return s.abandon(err)
	}
	return s.suspend(s.foreignWrites)
}
