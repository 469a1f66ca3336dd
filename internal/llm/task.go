package llm

import (
	"encoding/json"

	"signoff/internal/domain"
)

// task is what the agent goes by of its execution. The rest of it is large, and would be held as long as the agent is: for days,
// where a person has to decide.
type task struct {
	id               domain.ExecutionID
	kind             domain.Kind
	systemPrompt     string
	instructions     string
	workingDirectory string
	outputSchema     json.RawMessage
	runbookID        string
	memory           bool
	maxIterations    int
}

func newTask(execution domain.Execution) task {
	request := execution.Request
	return task{
		id:               execution.ID,
		kind:             request.Kind,
		systemPrompt:     request.SystemPrompt,
		instructions:     request.Instructions,
		workingDirectory: request.WorkingDirectory,
		outputSchema:     request.OutputSchema,
		runbookID:        request.RunbookID,
		memory:           request.Memory,
		maxIterations:    request.MaxIterations,
	}
}
