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

// parking rings when the session has been quiet for long enough; never where it cannot be parked, or would wake at once.
func (s *Session) parking() (<-chan time.Time, func() bool) {
	if !s.parkable() || s.wakesSoon() {
		return nil, func() bool { return false }
	}
	quiet := s.engine.parkAfter
	if s.recorder.awaitsRetry() { // for how long is known
		quiet = 0
	}
	timer := time.NewTimer(time.Until(s.control.quiet.Add(quiet)))
	return timer.C, timer.Stop
}

// shortRetry is a wait for a request to the model that is not worth reading the log again.
const shortRetry = 10 * time.Second

// parkable tells whether another session could go on from the log alone, without anybody noticing. What an external agent
// asks lives in its process, and so does a session that no other process can take up.
func (s *Session) parkable() bool {
	switch {
	case s.progress.Status == domain.StatusInterrupted:
		return true
	case s.progress.Status == domain.StatusIdle:
		return !s.recorder.external() || s.agent.open == nil || s.recorder.agentSession != ""
	case !s.progress.Turn.Open || s.recorder.external() || s.turn.result != nil || s.calls.any((*call).runsHere) || s.calls.any((*call).awaitsSlot):
		return false
	default: // an agent that has not come back to its question yet may find it answered
		waits := s.calls.waitForSomebody() || s.recorder.awaitsRetry()
		return waits && !s.calls.any(func(c *call) bool { return s.agent.open != nil && c.waits() && c.ask == nil })
	}
}

// wakesSoon tells whether parking is not worth it.
func (s *Session) wakesSoon() bool {
	soon := s.engine.parkAfter
	if s.recorder.awaitsRetry() {
		soon = min(soon, shortRetry)
	}
	wakes := s.wakes()
	return wakes != nil && time.Until(*wakes) < soon
}

// wakes is when the session has something to do by itself; nil: never.
func (s *Session) wakes() *time.Time {
	resting := func(seconds int) *time.Time {
		if seconds == 0 {
			return nil
		}
		at := s.progress.Since.Add(time.Duration(seconds) * time.Second)
		return &at
	}
	switch s.progress.Status {
	case domain.StatusIdle:
		return resting(s.execution.Request.IdleTimeoutSeconds)
	case domain.StatusInterrupted:
		return resting(s.recorder.choosingSeconds())
	}
	if s.recorder.awaitsRetry() {
		at := s.progress.RetryAt()
		return &at
	}
	return s.calls.firstExpiry()
}

// park lets the agent and then the execution go. The bell is read first: what was written before that is read here, and what
// is written after it has the parking refused.
func (s *Session) park() state {
	select {
	case <-s.inbox.bell:
		return s.hear
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
		return s.sync
	}
	d, err := s.permissions.readDecisions()
	switch {
	case err != nil:
		return s.readAgain(err)
	case !d.empty():
		if err := s.recorder.commit(d); err != nil {
			return s.abandon(err)
		}
		return s.sync
	}
	return s.letGo(head.ForeignWrites)
}

// letGo stops the agent and gives the execution to whoever claims it when it wakes. An agent that comes to its end at this
// very moment has the last word.
func (s *Session) letGo(bell int64) state {
	s.turn.reaches(turnHandsOver)
	if err := s.silence(errPark); err != nil {
		return s.abandon(err)
	}
	if err := s.texts.releaseAll(); err != nil {
		return s.abandon(err)
	}
	switch {
	case s.cameToItsEnd():
		s.turn.stage = turnStopped // nobody else goes on with it
		return s.conclude
	case s.turn.stop != nil && s.turn.result == nil: // it does not return, and nobody else may begin before it has
		return s.giveBack()
	}
	s.closeAgent()
	// Nobody can get any further before somebody answers: it has not been recovered in vain.
	change := s.recorder.begin()
	change.advanced, change.park = true, &store.Park{ForeignWrites: bell, Until: s.wakes()}
	err := s.recorder.commit(change)
	switch {
	case domain.CodeOf(err) == domain.CodeStale: // somebody has just written
		return s.giveBack()
	case err != nil:
		return s.abandon(err)
	}
	s.exit = exitParked
	return nil
}

// cameToItsEnd tells whether the turn that was stopped had ended by itself.
func (s *Session) cameToItsEnd() bool {
	return s.turn.result != nil && s.turn.result.err == nil && s.turn.result.stop != domain.StopCancelled
}

// onlyWaits tells whether all that is open of a turn that was taken up waits for somebody, or for the time at which a request to the model
// is repeated, so that no agent is needed before that.
func (s *Session) onlyWaits() bool {
	waits := s.progress.Status == domain.StatusPendingToolApproval || s.progress.Status == domain.StatusExecutingTool || s.recorder.awaitsRetry()
	if !waits || !s.parkable() || s.control.wanted() || len(s.permissions.decided) > 0 {
		return false
	}
	return !s.wakesSoon() && !s.calls.any(func(c *call) bool { return !c.waits() && c.generation() == 0 })
}

// waitOn closes what broke off with the earlier driver and parks the execution at once.
func (s *Session) waitOn() state {
	newer, err := s.permissions.newerRules()
	if err != nil {
		return s.abandon(err)
	}
	if newer {
		s.engine.dispatch.Recovered(s)
		return s.goOnWithTurn
	}
	change := s.recorder.begin()
	s.texts.close(change, false)
	if err := s.recorder.commit(change); err != nil {
		return s.abandon(err)
	}
	return s.letGo(s.bell)
}
