package sessions

import (
	"errors"
	"time"

	"signoff/internal/domain"
	"signoff/internal/store"
)

// An execution that waits for somebody needs neither a goroutine nor a process. If nothing happens for a while, it is parked: only
// a row is left, which wakes when somebody writes to the execution, or when something expires, on any replica. An execution that
// waits to repeat a request to its model is parked at once, unless the wait is short.

var errPark = errors.New("sessions: the execution is parked")

// park suspends the execution if nothing has happened since. It counts the writes of others before it reads them: if somebody
// writes later, the parking is refused.
func (s *Session) park() state {
	select {
	case <-s.inbox.ready:
		return s.readInbox
	default:
	}
	s.control.quiet = time.Now() // if it is not parked now, it is not tried again at once
	if s.parking.keptRunning() {
		return s.current()
	}
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
	case !s.parking.possible(): // a child has just ended its turn
		return s.current()
	}
	return s.suspend(head.ForeignWrites)
}

// suspend stops the agent and parks the execution, for the driver that acquires it when it wakes. If the agent ends its turn at
// this moment, the turn ends instead.
func (s *Session) suspend(foreignWrites int64) state {
	s.turn.reaches(turnHandsOff)
	if err := s.stopAgent(errPark); err != nil {
		return s.abandon(err)
	}
	if err := s.texts.releaseAll(); err != nil {
		return s.abandon(err)
	}
	switch {
	case s.turn.endedByItself():
		s.turn.stage = turnStopped // no other driver continues it
		return s.afterTurn
	case s.turn.stop != nil && s.turn.result == nil: // the agent does not return, and no other may begin before it has
		return s.release()
	}
	s.agent.close()
	// Nobody can get any further before somebody answers, so the recovery was not in vain.
	change := s.recorder.begin()
	change.advanced, change.park = true, &store.Park{ForeignWrites: foreignWrites, Until: s.parking.wakes()}
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

// parkAgain closes the texts that broke off with the earlier driver, and parks the execution at once.
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
