package tools

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"math"

	"signoff/internal/domain"
)

const (
	memoryWriteFields = `"content" (string) and optionally "scope" (global or runbook), "mode" (append or replace) ` +
		`and "revision" (whole number)`
	modeAppend     = "append"
	modeReplace    = "replace"
	appendAttempts = 4 // the first one and three more
	anyRevision    = -1
)

//go:embed memory_write.md
var memoryWriteText string

// MemoryWrite leaves notes for later executions.
type MemoryWrite struct{}

var _ Tool = MemoryWrite{}

type noteArguments struct {
	scope    domain.MemoryScope
	mode     string
	content  string
	revision int // that is replaced; anyRevision where the model did not say
}

// Definition implements [Tool].
func (MemoryWrite) Definition() Definition {
	return Definition{
		Name:        "memory_write",
		Version:     "1",
		Class:       domain.ClassWrite,
		Description: memoryWriteText,
		Schema: json.RawMessage(`{
			"type": "object",
			"properties": {
				"scope": {"type": "string", "enum": ["global", "runbook"], "description": "Whose notes. Default global."},
				"content": {"type": "string", "description": "The note, in Markdown."},
				"mode": {"type": "string", "enum": ["append", "replace"], "description": "Default append."},
				"revision": {"type": "integer", "minimum": 0,
					"description": "With replace: the revision of the notes that you have read."}
			},
			"required": ["content"],
			"additionalProperties": false
		}`),
	}
}

// Check implements [Tool].
func (MemoryWrite) Check(arguments json.RawMessage, _ string) (Intent, error) {
	note, err := readNote(arguments)
	if err != nil {
		return Intent{}, err
	}
	if note.mode == modeReplace {
		return Intent{Summary: fmt.Sprintf("Replace %s, which are a part of later prompts, by %s", notesOf(note.scope), code(note.content))}, nil
	}
	return Intent{Summary: fmt.Sprintf("Append to %s, which are a part of later prompts: %s", notesOf(note.scope), code(note.content))}, nil
}

// Run implements [Tool].
func (MemoryWrite) Run(ctx context.Context, host domain.Host, call domain.ToolCall) Result {
	note, err := readNote(call.Arguments)
	if err != nil {
		return failed("", err)
	}
	save := note.append
	if note.mode == modeReplace {
		save = note.replace
	}
	saved, err := save(ctx, host)
	if err != nil {
		return failed("", err)
	}
	return Result{Output: fmt.Sprintf("Noted. This is revision %d of %s, which have %d bytes of at most %d.",
		saved.Revision, notesOf(note.scope), len(saved.Content), domain.MaxMemoryBytes)}
}

// append tries again where another execution was faster: its note and ours both belong there.
func (n noteArguments) append(ctx context.Context, host domain.Host) (domain.Memory, error) {
	for range appendAttempts {
		memory, err := host.Memory(ctx, n.scope)
		if err != nil {
			return domain.Memory{}, err
		}
		content := n.content
		if memory.Content != "" {
			content = joinLines(memory.Content, n.content)
		}
		if len(content) > domain.MaxMemoryBytes {
			return domain.Memory{}, domain.Errorf(domain.CodeToolFailed, "There is no room: with this note, they would have %d bytes, "+
				"and at most %d are allowed. Read them, and replace them by fewer words.", len(content), domain.MaxMemoryBytes)
		}
		saved, err := host.SaveMemory(ctx, n.scope, memory.Revision, content)
		if domain.CodeOf(err) != domain.CodeConflict {
			return saved, err
		}
	}
	return domain.Memory{}, domain.Errorf(domain.CodeConflict, "Others are writing these notes at the same time. Try again later.")
}

// replace does not try again: what the model wants to put in their place was written without the notes that it does
// not know.
func (n noteArguments) replace(ctx context.Context, host domain.Host) (domain.Memory, error) {
	revision := int64(n.revision)
	if n.revision == anyRevision {
		memory, err := host.Memory(ctx, n.scope)
		if err != nil {
			return domain.Memory{}, err
		}
		revision = memory.Revision
	}
	saved, err := host.SaveMemory(ctx, n.scope, revision, n.content)
	if domain.CodeOf(err) == domain.CodeConflict {
		return saved, domain.Errorf(domain.CodeConflict,
			"The notes have changed since you read them, and nothing was written. Read them again.").With(err)
	}
	return saved, err
}

func readNote(arguments json.RawMessage) (noteArguments, error) {
	members := readFields(arguments, memoryWriteFields, "scope", "content", "mode", "revision")
	note := noteArguments{
		scope:    members.memoryScope(),
		content:  members.text("content", domain.MaxMemoryBytes),
		mode:     members.choice("mode", modeAppend, modeReplace),
		revision: members.number("revision", anyRevision, 0, math.MaxInt32),
	}
	if note.revision != anyRevision && note.mode == modeAppend {
		members.wrong(`The field "revision" goes with the mode "replace" only.`)
	}
	return note, members.mistake
}
