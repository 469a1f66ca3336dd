package llm

import (
	"encoding/json"
	"log/slog"
	"time"

	"signoff/internal/domain"
)

// defaultIterations stands where a request names no limit: a loop without an end is never what somebody wants.
const defaultIterations = 50

// agent answers the prompts of one execution; see prompt.go.
type agent struct {
	tools    *toolset
	mask     mask
	logger   *slog.Logger
	task     task
	retry    time.Duration // how long a request that fails is repeated, and
	patience time.Duration // where another model may be asked

	// What follows belongs to Prompt, of which there is one at a time.
	models       lineup
	account      account
	conversation conversation
}

// Introduction implements [domain.Agent]. The model stands in the execution's source.
func (a *agent) Introduction() domain.Introduction { return domain.Introduction{} }

// Close implements [domain.Agent]. Nothing is held between two prompts.
func (a *agent) Close() error { return nil }

func (a *agent) maxIterations() int {
	if limit := a.task.maxIterations; limit > 0 {
		return limit
	}
	return defaultIterations
}

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
