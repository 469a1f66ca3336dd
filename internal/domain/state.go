package domain

import "slices"

// Status says where an execution stands. While a turn runs it is derived, the first of these that holds:
// pendingToolApproval (an approval is open), executingTool (a call runs), streaming, waiting.
type Status string

const (
	StatusQueued              Status = "queued"              // created, not yet begun
	StatusInitializing        Status = "initializing"        // the agent starts, or is rebuilt after a restart
	StatusWaiting             Status = "waiting"             // the agent thinks; nothing has arrived yet
	StatusStreaming           Status = "streaming"           // text or thought arrives
	StatusPendingToolApproval Status = "pendingToolApproval" // at least one approval is open; the clock stands still
	StatusExecutingTool       Status = "executingTool"       // at least one tool call runs
	StatusIdle                Status = "idle"                // between the turns of an execution that stays open, or before the first of one that was created without a prompt
	StatusInterrupted         Status = "interrupted"         // it cannot go on by itself, and somebody must choose; see [InterruptCause]
	StatusCompleted           Status = "completed"
	StatusFailed              Status = "failed"
	StatusCancelled           Status = "cancelled"
	StatusTimedOut            Status = "timedOut"
)

// Statuses lists every status in the order of the diagram.
var Statuses = []Status{
	StatusQueued, StatusInitializing, StatusWaiting, StatusStreaming, StatusPendingToolApproval, StatusExecutingTool,
	StatusIdle, StatusInterrupted, StatusCompleted, StatusFailed, StatusCancelled, StatusTimedOut,
}

var (
	ends    = []Status{StatusCompleted, StatusFailed, StatusCancelled, StatusTimedOut}
	aborts  = []Status{StatusFailed, StatusCancelled, StatusTimedOut}
	running = []Status{StatusWaiting, StatusStreaming, StatusPendingToolApproval, StatusExecutingTool}
)

// transitions is the whole table; docs/states.md draws it and a test holds the two together.
//
// A status of a running turn goes back to initializing only when another session recovers the execution: its processes are gone, and the agent is
// rebuilt from the log.
var transitions = map[Status][]Status{
	StatusQueued:              join(aborts, StatusInitializing),
	StatusInitializing:        join(aborts, StatusWaiting, StatusIdle, StatusInterrupted),
	StatusWaiting:             join(ends, running, StatusInitializing, StatusIdle, StatusInterrupted),
	StatusStreaming:           join(ends, running, StatusInitializing, StatusIdle, StatusInterrupted),
	StatusPendingToolApproval: join(ends, running, StatusInitializing, StatusIdle, StatusInterrupted),
	StatusExecutingTool:       join(ends, running, StatusInitializing, StatusIdle, StatusInterrupted),
	StatusIdle:                join(ends, StatusInitializing, StatusWaiting),
	StatusInterrupted:         join(aborts, StatusInitializing, StatusWaiting),
}

func join(parts ...any) []Status {
	var all []Status
	for _, part := range parts {
		switch p := part.(type) {
		case Status:
			all = append(all, p)
		case []Status:
			all = append(all, p...)
		}
	}
	return all
}

// CanBecome reports whether the table has the arrow. A status never becomes itself.
func (s Status) CanBecome(next Status) bool {
	return s != next && slices.Contains(transitions[s], next)
}

// Terminal reports whether the execution has ended; a terminal status never changes.
func (s Status) Terminal() bool { return slices.Contains(ends, s) }

// Known reports whether s is one of [Statuses].
func (s Status) Known() bool { return slices.Contains(Statuses, s) }
