package tools

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"signoff/internal/domain"
)

const (
	listFields = `optionally "path" (string), "depth" (whole number) and "pattern" (string)`
	maxListed  = 1000
	maxDepth   = 5
)

//go:embed list.md
var listText string

// List shows the content of a folder to the model.
type List struct{}

var _ Tool = List{}

type listArguments struct {
	path    string
	depth   int
	pattern glob
}

// Definition implements [Tool].
func (List) Definition() Definition {
	return Definition{
		Name:        "list",
		Version:     "1",
		Class:       domain.ClassRead,
		Description: listText,
		Schema: json.RawMessage(`{
			"type": "object",
			"properties": {
				"path": {"type": "string", "description": "The folder, relative to the working directory. Default: that itself."},
				"depth": {"type": "integer", "minimum": 1, "maximum": 5, "description": "How many levels. Default 1, or 5 with a pattern."},
				"pattern": {"type": "string", "description": "A glob: only what fits is shown."}
			},
			"additionalProperties": false
		}`),
	}
}

// Check implements [Tool].
func (List) Check(arguments json.RawMessage, dir string) (Intent, error) {
	parsed, err := readListArguments(arguments)
	if err != nil {
		return Intent{}, err
	}
	summary := fmt.Sprintf("List %s in %s", code(parsed.path), folder(dir))
	if parsed.pattern != "" {
		summary = fmt.Sprintf("List what fits %s below %s in %s", code(string(parsed.pattern)), code(parsed.path), folder(dir))
	}
	return Intent{Summary: summary, Action: domain.Action{Paths: []string{absolute(dir, parsed.path)}}}, nil
}

// Run implements [Tool].
func (List) Run(ctx context.Context, host domain.Host, call domain.ToolCall) Result {
	wanted, err := readListArguments(call.Arguments)
	if err != nil {
		return failed("", err)
	}
	var lines strings.Builder
	shown, more := 0, 0
	walked := &walk{host: host, depth: wanted.depth}
	for below, entry := range walked.entries(ctx, wanted.path) {
		switch {
		case !wanted.pattern.fits(below):
		case shown == maxListed:
			more++
		default:
			shown++
			lines.WriteString(listed(path.Join(wanted.path, below), entry))
		}
	}
	if walked.err != nil {
		return failed("", walked.err)
	}
	return listing(lines.String(), more, walked)
}

// listed is the line of one entry.
func listed(path string, entry fs.DirEntry) string {
	name := visible(path)
	info, err := entry.Info()
	switch {
	case entry.IsDir():
		return name + "/\n"
	case entry.Type()&fs.ModeSymlink != 0:
		return name + " (link)\n"
	case !entry.Type().IsRegular():
		return name + " (special)\n"
	case err != nil:
		return name + "\n"
	default:
		return fmt.Sprintf("%s (%d bytes)\n", name, info.Size())
	}
}

// listing names the missing entries on lines of their own.
func listing(lines string, more int, walked *walk) Result {
	if lines == "" {
		lines = "(nothing)\n"
	}
	var notes []string
	switch {
	case walked.stopped():
		notes = append(notes, fmt.Sprintf("[There are more than %d entries; not all of them were looked at. Name a folder below.]", maxWalked))
	case more > 0:
		notes = append(notes, fmt.Sprintf("[%d more entries are left out. Use a pattern, or name a folder below.]", more))
	}
	if walked.unread > 0 {
		notes = append(notes, fmt.Sprintf("[Folders that could not be read: %d.]", walked.unread))
	}
	return Result{Output: joinLines(lines, strings.Join(notes, "\n")), Truncated: more > 0 || walked.stopped()}
}

func readListArguments(arguments json.RawMessage) (listArguments, error) {
	members := readFields(arguments, listFields, "path", "depth", "pattern")
	wanted := listArguments{path: members.optionalPath("path"), pattern: members.glob("pattern")}
	usual := 1
	if wanted.pattern != "" {
		usual = maxDepth
	}
	wanted.depth = members.number("depth", usual, 1, maxDepth)
	return wanted, members.mistake
}
