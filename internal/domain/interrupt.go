package domain

import "errors"

// InterruptCause says why an execution is interrupted. It decides which ways to go on there are, and whether the choice has a deadline.
type InterruptCause string

const (
	CauseProvider    InterruptCause = "provider"    // the model's provider did not serve the request, and may later
	CauseRecovery    InterruptCause = "recovery"    // it was recovered again and again without progress
	CauseProcessGone InterruptCause = "processGone" // the process of its external agent is gone
)

// Known reports whether c is one of the causes.
func (c InterruptCause) Known() bool {
	return c == CauseProvider || c == CauseRecovery || c == CauseProcessGone
}

// Expires reports whether the choice has a deadline. Nothing is lost while a request waits to be repeated; what an agent's process did
// is harder to find out each hour.
func (c InterruptCause) Expires() bool { return c == CauseProcessGone }

// ResumeModes lists how somebody may have the execution go on.
func (c InterruptCause) ResumeModes() []ResumeMode {
	if c == CauseProcessGone {
		return []ResumeMode{ResumeLoad, ResumeFresh, ResumeFail}
	}
	return []ResumeMode{ResumeRetry, ResumeFail}
}

// ErrProviderUnavailable is in the chain of what [Agent.Prompt] returns where the provider of its model did not serve a request that it
// may serve later: it is away, or it wants another key or more credit. Prompted again, the agent repeats that request and nothing else.
var ErrProviderUnavailable = errors.New("the provider did not serve the request")
