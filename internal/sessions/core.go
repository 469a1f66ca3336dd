package sessions

import (
	"context"
	"errors"
	"time"

	"signoff/internal/budgets"
	"signoff/internal/domain"
)

// core is what a session shares with its owners. No field is replaced while the session lives.
type core struct {
	engine    *Engine
	execution *domain.Execution // its fields that never change; what changes is in progress
	claim     claim
	progress  *domain.Progress // what the log implies; only [changeSet.emit] changes it

	environment *environment // what commands and file tools see of the machine
}

// external tells whether the agent is a process that keeps a history of its own.
func (c core) external() bool { return c.execution.Request.Source.Type == domain.SourceACP }

// turnNumber is the number of the open turn; 0 between two turns.
func (c core) turnNumber() int {
	if c.progress.Turn.Open {
		return c.progress.Turn.Number
	}
	return 0
}

// awaitsRetry tells whether the turn waits for the time at which a request to the model is repeated.
func (c core) awaitsRetry() bool {
	return c.progress.Turn.Open && time.Now().Before(c.progress.RetryAt())
}

// fromQueue tells whether the prompt of a turn is a queued one, and not that of the request.
func (c core) fromQueue(turn int) bool { return turn > 1 || c.execution.Request.AwaitsPrompt() }

// awaitsPrompt tells whether the execution was created without a prompt, and no turn has begun.
func (c core) awaitsPrompt() bool {
	return c.progress.Turn.Number == 0 && c.execution.Request.AwaitsPrompt()
}

// promptText is the text of the turn's prompt.
func (c core) promptText() string {
	if c.fromQueue(c.progress.Turn.Number) {
		return c.progress.Turn.Note + c.progress.Turn.Text
	}
	return c.execution.Request.FirstPrompt()
}

// promptParts are the parts of the turn's prompt; nil: its text is all.
func (c core) promptParts() []domain.PromptPart {
	if c.fromQueue(c.progress.Turn.Number) {
		return domain.NotedParts(c.progress.Turn.Note, c.progress.Turn.Parts)
	}
	return c.execution.Request.Parts
}

// choosingSeconds is how long the execution stays interrupted; 0 is for ever.
func (c core) choosingSeconds() int {
	if !c.progress.Cause.Expires() {
		return 0
	}
	return c.execution.Request.ApprovalTimeoutSeconds
}

// holder is this driver for the budgets that executions share.
func (c core) holder() budgets.Holder {
	return budgets.Holder{
		Tenant: c.execution.Tenant, Execution: c.execution.ID, Epoch: c.claim.epoch, Root: c.execution.Root(), Tree: c.execution.SharedBudget(),
	}
}

// claim is the right to drive an execution.
type claim struct {
	epoch int64
	lease context.Context // ends when this replica may not write any more
}

// reading returns the context of a query. It ends with the lease: nobody needs a later answer.
func (c claim) reading() (context.Context, context.CancelFunc) {
	return context.WithTimeout(c.lease, readTimeout)
}

// readTimeout ends a query that the database does not answer.
const readTimeout = 10 * time.Second

var errOver = errors.New("sessions: the session is over")
