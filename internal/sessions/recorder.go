package sessions

import (
	"time"

	"signoff/internal/domain"
)

// recorder writes the log of one execution, and knows what the log implies. Everything that a session does goes through it, as a
// change set: the session begins one here, fills it, and commits it.
type recorder struct {
	engine       *Engine
	execution    *domain.Execution // its fields that never change; what changes is in progress
	claim        claim
	progress     *domain.Progress // what the log implies; only [changeSet.emit] changes it
	clock        clock            // of the events
	length       int64            // of the log, as far as this session knows
	masking      masking
	agentSession string             // of an agent whose session another process can load; empty otherwise
	transcript   *domain.Transcript // what was said before the agent was opened; nil: the agent knows, or it has to be read
	held         *changeSet         // the last words of the agent, which came with the end of the turn; nil: everything is written
}

// begin begins a change set.
func (r *recorder) begin() *changeSet { return &changeSet{recorder: r} }

// external tells whether the agent is a process that keeps a history of its own.
func (r *recorder) external() bool { return r.execution.Request.Source.Type == domain.SourceACP }

// turnNumber is the number of the open turn; 0 between two turns.
func (r *recorder) turnNumber() int {
	if r.progress.Turn.Open {
		return r.progress.Turn.Number
	}
	return 0
}

// awaitsRetry tells whether the turn waits for the time at which a request to the model is repeated.
func (r *recorder) awaitsRetry() bool {
	return r.progress.Turn.Open && time.Now().Before(r.progress.RetryAt())
}

// timeLeft delivers when the turn has been active for as long as it may; never while its clock stands still. The time that people
// and clients take does not count.
func (r *recorder) timeLeft() (<-chan time.Time, func() bool) {
	limit := time.Duration(r.execution.Request.TimeoutSeconds) * time.Second
	if limit == 0 || !r.progress.Active() {
		return nil, func() bool { return false }
	}
	timer := time.NewTimer(limit - r.progress.ActiveTime(r.clock.now()))
	return timer.C, timer.Stop
}

// promptText is the text of the turn's prompt.
func (r *recorder) promptText() string {
	if r.progress.Turn.Number > 1 {
		return r.progress.Turn.Text
	}
	return r.execution.Request.FirstPrompt()
}

// choosingSeconds is how long the execution stays interrupted; 0 is for ever.
func (r *recorder) choosingSeconds() int {
	if !r.progress.Cause.Expires() {
		return 0
	}
	return r.execution.Request.ApprovalTimeoutSeconds
}
