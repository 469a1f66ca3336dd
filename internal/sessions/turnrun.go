package sessions

import (
	"context"
	"errors"
	"log/slog"
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
	turnHandsOff             // another driver goes on with it: whoever asks waits for that one, and calls may come to their end
	turnHandedOff            // the same, and its agent was told to stop
	turnSuperseded           // it is stopped for the sake of another prompt
	turnStopped              // it is stopped: whoever asks is told that nobody will answer
)

// reaches goes on to a stage, never back.
func (t *turnRun) reaches(stage turnStage) { t.stage = max(t.stage, stage) }

// stopping goes on to the stage at which the agent is told to stop.
func (t *turnRun) stopping() {
	switch t.stage {
	case turnHandsOff:
		t.stage = turnHandedOff
	case turnHandedOff, turnSuperseded:
	default:
		t.stage = turnStopped
	}
}

// handsOff tells whether another driver goes on with the turn.
func (t *turnRun) handsOff() bool { return t.stage == turnHandsOff || t.stage == turnHandedOff }

// stopped tells whether the agent was told to stop.
func (t *turnRun) stopped() bool { return t.stage >= turnHandedOff }

// notPrompted tells whether the agent's process was gone before it was prompted, so that nothing is done twice where the next
// one gets the same. It may end between two turns, and the prompt may be faster than the news of it.
func (t *turnRun) notPrompted() bool {
	return errors.Is(t.result.err, domain.ErrNotPrompted) && t.stage < turnReopened
}

// endedByItself tells whether the turn that was stopped had ended by itself.
func (t *turnRun) endedByItself() bool {
	return t.result != nil && t.result.err == nil && t.result.stop != domain.StopCancelled
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
