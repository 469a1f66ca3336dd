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

// recovery reads what an earlier driver left, and tells whether the execution can go on from it.
type recovery struct {
	engine      *Engine
	execution   *domain.Execution
	claim       claim
	recorder    *recorder
	progress    *domain.Progress
	calls       *openCalls
	clients     *clientCalls
	permissions *permissions
	blocks      *blocks
	control     *control
}

// read reads the log of an execution that is taken up, and the rows beside it. A log that is broken, and not only out of reach, will
// be the next time, too.
func (r *recovery) read() (broken bool, err error) {
	if broken, err = r.recorder.replay(domain.NewTranscript()); err != nil {
		return broken, err
	}
	r.calls.attach()
	ctx, cancel := r.claim.reading()
	defer cancel()
	if r.control.requests, err = r.engine.store.ControlRequests(ctx, r.execution.ID); err != nil {
		return false, err
	}
	if err := r.clients.read(); err != nil {
		return false, err
	}
	if r.blocks.document, err = r.engine.store.EditedDocument(ctx, r.execution.ID); err != nil {
		return false, err
	}
	rows, err := r.engine.store.ApprovalsOf(ctx, r.execution.ID)
	if err != nil {
		return false, err
	}
	for _, row := range rows {
		r.permissions.recall(row)
	}
	return false, nil
}

// reason is the reason that the log gives for the beginning of another driver.
func (r *recovery) reason() string {
	switch {
	case r.progress.Status == domain.StatusQueued && r.progress.Turn.Number == 0:
		return "" // it was to begin here
	case r.execution.Recovery > 0:
		return "recovered"
	default: // it was parked, or handed over
		return "takenUp"
	}
}

// obstacle is why the execution cannot simply go on; nil where it can.
func (r *recovery) obstacle() *interruption {
	if reason := r.processLost(); reason != "" {
		why := processGone(reason)
		return &why
	}
	if r.exhausted() {
		return r.notRecovered()
	}
	return nil
}

// processLost is why a turn of an external agent cannot simply go on. Our own agent asks before it repeats a call; an
// external one is asked nothing by anybody, so a person is. One that had not said a word may have heard its prompt all
// the same, and have done half of it: some agents act unasked, and tell of it later.
func (r *recovery) processLost() string {
	if !r.recorder.external() || !r.progress.Turn.Open {
		return ""
	}
	if r.recorder.agentSession == "" {
		return "The agent's process was lost in the middle of its turn. " + cannotLoad
	}
	if r.calls.any(func(c *call) bool { return c.running() }) {
		return "The agent's process was lost while a call was running, which may have run in part or in full."
	}
	return ""
}

const cannotLoad = "The agent cannot take up a session of an earlier process."

// exhausted tells whether the execution has been recovered too often without progress. One that waits for somebody has not: before they
// answer nobody can get any further, and the question must not be lost.
func (r *recovery) exhausted() bool {
	return r.execution.Recovery > maxRecoveries && !r.calls.any(func(c *call) bool { return c.waits() || (c.running() && r.permissions.asksOutcome(c)) })
}

// notRecovered is the interruption of an execution that is exhausted.
func (r *recovery) notRecovered() *interruption {
	why := &interruption{
		cause: domain.CauseRecovery, code: domain.CodeRecoveryLimit,
		reason: "The server stopped again and again while it drove this execution, and in ten recoveries no message and no call was finished. " +
			"The execution may be the reason: look at its log before you let it go on.",
	}
	if r.recorder.external() {
		why.cause = domain.CauseProcessGone
	}
	return why
}
