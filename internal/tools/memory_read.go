package tools

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"

	"signoff/internal/domain"
)

const memoryReadFields = `optionally "scope" (global or runbook)`

//go:embed memory_read.md
var memoryReadText string

// MemoryRead gives the model the notes of earlier executions.
type MemoryRead struct{}

var _ Tool = MemoryRead{}

// Definition implements [Tool].
func (MemoryRead) Definition() Definition {
	return Definition{
		Name:        "memory_read",
		Version:     "1",
		Class:       domain.ClassRead,
		Description: memoryReadText,
		Schema: json.RawMessage(`{
			"type": "object",
			"properties": {
				"scope": {"type": "string", "enum": ["global", "runbook"], "description": "Whose notes. Default global."}
			},
			"additionalProperties": false
		}`),
	}
}

// Check implements [Tool].
func (MemoryRead) Check(arguments json.RawMessage, _ string) (Intent, error) {
	scope, err := readMemoryRead(arguments)
	if err != nil {
		return Intent{}, err
	}
	return Intent{Summary: "Read " + notesOf(scope)}, nil
}

// Run implements [Tool].
func (MemoryRead) Run(ctx context.Context, host domain.Host, call domain.ToolCall) Result {
	scope, err := readMemoryRead(call.Arguments)
	if err != nil {
		return failed("", err)
	}
	memory, err := host.Memory(ctx, scope)
	if err != nil {
		return failed("", err)
	}
	if memory.Content == "" {
		return Result{Output: fmt.Sprintf("(there are no notes; revision %d)", memory.Revision)}
	}
	return Result{Output: fmt.Sprintf("Revision %d of %s:\n\n%s", memory.Revision, notesOf(scope), memory.Content)}
}

func readMemoryRead(arguments json.RawMessage) (domain.MemoryScope, error) {
	members := readFields(arguments, memoryReadFields, "scope")
	scope := members.memoryScope()
	return scope, members.mistake
}

// runbookOfExecution is the scope of the runbook that the execution belongs to. Which that is, the host knows: a tool
// has no state, and a model that could name a runbook could read the notes of another one.
const runbookOfExecution domain.MemoryScope = "runbook"

func (f *fields) memoryScope() domain.MemoryScope {
	return domain.MemoryScope(f.choice("scope", string(domain.GlobalMemory), string(runbookOfExecution)))
}

// notesOf is the notes of a scope in a sentence.
func notesOf(scope domain.MemoryScope) string {
	if scope == runbookOfExecution {
		return "the notes of this runbook"
	}
	return "the global notes"
}
