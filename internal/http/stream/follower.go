package stream

import (
	"context"

	"signoff/internal/events"
)

// Follower reads the log of one execution, or of all.
type Follower interface {
	// Next returns the new frames. If there are none, Notified receives when there may be some.
	Next(ctx context.Context) ([]events.Frame, error)
	Notified() <-chan struct{}
	Live() bool  // the history has been read
	Ended() bool // there will be no new frames
	Close()
}
