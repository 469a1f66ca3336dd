package tools

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"

	"signoff/internal/domain"
	"signoff/internal/runbooks"
)

const submitFields = `"blocks" (a list of blocks)`

//go:embed submit_blocks.md
var submitText string

// SubmitBlocks submits the blocks that a model has written for a runbook. Nobody runs it: the agent's loop gives the blocks to
// [domain.Host.SubmitBlocks], and the call stays open until a person has made up their mind.
type SubmitBlocks struct {
	Types *runbooks.Types // that the blocks can have; nil: any
}

var _ Tool = SubmitBlocks{}

// Definition implements [Tool].
func (s SubmitBlocks) Definition() Definition {
	return Definition{
		Name:        "submit_blocks",
		Version:     "1",
		Class:       domain.ClassNone,
		Description: submitText,
		Schema: domain.Encode(map[string]any{
			"type": "object",
			"properties": map[string]any{
				"blocks": blocksSchema(s.Types, "The blocks, in their order."),
			},
			"required":             []string{"blocks"},
			"additionalProperties": false,
		}),
	}
}

// blocksSchema describes a list of blocks. The schemas of their props are not in it: there may be many, each with references
// of its own, and the model reads those that it needs.
func blocksSchema(types *runbooks.Types, description string) map[string]any {
	name := map[string]any{"type": "string"}
	if names := known(types).Names(); len(names) > 0 {
		name["enum"] = names
	}
	return map[string]any{
		"type": "array", "description": description,
		"items": map[string]any{
			"type":       "object",
			"properties": map[string]any{"type": name, "props": map[string]any{"type": "object"}},
			"required":   []string{"type", "props"},
		},
	}
}

func known(types *runbooks.Types) *runbooks.Types {
	if types == nil {
		return &runbooks.Types{}
	}
	return types
}

// Check implements [Tool].
func (s SubmitBlocks) Check(arguments json.RawMessage, _ string) (Intent, error) {
	blocks, err := s.Blocks(arguments)
	if err != nil {
		return Intent{}, err
	}
	return Intent{Summary: "Hand in " + blockCount(blocks)}, nil
}

// Blocks reads the blocks, which fit their types.
func (s SubmitBlocks) Blocks(arguments json.RawMessage) (json.RawMessage, error) {
	read := readFields(arguments, submitFields, "blocks")
	if read.mistake != nil {
		return nil, read.mistake
	}
	blocks := read.members["blocks"]
	if details := known(s.Types).CheckBlocks(blocks); len(details) > 0 {
		return nil, misfit("The blocks cannot be used. Mend these places and hand in all blocks again:", "/blocks", details)
	}
	return blocks, nil
}

// misfit lists the mistakes in the arguments for the model, a line for each place.
func misfit(told, pointer string, details []domain.Detail) error {
	lines := []string{told}
	for _, detail := range details {
		place := pointer + detail.Pointer
		if place != "" {
			place += ": "
		}
		lines = append(lines, "- "+place+detail.Message)
	}
	err := domain.Errorf(domain.CodeInvalidArguments, "%s", strings.Join(lines, "\n"))
	err.Details = details
	return err
}

// blockCount counts the blocks by type.
func blockCount(blocks json.RawMessage) string {
	var list []struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(blocks, &list); err != nil {
		return "blocks"
	}
	types := make([]string, 0, len(list))
	for _, block := range list {
		types = append(types, block.Type)
	}
	return fmt.Sprintf("%s: %s", blocksOf(len(list)), code(strings.Join(types, ", ")))
}

func blocksOf(n int) string {
	if n == 1 {
		return "1 block"
	}
	return fmt.Sprintf("%d blocks", n)
}

// Run implements [Tool].
func (SubmitBlocks) Run(context.Context, domain.Host, domain.ToolCall) Result {
	return failed("", domain.Errorf(domain.CodeToolFailed, "Blocks are handed in, not run."))
}
