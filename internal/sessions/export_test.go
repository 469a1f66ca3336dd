package sessions

import (
	"time"

	"signoff/internal/domain"
)

// OnCommit has hear called after each commit of a session, in its goroutine, with the last event that it wrote.
func (c *Config) OnCommit(hear func(id domain.ExecutionID, seq int64, progress *domain.Progress)) {
	c.committed = hear
}

// WallClock has sessions read the time of day from a clock that may be set.
func (c *Config) WallClock(now func() time.Time) { c.wallClock = now }
