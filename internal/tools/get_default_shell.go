package tools

import (
	"context"
	_ "embed"
	"encoding/json"

	"signoff/internal/domain"
)

const (
	shellFields  = `no fields: {}`
	shellUnknown = "(the shell is not known; write what every POSIX shell understands)"
)

//go:embed get_default_shell.md
var shellText string

// GetDefaultShell names the shell that runs the scripts of the runbook.
type GetDefaultShell struct{}

var _ Tool = GetDefaultShell{}

// Definition implements [Tool].
func (GetDefaultShell) Definition() Definition {
	return Definition{
		Name:        "get_default_shell",
		Version:     "1",
		Class:       domain.ClassNone,
		Description: shellText,
		Schema:      json.RawMessage(`{"type": "object", "properties": {}, "additionalProperties": false}`),
	}
}

// Check implements [Tool].
func (GetDefaultShell) Check(arguments json.RawMessage, _ string) (Intent, error) {
	return Intent{Summary: "Look up the shell of the runbook"}, readFields(arguments, shellFields).mistake
}

// Run implements [Tool].
func (GetDefaultShell) Run(_ context.Context, host domain.Host, call domain.ToolCall) Result {
	if err := readFields(call.Arguments, shellFields).mistake; err != nil {
		return failed("", err)
	}
	if shell := host.Runbook().DefaultShell; shell != "" {
		return Result{Output: visible(shell)}
	}
	return Result{Output: shellUnknown}
}
