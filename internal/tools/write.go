package tools

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"signoff/internal/domain"
)

const writeFields = `"path" and "content" (strings)`

//go:embed write.md
var writeText string

// Write creates or replaces a whole file.
type Write struct{}

var _ Tool = Write{}

type writeArguments struct {
	path, content string
}

// Definition implements [Tool].
func (Write) Definition() Definition {
	return Definition{
		Name:        "write",
		Version:     "1",
		Class:       domain.ClassWrite,
		Description: writeText,
		Schema: json.RawMessage(`{
			"type": "object",
			"properties": {
				"path": {"type": "string", "description": "The file, relative to the working directory."},
				"content": {"type": "string", "description": "All that the file is to hold."}
			},
			"required": ["path", "content"],
			"additionalProperties": false
		}`),
	}
}

// Check implements [Tool].
func (Write) Check(arguments json.RawMessage, dir string) (Intent, error) {
	parsed, err := readWriteArguments(arguments)
	if err != nil {
		return Intent{}, err
	}
	return Intent{
		Summary: fmt.Sprintf("Write %s to %s in %s: %s", sized(parsed.content), code(parsed.path), folder(dir), code(parsed.content)),
		Action:  domain.Action{Paths: []string{absolute(dir, parsed.path)}},
	}, nil
}

// Run implements [Tool].
func (Write) Run(ctx context.Context, host domain.Host, call domain.ToolCall) Result {
	parsed, err := readWriteArguments(call.Arguments)
	if err != nil {
		return failed("", err)
	}
	if err := parsed.knowing(ctx, host); err != nil {
		return failed("", err)
	}
	done := "Created"
	if there(ctx, host, parsed.path) {
		done = "Replaced"
	}
	if err := host.WriteFiles(ctx, domain.FileChange{Path: parsed.path, Content: []byte(parsed.content)}); err != nil {
		return failed("", err)
	}
	return Result{Output: fmt.Sprintf("%s %s: %s.", done, visible(parsed.path), sized(parsed.content))}
}

func there(ctx context.Context, host domain.Host, path string) bool {
	file, err := host.OpenFile(ctx, path)
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	_ = file.Close()
	return true
}

// sized is how long a text is, in words.
func sized(text string) string {
	return fmt.Sprintf("%s, %s", counted(len(splitLines(text)), "line"), counted(len(text), "byte"))
}

func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// splitLines returns the lines of a text with their ends.
func splitLines(text string) []string {
	lines := strings.SplitAfter(text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

func readWriteArguments(arguments json.RawMessage) (writeArguments, error) {
	members := readFields(arguments, writeFields, "path", "content")
	wanted := writeArguments{path: members.text("path", maxPathBytes), content: members.body("content")}
	return wanted, members.mistake
}
