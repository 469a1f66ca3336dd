package sessions

import (
	"time"

	"signoff/internal/domain"
)

// clock dates the events of a session. It takes the time from the wall clock, and then counts by the monotonic clock until it is
// set again: a wall clock that jumps in a turn neither uses up the time of the turn nor adds to it.
type clock struct {
	wall  func() time.Time
	begun time.Time // when it was set, by the wall clock; zero: never
	since time.Time // the same instant, by the monotonic clock
}

// set takes the time from the wall clock.
func (c *clock) set() time.Time {
	c.begun, c.since = c.wall().Round(0), time.Now()
	return c.now()
}

// now is the time as the database keeps it.
func (c *clock) now() time.Time {
	if c.begun.IsZero() {
		return c.set()
	}
	return c.begun.Add(time.Since(c.since)).UTC().Truncate(time.Microsecond)
}

// date is the time of a new change. It sets the clock unless the events of the log measure something: the active time of the turn,
// or how long the execution rests.
func (r *recorder) date() time.Time {
	status := r.progress.Status
	if r.progress.Active() || status == domain.StatusIdle || status == domain.StatusInterrupted {
		return r.clock.now()
	}
	return r.clock.set()
}
