package sessions

import "time"

// clock counts the active time of a turn. It stands still while a person is waited for.
type clock struct {
	left    time.Duration
	limited bool
	timer   *time.Timer // nil while the clock stands still
	started time.Time
}

// newClock returns a clock that stands still, of a turn that was active before; 0 seconds never runs out.
func newClock(seconds int, before time.Duration) *clock {
	limit := time.Duration(seconds) * time.Second
	return &clock{left: max(0, limit-before), limited: limit > 0}
}

func (c *clock) run() {
	if !c.limited || c.timer != nil {
		return
	}
	c.started = time.Now()
	c.timer = time.NewTimer(c.left)
}

func (c *clock) pause() {
	if c.timer == nil {
		return
	}
	c.timer.Stop()
	c.timer = nil
	c.left = max(0, c.left-time.Since(c.started))
}

// out delivers once the time is over; nil, and so silent, while the clock stands still.
func (c *clock) out() <-chan time.Time {
	if c.timer == nil {
		return nil
	}
	return c.timer.C
}
