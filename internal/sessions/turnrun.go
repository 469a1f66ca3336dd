package sessions

import (
	"context"
	"time"

	"signoff/internal/domain"
)

// turnRun is the turn that runs, as far as the log does not tell.
type turnRun struct {
	stop      context.CancelCauseFunc // ends the turn; nil where none runs
	gone      chan struct{}           // closes when Prompt has returned
	result    *turnResult             // how the turn ended; nil before
	continued *domain.TurnContinued   // what the agent is told where its turn goes on
	stage     turnStage
}

// turnStage is how far a turn is on its way to its end. A later stage takes the place of an earlier one.
type turnStage int

const (
	turnGoesOn     turnStage = iota
	turnReopened             // the agent was gone before it heard the prompt, and was opened again
	turnDenied               // a question of it was answered with no
	turnHandsOver            // another driver goes on with it: whoever asks waits for that one, and calls may come to their end
	turnHandedOver           // the same, and its agent was told to stop
	turnSuperseded           // it is stopped for the sake of another prompt
	turnStopped              // it is stopped: whoever asks is told that nobody will answer
)

// reaches goes on to a stage, never back.
func (t *turnRun) reaches(stage turnStage) { t.stage = max(t.stage, stage) }

// stopping goes on to the stage at which the agent is told to stop.
func (t *turnRun) stopping() {
	switch t.stage {
	case turnHandsOver:
		t.stage = turnHandedOver
	case turnHandedOver, turnSuperseded:
	default:
		t.stage = turnStopped
	}
}

// handsOver tells whether another driver goes on with the turn.
func (t *turnRun) handsOver() bool { return t.stage == turnHandsOver || t.stage == turnHandedOver }

// stopped tells whether the agent was told to stop.
func (t *turnRun) stopped() bool { return t.stage >= turnHandedOver }

// agentHandle is the agent of the execution, and what is known of it.
type agentHandle struct {
	open    domain.Agent // nil where its process is gone, or was not needed yet
	opening *opening     // on its way already when the execution was created
	exited  bool         // its process has ended by itself, or broke down: the next prompt starts it again
	loading string       // the agent session that is taken up when the agent is opened
	fresh   bool         // the agent was just opened and remembers nothing of earlier turns
}

// opening is an agent on its way. agent and err are set when done closes.
type opening struct {
	cancel context.CancelCauseFunc
	done   chan struct{}
	agent  domain.Agent
	err    error
}

// stop ends the opening, if it has not ended, and returns the agent that it came to all the same.
func (o *opening) stop() domain.Agent {
	o.cancel(errOver)
	<-o.done
	return o.agent
}

// soon tells whether the agent was there at once, and without an error.
func (o *opening) soon() bool {
	wait := time.NewTimer(atOnce)
	defer wait.Stop()
	select {
	case <-o.done:
		return o.err == nil
	case <-wait.C:
		return false
	}
}

// atOnce is how long a creation waits for an agent that is being opened. Our own needs a fraction of it.
const atOnce = 5 * time.Millisecond
