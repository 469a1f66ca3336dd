package sessions

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"signoff/internal/domain"
)

// turnRun is the part of the running turn that is not in the log.
type turnRun struct {
	stop      context.CancelCauseFunc // ends the turn; nil if none runs
	gone      chan struct{}           // closes when Prompt has returned
	result    *turnResult             // how the turn ended; nil before
	continued *domain.TurnContinued   // the message for an agent whose turn goes on
	stage     turnStage
}

// turnStage is how far a turn is on its way to its end. A turn never goes back to an earlier stage.
type turnStage int

const (
	turnGoesOn     turnStage = iota
	turnReopened             // the agent's process was gone before the prompt reached it, and was opened again
	turnDenied               // a person or a rule has denied a call
	turnHandsOff             // another driver continues the turn: questions wait for that one, and running calls may end
	turnHandedOff            // the same, and the agent was stopped
	turnSuperseded           // the turn is stopped for another prompt
	turnStopped              // the turn is stopped: nobody answers questions any more
)

// reaches goes to a later stage, never back.
func (t *turnRun) reaches(stage turnStage) { t.stage = max(t.stage, stage) }

// stopping goes to the stage at which the agent is stopped.
func (t *turnRun) stopping() {
	switch t.stage {
	case turnHandsOff:
		t.stage = turnHandedOff
	case turnHandedOff, turnSuperseded:
	default:
		t.stage = turnStopped
	}
}

// handsOff tells whether another driver continues the turn.
func (t *turnRun) handsOff() bool { return t.stage == turnHandsOff || t.stage == turnHandedOff }

// stopped tells whether the agent was stopped.
func (t *turnRun) stopped() bool { return t.stage >= turnHandedOff }

// notPrompted tells whether the agent's process was gone before the prompt reached it, so that the next process can get the same
// prompt and nothing is done twice. The process may end between two turns, and the prompt may be faster than the report of that.
func (t *turnRun) notPrompted() bool {
	return errors.Is(t.result.err, domain.ErrNotPrompted) && t.stage < turnReopened
}

// endedByItself tells whether the agent ended its turn although it was being stopped.
func (t *turnRun) endedByItself() bool {
	return t.result != nil && (t.result.err == nil || t.result.limited()) && t.result.stop != domain.StopCancelled
}

// outlive waits until Prompt has returned, however long that takes.
func (t *turnRun) outlive(id domain.ExecutionID) {
	late := time.NewTimer(StopGrace)
	defer late.Stop()
	for {
		select {
		case <-t.gone:
			return
		case <-late.C:
			slog.Error("agent does not return although its session is over", "execution", id)
		}
	}
}

// StopGrace is how long an agent may take to return after its turn was stopped.
const StopGrace = 5 * time.Second
