package acp

import "time"

// silence measures how long nothing has come from the agent in a turn. Agents repeat requests to their model for minutes
// without a message; a person who watches would take that for a broken connection.
type silence struct {
	after time.Duration
	limit time.Duration    // of the next report: after, then twice as long, and so on
	since time.Time        // the agent's word that the limit counts from
	heard func() time.Time // when the agent was last heard
	owed  func() bool      // the agent waits for us
	tell  func(quiet time.Duration)
	timer *time.Timer
}

func newSilence(after time.Duration, heard func() time.Time, owed func() bool, tell func(time.Duration)) *silence {
	return &silence{
		after: after, limit: after, since: time.Now(), heard: heard, owed: owed, tell: tell, timer: time.NewTimer(after),
	}
}

// look reports a silence that is longer than the limit. The beginning of the turn, a message of the agent and an answer of ours each
// start the measurement again.
func (s *silence) look() {
	last := s.heard()
	if s.owed() {
		last = time.Now()
	}
	if last.After(s.since) {
		s.since, s.limit = last, s.after
	}
	if quiet := time.Since(s.since); quiet >= s.limit {
		s.tell(quiet)
		s.limit *= 2
	}
	s.timer.Reset(time.Until(s.since.Add(s.limit)))
}
