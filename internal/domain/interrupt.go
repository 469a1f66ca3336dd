package domain

import "errors"

// InterruptCause says why an execution is interrupted. It decides how the execution can be resumed, and whether the choice has a deadline.
type InterruptCause string

const (
	CauseProvider    InterruptCause = "provider"    // the model's provider did not serve the request, and may later
	CauseRecovery    InterruptCause = "recovery"    // it was recovered again and again without progress
	CauseProcessGone InterruptCause = "processGone" // the process of its external agent is gone
	CauseDailyBudget InterruptCause = "dailyBudget" // the daily budget of its tenant is spent
)

// Known reports whether c is one of the causes.
func (c InterruptCause) Known() bool {
	return c == CauseProvider || c == CauseRecovery || c == CauseProcessGone || c == CauseDailyBudget
}

// Expires reports whether the choice has a deadline. A request that waits to be repeated loses nothing, but what a lost process of an agent
// did becomes harder to find out each hour.
func (c InterruptCause) Expires() bool { return c == CauseProcessGone }

// ResumeModes lists the modes in which an execution of that source can be resumed. The daily budget stops an external agent in the middle of its work, like
// the loss of its process.
func (c InterruptCause) ResumeModes(of SourceType) []ResumeMode {
	if c == CauseProcessGone || c == CauseDailyBudget && of == SourceACP {
		return []ResumeMode{ResumeLoad, ResumeFresh, ResumeFail}
	}
	return []ResumeMode{ResumeRetry, ResumeFail}
}

// ErrProviderUnavailable is in the chain of the error of [Agent.Prompt] if the provider of its model did not serve a request that it may serve
// later: it is down, or it wants another key or more credit. Prompted again, the agent repeats that request and nothing else.
var ErrProviderUnavailable = errors.New("the provider did not serve the request")
