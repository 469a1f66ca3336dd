package schema

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	"signoff/internal/domain"
)

const fence = "```"

// Demand asks a model for a final answer that fits the schema; it is empty without a schema.
func Demand(document json.RawMessage) string {
	if len(document) == 0 {
		return ""
	}
	return "Your final answer must be one JSON value that fits the JSON Schema below, and nothing else: no sentence before or " +
		"behind it. What you say before you call a tool is not the final answer, and may be text.\n\n" +
		fence + "json\n" + strings.TrimSpace(string(document)) + "\n" + fence
}

// Answer finds the one JSON value in a model's final text: the whole text, or its one code block. Models
// put the block around it whatever the prompt says, and a sentence before it.
func Answer(text string) (json.RawMessage, error) {
	whole := strings.TrimSpace(text)
	switch {
	case whole == "":
		return nil, unusable("The answer is empty; it must be one JSON value.")
	case !utf8.ValidString(whole):
		return nil, unusable("The answer is not valid UTF-8.")
	case json.Valid([]byte(whole)):
		return readable(whole)
	}
	blocks := fenced(whole)
	switch {
	case len(blocks) == 0:
		return nil, unusable("The answer is not one JSON value.")
	case len(blocks) > 1:
		return nil, unusable("The answer has %d code blocks; it must be one JSON value and nothing else.", len(blocks))
	}
	inside := strings.TrimSpace(blocks[0])
	if !json.Valid([]byte(inside)) {
		return nil, unusable("The code block of the answer is not one JSON value.")
	}
	return readable(inside)
}

// readable refuses JSON that some clients cannot read.
func readable(value string) (json.RawMessage, error) {
	if domain.TooDeep([]byte(value)) {
		return nil, unusable("The answer is nested deeper than %d levels.", domain.MaxDepth)
	}
	return json.RawMessage(value), nil
}

// fenced are the code blocks of a text. JSON has no line breaks in its strings, so none of it begins a line with a fence.
func fenced(text string) (blocks []string) {
	var block strings.Builder
	inside := false
	for line := range strings.Lines(text) {
		switch marks := strings.HasPrefix(strings.TrimLeft(line, " \t"), fence); {
		case marks && inside:
			blocks, inside = append(blocks, block.String()), false
		case marks:
			block.Reset()
			inside = true
		case inside:
			block.WriteString(line)
		}
	}
	if inside { // the model forgot the last fence
		blocks = append(blocks, block.String())
	}
	return blocks
}

func unusable(format string, args ...any) error {
	return domain.Errorf(domain.CodeOutputInvalid, format, args...)
}
