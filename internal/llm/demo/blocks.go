package demo

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"signoff/internal/domain"
	"signoff/internal/llm/provider"
	"signoff/internal/runbooks"
)

// The script's second walk: it reads a runbook and hands in two blocks of the first type that there is, so that the whole way
// of a generation, edits included, can be shown without a key.

// The tools of a generation that the script knows, beside the one that reads the document.
const (
	submitBlocks = "submit_blocks"
	blockDocs    = "get_block_docs"
)

func generating(request provider.Request) bool { return schemaOf(request, submitBlocks) != nil }

// sceneReading reads the document, and what is known of the type. Its documentation is asked for last, because the next
// scene goes by the last result.
func sceneReading(request provider.Request) scene {
	s := scene{
		thought: fmt.Sprintf("The user wrote: “%s”. I follow a script, so whatever the task is, I read the runbook and hand in two simple blocks.",
			provider.OneLine(lastUserText(request), 120)),
		text: "I am Signoff's scripted demonstration model: no language model is behind me. I show how blocks are generated.",
	}
	if schemaOf(request, runbooks.GetDocument) != nil {
		s.calls = append(s.calls, provider.Call{Name: runbooks.GetDocument, Arguments: "{}"})
	}
	if blockType := blockTypeOf(request); schemaOf(request, blockDocs) != nil && blockType != "" {
		s.calls = append(s.calls, provider.Call{Name: blockDocs, Arguments: string(domain.Encode(map[string]any{"types": []string{blockType}}))})
	}
	if len(s.calls) == 0 {
		s.calls = sceneSubmitting(request, "").calls
	}
	return s
}

// blockTypeOf is the first type that a block can have. The tool's schema has them all; empty: any.
func blockTypeOf(request provider.Request) string {
	return gjson.GetBytes(schemaOf(request, submitBlocks), "properties.blocks.items.properties.type.enum.0").String()
}

func sceneSubmitting(request provider.Request, docs string) scene {
	type block struct {
		Type  string         `json:"type"`
		Props map[string]any `json:"props"`
	}
	blocks := []block{}
	for _, text := range []string{"This block was written by a script, not by a model.", "You asked for: " + provider.OneLine(lastUserText(request), 200)} {
		blocks = append(blocks, block{Type: cmp.Or(blockTypeOf(request), "paragraph"), Props: propsOf(docs, text)})
	}
	return scene{
		thought: "I have read what I need, and hand in two blocks. A person accepts them, or asks for changes.",
		calls:   []provider.Call{{Name: submitBlocks, Arguments: string(domain.Encode(map[string]any{"blocks": blocks}))}},
	}
}

// propSchema is what the script reads of a schema of props.
type propSchema struct {
	Type       any                   `json:"type"`
	Enum       []any                 `json:"enum"`
	Required   []string              `json:"required"`
	Properties map[string]propSchema `json:"properties"`
}

// propsOf fills in what the schema in the documentation asks for, or every text where it asks for nothing.
func propsOf(docs, text string) map[string]any {
	var wanted propSchema
	if at := strings.LastIndex(docs, "```json\n"); at >= 0 {
		body, _, _ := strings.Cut(docs[at+len("```json\n"):], "```")
		_ = json.Unmarshal([]byte(body), &wanted) // of what cannot be read, nothing is known
	}
	names := wanted.Required
	if len(names) == 0 {
		names = slices.Sorted(maps.Keys(wanted.Properties))
	}
	props := map[string]any{}
	for _, name := range names {
		if value := wanted.Properties[name].sample(text); value != nil {
			props[name] = value
		}
	}
	return props
}

func (s propSchema) sample(text string) any {
	if len(s.Enum) > 0 {
		return s.Enum[0]
	}
	switch s.Type {
	case "string", nil:
		return text
	case "number", "integer":
		return 1
	case "boolean":
		return false
	case "array":
		return []any{}
	case "object":
		return map[string]any{}
	default:
		return nil
	}
}
