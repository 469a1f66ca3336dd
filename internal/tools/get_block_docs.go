package tools

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"signoff/internal/domain"
)

const (
	blockDocsFields     = `optionally "types" (a list of strings)`
	maxBlockDocsBytes   = 32 << 10
	maxBlockDocsTypes   = 50
	maxBlockTypeBytes   = 200
	blockTypeCharacters = 200 // of a description, in the list
	noBlockTypes        = "(no types of blocks are known: this execution was started without any)"
)

//go:embed get_block_docs.md
var blockDocsText string

// GetBlockDocs is a reference of the types that blocks can have. They came with the request, so no approval is needed.
type GetBlockDocs struct{}

var _ Tool = GetBlockDocs{}

// Definition implements [Tool].
func (GetBlockDocs) Definition() Definition {
	return Definition{
		Name:        "get_block_docs",
		Version:     "1",
		Class:       domain.ClassNone,
		Description: blockDocsText,
		Schema: json.RawMessage(`{
			"type": "object",
			"properties": {
				"types": {"type": "array", "items": {"type": "string"}, "maxItems": 50, "description": "The types. Default: all of them."}
			},
			"additionalProperties": false
		}`),
	}
}

// Check implements [Tool].
func (GetBlockDocs) Check(arguments json.RawMessage, _ string) (Intent, error) {
	types, err := readBlockDocs(arguments)
	switch {
	case err != nil:
		return Intent{}, err
	case len(types) == 0:
		return Intent{Summary: "Look up the types of blocks"}, nil
	default:
		return Intent{Summary: "Look up the types of blocks " + code(strings.Join(types, ", "))}, nil
	}
}

// Run implements [Tool].
func (GetBlockDocs) Run(_ context.Context, host domain.Host, call domain.ToolCall) Result {
	wanted, err := readBlockDocs(call.Arguments)
	if err != nil {
		return failed("", err)
	}
	known := host.Runbook().BlockTypes
	if len(known) == 0 {
		return Result{Output: noBlockTypes}
	}
	chosen := known
	if len(wanted) > 0 {
		if chosen, err = choose(known, wanted); err != nil {
			return failed("", err)
		}
	}
	return showTypes(chosen, len(wanted) == 0)
}

// choose finds types by their names.
func choose(known []domain.BlockType, names []string) (chosen []domain.BlockType, err error) {
	for _, name := range names {
		at := slices.IndexFunc(known, func(t domain.BlockType) bool { return t.Type == name })
		if at < 0 {
			return nil, invalid("There is no type of block called %s. The types are: %s.", code(name), typeNames(known))
		}
		chosen = append(chosen, known[at])
	}
	return chosen, nil
}

func typeNames(types []domain.BlockType) string {
	names := make([]string, 0, len(types))
	for _, t := range types {
		names = append(names, t.Type)
	}
	return shorten(visible(strings.Join(names, ", ")), 4000, 0)
}

// showTypes shows all of the types where there is room. Otherwise it lists them, or, where they were asked for by name, names
// those that are left out.
func showTypes(types []domain.BlockType, listed bool) Result {
	var text strings.Builder
	for i, t := range types {
		page := typePage(t)
		if text.Len()+len(page) <= maxBlockDocsBytes {
			text.WriteString(page)
			continue
		}
		switch {
		case listed:
			return Result{Output: typeList(types), Truncated: true}
		case i == 0:
			text.WriteString(clipped(page, maxBlockDocsBytes))
		default:
			fmt.Fprintf(&text, "[Left out: %s. Ask for these by themselves.]", typeNames(types[i:]))
			return Result{Output: text.String(), Truncated: true}
		}
	}
	return Result{Output: text.String()}
}

// typePage is all that is known of one type.
func typePage(t domain.BlockType) string {
	parts := []string{"# " + t.Type}
	for _, part := range []string{t.Description, t.Docs} {
		if part = strings.TrimSpace(part); part != "" {
			parts = append(parts, part)
		}
	}
	if t.PropsSchema == nil {
		parts = append(parts, "Its props are not described.")
	} else {
		parts = append(parts, "The JSON Schema of its props:\n\n```json\n"+indented(t.PropsSchema)+"\n```")
	}
	return strings.Join(parts, "\n\n") + "\n\n"
}

func indented(schema json.RawMessage) string {
	var text bytes.Buffer
	if err := json.Indent(&text, schema, "", "  "); err != nil {
		return string(schema)
	}
	return text.String()
}

func typeList(types []domain.BlockType) string {
	var list strings.Builder
	list.WriteString("There is too much to show at once. Ask for the types that you need by name:\n\n")
	for _, t := range types {
		line := "- " + t.Type
		if description := strings.Join(strings.Fields(t.Description), " "); description != "" {
			line += ": " + shorten(description, blockTypeCharacters, 0)
		}
		list.WriteString(line + "\n")
	}
	return clipped(list.String(), maxBlockDocsBytes)
}

func readBlockDocs(arguments json.RawMessage) ([]string, error) {
	members := readFields(arguments, blockDocsFields, "types")
	types := members.list("types", maxBlockDocsTypes, maxBlockTypeBytes)
	return types, members.mistake
}
