package sessions

import (
	"log/slog"
	"time"

	"signoff/internal/domain"
	"signoff/internal/events"
	"signoff/internal/store"
)

// control is everything that others want of the execution, and when the session reads it again.
type control struct {
	core
	watcher  *events.Watcher
	requests store.ControlRequests // as last read
	seen     int                   // how many writes of others have been read
	again    <-chan time.Time      // delivers when a failed reading is to be repeated; nil otherwise
	quiet    time.Time             // since when nothing has happened; zero: nothing has happened since the recovery
}

// readNew reads the control requests, if somebody has written since they were last read. They are rows, so none is lost with a
// process.
func (c *control) readNew() error {
	if c.watcher.ForeignWrites() == c.seen {
		return nil
	}
	return c.read()
}

func (c *control) read() error {
	ctx, cancel := c.claim.reading()
	defer cancel()
	requests, err := c.engine.store.ControlRequests(ctx, c.execution.ID)
	if err == nil {
		c.requests = requests
	}
	return err
}

func (c *control) cancellation() outcome {
	return outcome{status: domain.StatusCancelled, finish: domain.FinishCancelled, stop: domain.StopCancelled, cancel: c.requests.Cancel}
}

// wanted tells whether a control request is to be met now.
func (c *control) wanted() bool {
	w := c.requests
	switch {
	case w.Cancel != nil:
		return true
	case c.progress.Status == domain.StatusIdle:
		return len(w.Prompts) > 0 || w.Close != nil
	case c.progress.Status == domain.StatusInterrupted:
		return w.Resume != nil || w.Close != nil
	default:
		return len(w.Prompts) > 0 && w.Prompts[0].WhenBusy == domain.WhenBusyInterrupt
	}
}

// postpone has a failed reading repeated in a moment.
func (c *control) postpone(err error) {
	slog.Warn("cannot read, trying again", "execution", c.execution.ID, "error", err)
	c.again = time.After(readPause)
}

// readPause is how long a session waits before it repeats a failed reading.
const readPause = 250 * time.Millisecond
