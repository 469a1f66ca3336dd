package sessions

import (
	"math/rand/v2"
	"time"

	"signoff/internal/domain"
)

// An execution whose server died is recovered: another server, or the same one after its start, goes on with it from its log. One that
// takes its server down takes others with it. Nobody can tell which one it was, so each recovery without progress, which is a finished
// message or a finished call, doubles the delay of the next one: the others come back while the suspect still rests, and get on.

const (
	// maxRecoveries is how many recoveries in a row may come to no progress. After that somebody has to look.
	maxRecoveries = 10

	firstRecoveryDelay   = time.Second
	longestRecoveryDelay = 5 * time.Minute
)

// RecoveryDelay is how long an execution rests before its nth recovery in a row without progress, from 1. The delay doubles from one second
// to five minutes, and chance adds up to half of it: executions that were lost together would otherwise come back together, too.
func RecoveryDelay(n int) time.Duration {
	const longest = longestRecoveryDelay * 2 / 3 // before chance has added its half
	delay := longest
	if n <= maxRecoveries {
		delay = min(firstRecoveryDelay<<(n-1), longest)
	}
	return delay + rand.N(delay/2)
}

// exhausted tells whether the execution has been recovered too often without progress. One that waits for somebody has not: before they
// answer nobody can get any further, and the question must not be lost.
func (s *Session) exhausted() bool {
	return s.execution.Recovery > maxRecoveries && !s.calls.any(func(c *call) bool { return c.waits() || (c.running() && s.permissions.inquires(c)) })
}

// notRecovered is the interruption of an execution that is exhausted.
func (s *Session) notRecovered() *interruption {
	why := &interruption{
		cause: domain.CauseRecovery, code: domain.CodeRecoveryLimit,
		reason: "The server stopped again and again while it drove this execution, and in ten recoveries no message and no call was finished. " +
			"The execution may be the reason: look at its log before you let it go on.",
	}
	if s.recorder.external() {
		why.cause = domain.CauseProcessGone
	}
	return why
}
