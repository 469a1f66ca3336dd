package tools

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"time"

	"signoff/internal/domain"
)

const (
	bashFields         = `"command" (string) and optionally "timeoutSeconds" (whole number)`
	maxCommandBytes    = 100_000 // Linux takes 128 KiB in one argument of a process
	defaultTimeout     = 120     // seconds
	maxTimeout         = 600
	headBytes          = 16 << 10
	tailBytes          = 16 << 10
	maxLiveBytes       = 256 << 10
	livePieceBytes     = 8 << 10
	livePieceEvery     = 50 * time.Millisecond
	emptyCommandOutput = "(no output)"
)

//go:embed bash.md
var bashText string

// Bash runs a command line. What it prints is shown live, in pieces, and given to the model by its head and tail.
type Bash struct{}

var _ Tool = Bash{}

type bashArguments struct {
	command string
	timeout time.Duration
}

// Definition implements [Tool].
func (Bash) Definition() Definition {
	return Definition{
		Name:        "bash",
		Version:     "1",
		Class:       domain.ClassExecute,
		Description: bashText,
		Schema: json.RawMessage(`{
			"type": "object",
			"properties": {
				"command": {"type": "string", "description": "The command line for bash."},
				"timeoutSeconds": {"type": "integer", "minimum": 1, "maximum": 600,
					"description": "Kill the command after so many seconds. Default 120."}
			},
			"required": ["command"]
		}`),
	}
}

// Check implements [Tool].
func (Bash) Check(arguments json.RawMessage, dir string) (Intent, error) {
	parsed, err := readBashArguments(arguments)
	if err != nil {
		return Intent{}, err
	}
	return Intent{
		Summary: fmt.Sprintf("Run %s in %s", code(parsed.command), shorten(visible(dir), 100, 100)),
		Action:  domain.Action{Command: parsed.command},
	}, nil
}

// Run implements [Tool].
func (Bash) Run(ctx context.Context, host domain.Host, call domain.ToolCall) Result {
	parsed, err := readBashArguments(call.Arguments)
	if err != nil {
		return failed("", err)
	}
	output := newOutput(func(offset int, text string) error {
		return host.Emit(ctx, domain.ToolCallUpdated{ToolCallID: call.ID, Offset: offset, Output: text})
	})
	command := domain.Command{Argv: []string{"bash", "-c", parsed.command}, Timeout: parsed.timeout}
	ended, err := host.Run(ctx, command, output)
	text, truncated := output.close()
	result := bashResult(text, ended, parsed.timeout, err)
	result.Truncated = truncated
	return result
}

// bashResult tells the model how the command ended, on the last line, where the model looks first. A command that ran
// and said no is a failed call: people look for red ones, and an exit code is what commands say no with.
func bashResult(text string, ended domain.CommandResult, timeout time.Duration, err error) Result {
	switch {
	case err != nil:
		return failed(text, err)
	case ended.TimedOut:
		message := fmt.Sprintf("The command was killed: it had not ended after %d seconds.", int(timeout.Seconds()))
		return failed(text, domain.Errorf(domain.CodeToolFailed, "%s", message))
	case ended.ExitCode != 0:
		result := failed(text, domain.Errorf(domain.CodeToolFailed, "exit code %d", ended.ExitCode))
		result.ExitCode = &ended.ExitCode
		return result
	case text == "":
		text = emptyCommandOutput
	}
	return Result{Output: text, ExitCode: &ended.ExitCode}
}

func readBashArguments(arguments json.RawMessage) (bashArguments, error) {
	members, err := readFields(arguments, bashFields, "command", "timeoutSeconds")
	if err != nil {
		return bashArguments{}, err
	}
	command, err := members.text("command", maxCommandBytes)
	if err != nil {
		return bashArguments{}, err
	}
	seconds, err := members.number("timeoutSeconds", defaultTimeout, 1, maxTimeout)
	if err != nil {
		return bashArguments{}, err
	}
	return bashArguments{command: command, timeout: time.Duration(seconds) * time.Second}, nil
}
