package sessions

import (
	"context"
	"math/rand/v2"
	"time"

	"signoff/internal/domain"
)

// An execution whose server died is recovered: another server, or the same one after its start, continues it from its log. An
// execution that takes its server down takes others with it, and nobody can tell which one it was. Each recovery without progress,
// which is a finished message or a finished call, doubles the delay of the next one. So the others come back while the one that
// does harm still rests.

const (
	// maxRecoveries is the number of recoveries in a row without progress. After that a person has to look.
	maxRecoveries = 10

	firstRecoveryDelay   = time.Second
	longestRecoveryDelay = 5 * time.Minute
)

// RecoveryDelay is the delay of an execution's nth recovery in a row without progress, from 1. The delay doubles from one second
// to five minutes, and chance adds up to half of it: executions that were lost together would otherwise come back together, too.
func RecoveryDelay(n int) time.Duration {
	const longest = longestRecoveryDelay * 2 / 3 // before chance adds its half
	delay := longest
	if n <= maxRecoveries {
		delay = min(firstRecoveryDelay<<(n-1), longest)
	}
	return delay + rand.N(delay/2)
}

// recovery reads the log and the rows of an earlier driver, and tells whether the execution can continue from them.
type recovery struct {
	core
	recorder    *recorder
	calls       *openCalls
	clients     *clientCalls
	permissions *permissions
	blocks      *blocks
	control     *control
	delegates   *delegates
}

// read reads the log of an execution that is recovered, and the rows beside it. A log that is broken, and not only out of reach,
// is broken the next time, too.
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
	if err := r.delegates.read(); err != nil {
		return false, err
	}
	if err := r.readPaused(ctx); err != nil {
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

// readPaused gives the paused calls what their requests are repeated with.
func (r *recovery) readPaused(ctx context.Context) error {
	if !r.calls.any((*call).paused) {
		return nil
	}
	requests, err := r.engine.store.PausedRequests(ctx, r.execution.ID)
	if err != nil {
		return err
	}
	for _, request := range requests {
		if c := r.calls.open[request.ToolCallID]; c != nil && c.logged().Approval == request.Approval {
			c.repeat = request.Repeat
		}
	}
	return nil
}

// releaseBudgets ends the reservations of earlier drivers: their requests to the model are over, or will never be answered.
func (r *recovery) releaseBudgets() error {
	ctx, cancel := r.claim.reading()
	defer cancel()
	return r.engine.ledger.Release(ctx, r.holder())
}

// reason is the reason that the log has for the work of a new driver.
func (r *recovery) reason() string {
	switch {
	case r.progress.Status == domain.StatusQueued && r.progress.Turn.Number == 0:
		return "" // it begins here
	case r.execution.Recovery > 0:
		return "recovered"
	default: // it was parked, or its driver has handed it off
		return "continued"
	}
}

// obstacle is the reason why the execution cannot simply continue; nil: it can.
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

// processLost is the reason why a turn of an external agent cannot simply continue; empty if there is none. Our own agent asks
// before it repeats a call. An external agent does not, so a person is asked. An agent that has said nothing may have received its
// prompt all the same: some agents act first, and report later.
func (r *recovery) processLost() string {
	if !r.external() || !r.progress.Turn.Open {
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

const cannotLoad = "The agent cannot load a session of an earlier process."

// exhausted tells whether the execution was recovered too often without progress. An execution that waits for somebody was not:
// before they answer nobody can get any further, and the question must not be lost.
func (r *recovery) exhausted() bool {
	return r.execution.Recovery > maxRecoveries && !r.calls.any(func(c *call) bool { return c.waits() || (c.running() && r.permissions.asksOutcome(c)) })
}

// notRecovered is the interruption of an exhausted execution.
func (r *recovery) notRecovered() *interruption {
	why := &interruption{
		cause: domain.CauseRecovery, code: domain.CodeRecoveryLimit,
		reason: "The server stopped again and again while it drove this execution, and in ten recoveries no message and no call was finished. " +
			"The execution may be the reason: look at its log before you let it go on.",
	}
	if r.external() {
		why.cause = domain.CauseProcessGone
	}
	return why
}
