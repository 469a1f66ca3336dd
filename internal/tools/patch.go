package tools

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"

	"signoff/internal/domain"
)

const patchFields = `"patch" (string, a unified diff)`

//go:embed patch.md
var patchText string

// Patch changes files by a unified diff: all hunks of all files, or none.
type Patch struct{}

var _ Tool = Patch{}

// Definition implements [Tool].
func (Patch) Definition() Definition {
	return Definition{
		Name:        "patch",
		Version:     "1",
		Class:       domain.ClassWrite,
		Description: patchText,
		Schema: json.RawMessage(`{
			"type": "object",
			"properties": {
				"patch": {"type": "string", "description": "A unified diff for one or more files."}
			},
			"required": ["patch"],
			"additionalProperties": false
		}`),
	}
}

// Check implements [Tool].
func (Patch) Check(arguments json.RawMessage, dir string) (Intent, error) {
	files, err := readPatchArguments(arguments)
	if err != nil {
		return Intent{}, err
	}
	intent := Intent{}
	said := make([]string, 0, len(files))
	for _, file := range files {
		said = append(said, file.String())
		intent.Action.Paths = append(intent.Action.Paths, absolute(dir, file.path))
	}
	intent.Summary = fmt.Sprintf("Patch %s in %s: %s",
		counted(len(files), "file"), folder(dir), strings.Join(said, ", "))
	return intent, nil
}

// Run implements [Tool].
func (Patch) Run(ctx context.Context, host domain.Host, call domain.ToolCall) Result {
	files, err := readPatchArguments(call.Arguments)
	if err != nil {
		return failed("", err)
	}
	told, err := applyAll(ctx, host, files)
	if err != nil {
		return failed("Nothing was changed.", err)
	}
	return Result{Output: fmt.Sprintf("Patched %s:\n%s", counted(len(files), "file"), told)}
}

// applyAll changes all files or none, and returns a line about each.
func applyAll(ctx context.Context, host domain.Host, files []filePatch) (told string, err error) {
	changes := make([]domain.FileChange, 0, len(files))
	for _, file := range files {
		change, moved, err := file.change(ctx, host)
		if err != nil {
			return "", err
		}
		changes = append(changes, change)
		told += file.String() + moved + "\n"
	}
	return told, host.WriteFiles(ctx, changes...)
}

// change is the patched text of one file. moved names the hunks that were found elsewhere.
func (p filePatch) change(ctx context.Context, host domain.Host) (change domain.FileChange, moved string, err error) {
	change = domain.FileChange{Path: p.path, Expect: domain.NoFile}
	before := ""
	if p.kind != creates {
		if before, err = readWhole(ctx, host, p.path); err != nil {
			return change, "", err
		}
		change.Expect, change.Before = domain.SameFile, []byte(before)
	}
	after, moved, err := p.apply(ctx, before)
	if err == nil {
		err = unmasks(p.path, before, after)
	}
	switch {
	case err != nil:
		return change, "", err
	case p.kind == deletes && after != "":
		return change, "", p.misfit("the patch deletes the file, but %s of it would remain", counted(len(splitLines(after)), "line"))
	case p.kind == edits && after == before:
		return change, "", p.misfit("the patch would change nothing")
	case len(after) > maxEditBytes:
		return change, "", p.misfit("the file would be longer than %d MiB", maxEditBytes>>20)
	}
	change.Content, change.Delete = []byte(after), p.kind == deletes
	return change, moved, nil
}

func (p filePatch) misfit(format string, args ...any) error {
	return domain.Errorf(domain.CodeToolFailed, "%s: %s.", visible(p.path), fmt.Sprintf(format, args...))
}

func readPatchArguments(arguments json.RawMessage) ([]filePatch, error) {
	members := readFields(arguments, patchFields, "patch")
	text := members.text("patch", maxTextBytes)
	if members.mistake != nil {
		return nil, members.mistake
	}
	return parsePatch(text)
}
