package domain_test

import (
	"fmt"

	"signoff/internal/domain"
)

// A session and the server that recovers it apply the same events, so they agree about the state.
func ExampleProgress_Apply() {
	const id = domain.ExecutionID("0197c4d2-7f00-7a31-9d2c-3b6f0e5a1c11")
	progress := domain.NewProgress()
	for _, payload := range []domain.Payload{
		domain.ExecutionCreated{Status: domain.StatusQueued},
		domain.StateChanged{From: domain.StatusQueued, To: domain.StatusInitializing},
		domain.TurnStarted{Turn: 1},
		domain.StateChanged{From: domain.StatusInitializing, To: domain.StatusWaiting},
		domain.MessageDelta{MessageID: "m1", Text: "Let me "},
		domain.MessageDelta{MessageID: "m1", Text: "look."},
		domain.MessageCompleted{MessageID: "m1"},
		domain.ToolCallRequested{MessageID: "m1", ToolCallID: "c1", Tool: "bash"},
		domain.StateChanged{From: domain.StatusWaiting, To: domain.StatusPendingToolApproval},
	} {
		if err := progress.Apply(domain.NewEvent(id, payload)); err != nil {
			fmt.Println(err)
		}
	}
	fmt.Println(progress.Status, "in turn", progress.Turn.Number)
	fmt.Println(len(progress.Calls), "open call,", len(progress.Texts), "open texts")
	fmt.Println(progress.Status.CanBecome(domain.StatusExecutingTool), progress.Status.CanBecome(domain.StatusQueued))
	// Output:
	// pendingToolApproval in turn 1
	// 1 open call, 0 open texts
	// true false
}
