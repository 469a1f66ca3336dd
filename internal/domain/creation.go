package domain

import (
	"context"
	"time"
)

// CreationTime bounds the database work for the response to a creation, which takes two seconds at most.
const CreationTime = 1900 * time.Millisecond

// ErrNotCreated is the cause of a context whose creation time is over.
var ErrNotCreated = Errorf(CodeUnavailable, "The database takes too long. Nothing was created; try again in a moment.")

// WithCreationTime bounds a context by the time for a creation, usually [CreationTime]. The caller cancels it after the response.
func WithCreationTime(ctx context.Context, within time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, within, ErrNotCreated)
}
