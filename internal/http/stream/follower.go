package stream

import (
	"context"

	"signoff/internal/events"
)

// Follower is what a stream reads: the log of one execution, or of all.
type Follower interface {
	// Next returns what is new; nothing where there is nothing. Then Notified tells when to ask again.
	Next(ctx context.Context) ([]events.Frame, error)
	Notified() <-chan struct{}
	Live() bool  // history is over
	Ended() bool // nothing will be new any more
	Close()
}
