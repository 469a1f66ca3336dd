package domain

import "time"

// activeTime counts the active time of a turn from the times of its events: a session that recovers the turn continues the count. Otherwise a turn
// that is parked often enough would never time out.
type activeTime struct {
	sum    time.Duration
	turns  time.Duration // the sum of the earlier turns
	before time.Duration // the sum before the newest instant
	newest time.Time     // of the driver's newest event
	status Status
	retry  time.Time       // when a failed request to a model is repeated; until then no time passes
	here   map[string]bool // calls that run, and not only at the client or in a child
}

func (a *activeTime) take(at time.Time, payload Payload) {
	if fromAnyWriter(payload) {
		return
	}
	a.pass(at)
	switch p := payload.(type) {
	case TurnStarted:
		a.turns += a.sum
		a.sum, a.before, a.retry = 0, 0, time.Time{}
	case ModelRetrying:
		a.retry = p.At
	case StateChanged:
		if losesDriver(p) {
			a.sum = a.before
		}
		a.status = p.To
	case ToolCallStarted:
		a.here[p.ToolCallID] = p.Awaits == ""
	case ApprovalRequested:
		if p.Kind == ApprovalUnknownOutcome || p.Repeats {
			delete(a.here, p.ToolCallID)
		}
	case ToolCallCompleted:
		delete(a.here, p.ToolCallID)
	}
}

// fromAnyWriter reports whether others than the driver also write such an event. A queued prompt does not show that the agent was still working,
// and its time comes from the clock of another replica.
func fromAnyWriter(payload Payload) bool {
	switch payload.(type) {
	case PromptQueued, BlocksAccepted, ApprovalResolved, DelegateUpdated, DelegateApprovalRequested, DelegateApprovalResolved:
		return true
	default:
		return false
	}
}

// pass moves on to the time of the next event. It may be earlier: clocks are set back, and another driver may have a slower one.
func (a *activeTime) pass(at time.Time) {
	if at.Equal(a.newest) {
		return
	}
	a.before, a.sum, a.newest = a.sum, a.at(at), at
}

// at is the sum at a time after the newest event.
func (a *activeTime) at(now time.Time) time.Duration {
	from := a.newest
	if a.retry.After(from) {
		from = a.retry
	}
	if a.runs() && now.After(from) {
		return a.sum + now.Sub(from)
	}
	return a.sum
}

func (a *activeTime) runs() bool {
	switch a.status {
	case StatusWaiting, StatusStreaming:
		return true
	case StatusExecutingTool:
		for _, here := range a.here {
			if here {
				return true
			}
		}
	}
	return false
}

// ReasonAgentExited is the reason of the change to initializing where a driver opens an agent again that has exited.
const ReasonAgentExited = "the agent had exited"

// losesDriver reports whether the turn had lost its driver while it was active. Nobody knows when: the first change of the next driver comes after
// the time without one, and that time does not count.
func losesDriver(p StateChanged) bool {
	active := p.From == StatusWaiting || p.From == StatusStreaming || p.From == StatusExecutingTool
	switch {
	case !active:
		return false
	case p.To == StatusInitializing:
		return p.Reason != ReasonAgentExited // its driver lives
	default:
		return p.To == StatusInterrupted && p.Cause != CauseProvider && p.Cause != CauseDailyBudget // its driver has seen the failure
	}
}
