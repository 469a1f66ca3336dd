package sessions

import (
	"context"
	"log/slog"
	"time"

	"signoff/internal/domain"
)

// lookAround bounds the wait of the first turn for the list of neighbours. A slow database must not delay an execution because of that list.
const lookAround = 300 * time.Millisecond

// neighbours returns the other executions in the folder. In an own folder it does not look: only an execution that continues the work can be there.
func (c core) neighbours() []domain.ExecutionID {
	if c.execution.Request.OwnFolder != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(c.claim.lease, lookAround)
	defer cancel()
	found, err := c.engine.store.Neighbours(ctx, *c.execution, domain.MaxNeighbours)
	if err != nil {
		slog.Warn("cannot look up the other executions in a folder, and notifies none of them", "execution", c.execution.ID, "error", err)
		return nil
	}
	return found
}

// sharesFolder tells the model that other executions work in the folder.
const sharesFolder = "- Other executions work in this folder, or in one in or around it, at the same time as you: files change that you have not changed, and are not yours to restore.\n"
