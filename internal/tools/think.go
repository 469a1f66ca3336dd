package tools

import (
	"context"
	_ "embed"
	"encoding/json"

	"signoff/internal/domain"
)

const (
	thinkFields     = `"thought" (string)`
	maxThoughtBytes = 64 << 10
)

//go:embed think.md
var thinkText string

// Think lets a model without reasoning of its own stop and think. It has no effect.
type Think struct{}

var _ Tool = Think{}

// Definition implements [Tool].
func (Think) Definition() Definition {
	return Definition{
		Name:        "think",
		Version:     "1",
		Class:       domain.ClassNone,
		Description: thinkText,
		Schema: json.RawMessage(`{
			"type": "object",
			"properties": {"thought": {"type": "string", "description": "What you think."}},
			"required": ["thought"],
			"additionalProperties": false
		}`),
	}
}

// Check implements [Tool].
func (Think) Check(arguments json.RawMessage, _ string) (Intent, error) {
	thought, err := readThought(arguments)
	if err != nil {
		return Intent{}, err
	}
	return Intent{Summary: "Think: " + code(thought)}, nil
}

// Run implements [Tool].
func (Think) Run(_ context.Context, _ domain.Host, call domain.ToolCall) Result {
	if _, err := readThought(call.Arguments); err != nil {
		return failed("", err)
	}
	return Result{Output: "Noted. Go on."}
}

func readThought(arguments json.RawMessage) (string, error) {
	members := readFields(arguments, thinkFields, "thought")
	thought := members.text("thought", maxThoughtBytes)
	return thought, members.mistake
}
