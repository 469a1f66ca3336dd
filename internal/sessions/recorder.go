package sessions

import (
	"time"

	"signoff/internal/domain"
)

// recorder writes the log of one execution, and knows what the log implies. Everything that a session does goes through it, as a
// change set: the session begins one here, fills it, and commits it.
type recorder struct {
	core
	clock        clock // of the events
	length       int64 // of the log, as far as this session knows
	masking      masking
	agentSession string             // of an agent whose session another process can load; empty otherwise
	transcript   *domain.Transcript // what was said before the agent was opened; nil: the agent knows, or it has to be read
	held         *changeSet         // the last words of the agent, which came with the end of the turn; nil: everything is written
}

// begin begins a change set.
func (r *recorder) begin() *changeSet { return &changeSet{recorder: r} }

// timeLeft is the active time that is left for the turn. The time that people and clients take does not count.
func (r *recorder) timeLeft() (left time.Duration, limited bool) {
	limit := time.Duration(r.execution.Request.TimeoutSeconds) * time.Second
	return limit - r.progress.ActiveTime(r.clock.now()), limit > 0
}
