package sessions

import (
	"signoff/internal/domain"
	"signoff/internal/failpoint"
)

// The moments around a commit at which a server may die, told apart by what is written: who dies before has done nothing,
// and who dies after has done it, and told nobody.

func (d *draft) passBefore() {
	if failpoint.Enabled {
		for _, payload := range d.payloads {
			hitBefore(payload)
		}
	}
}

func (d *draft) passAfter() {
	if failpoint.Enabled {
		for _, payload := range d.payloads {
			hitAfter(payload)
		}
	}
}

func hitBefore(payload domain.Payload) {
	switch p := payload.(type) {
	case domain.StateChanged:
		switch p.To {
		case domain.StatusInitializing:
			failpoint.Hit(failpoint.BeforeInitializing)
		case domain.StatusInterrupted:
			failpoint.Hit(failpoint.BeforeInterrupted)
		}
	case domain.AgentStarted:
		failpoint.Hit(failpoint.BeforeAgentStarted)
	case domain.TurnStarted:
		failpoint.Hit(failpoint.BeforeTurnStarted)
	case domain.TurnContinued:
		failpoint.Hit(failpoint.BeforeTurnContinued)
	case domain.MessageDelta:
		failpoint.Hit(failpoint.BeforeText)
	case domain.ToolCallRequested:
		failpoint.Hit(failpoint.BeforeCallRequested)
	case domain.ApprovalRequested:
		failpoint.Hit(failpoint.BeforeAsked)
	case domain.ApprovalResolved:
		failpoint.Hit(failpoint.BeforeResolved)
	case domain.ToolCallStarted:
		failpoint.Hit(failpoint.BeforeToolStarted)
	case domain.ToolCallUpdated:
		failpoint.Hit(failpoint.BeforeToolOutput)
	case domain.ToolCallCompleted:
		failpoint.Hit(failpoint.BeforeToolCompleted)
	case domain.TurnEnded:
		failpoint.Hit(failpoint.BeforeTurnEnded)
	case domain.ExecutionEnded:
		failpoint.Hit(failpoint.BeforeEnded)
	}
}

func hitAfter(payload domain.Payload) {
	switch p := payload.(type) {
	case domain.StateChanged:
		switch p.To {
		case domain.StatusInitializing:
			failpoint.Hit(failpoint.AfterInitializing)
		case domain.StatusInterrupted:
			failpoint.Hit(failpoint.AfterInterrupted)
		}
	case domain.AgentStarted:
		failpoint.Hit(failpoint.AfterAgentStarted)
	case domain.TurnStarted:
		failpoint.Hit(failpoint.AfterTurnStarted)
	case domain.TurnContinued:
		failpoint.Hit(failpoint.AfterTurnContinued)
	case domain.MessageDelta:
		failpoint.Hit(failpoint.AfterText)
	case domain.ToolCallRequested:
		failpoint.Hit(failpoint.AfterCallRequested)
	case domain.ApprovalRequested:
		failpoint.Hit(failpoint.AfterAsked)
	case domain.ApprovalResolved:
		failpoint.Hit(failpoint.AfterResolved)
	case domain.ToolCallStarted:
		failpoint.Hit(failpoint.AfterToolStarted)
	case domain.ToolCallUpdated:
		failpoint.Hit(failpoint.AfterToolOutput)
	case domain.ToolCallCompleted:
		failpoint.Hit(failpoint.AfterToolCompleted)
	case domain.TurnEnded:
		failpoint.Hit(failpoint.AfterTurnEnded)
	case domain.ExecutionEnded:
		failpoint.Hit(failpoint.AfterEnded)
	}
}
