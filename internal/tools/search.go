package tools

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"signoff/internal/domain"
	"signoff/internal/regex"
)

const (
	linesFields = `"pattern" (string) and optionally "path", "glob" (strings), "ignoreCase" (true or false), ` +
		`"contextLines" and "maxResults" (whole numbers)`
	maxPatternBytes  = 1000
	maxSearchedBytes = 10 << 20 // of one file
	maxSearchOutput  = 64 << 10
	maxSearchDepth   = 100
	maxSearchLine    = 300
	beforeMatch      = 80          // bytes of a long line that are shown before its match
	maxMatchedLine   = 1 << 20     // bytes of one line that are searched
	maxSearchTime    = time.Minute // a pattern of the worst kind would take hours for a large folder
)

//go:embed search.md
var linesText string

// Search finds lines in the files of a folder.
type Search struct{}

var _ Tool = Search{}

type searchArguments struct {
	pattern *regex.Regexp
	written string // as the model wrote it
	path    string
	glob    glob
	context int
	results int
}

// Definition implements [Tool].
func (Search) Definition() Definition {
	return Definition{
		Name:        "search",
		Version:     "1",
		Class:       domain.ClassRead,
		Description: linesText,
		Schema: json.RawMessage(`{
			"type": "object",
			"properties": {
				"pattern": {"type": "string", "description": "A regular expression in RE2 syntax."},
				"path": {"type": "string", "description": "A file or folder, relative to the working directory. Default: that itself."},
				"glob": {"type": "string", "description": "Only files that fit, such as *.go."},
				"ignoreCase": {"type": "boolean", "description": "Default false."},
				"contextLines": {"type": "integer", "minimum": 0, "maximum": 5, "description": "Lines around each match. Default 0."},
				"maxResults": {"type": "integer", "minimum": 1, "maximum": 1000, "description": "Default 100."}
			},
			"required": ["pattern"],
			"additionalProperties": false
		}`),
	}
}

// Check implements [Tool].
func (Search) Check(arguments json.RawMessage, dir string) (Intent, error) {
	parsed, err := readSearchArguments(arguments)
	if err != nil {
		return Intent{}, err
	}
	return Intent{
		Summary: fmt.Sprintf("Search %s in %s for %s", code(parsed.path), folder(dir), code(parsed.written)),
		Action:  domain.Action{Paths: []string{absolute(dir, parsed.path)}},
	}, nil
}

// Run implements [Tool].
func (Search) Run(ctx context.Context, host domain.Host, call domain.ToolCall) Result {
	wanted, err := readSearchArguments(call.Arguments)
	if err != nil {
		return failed("", err)
	}
	found := &finds{searchArguments: wanted, host: host}
	if err := found.everywhere(ctx); err != nil {
		return failed("", err)
	}
	return found.result()
}

// finds holds the matches of one search so far.
type finds struct {
	searchArguments
	host domain.Host

	lines   strings.Builder
	matches int
	full    bool // there is more than may be shown
	late    bool // it took too long
	walked  walk

	binary, large, unread int // files that were left out
	long                  int // lines whose end was omitted
}

// everywhere searches a folder, or the one file that the path is. When its time is over, the matches so far count.
func (f *finds) everywhere(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, maxSearchTime)
	defer cancel()
	err := f.walk(limited)
	switch {
	case ctx.Err() != nil:
		return domain.Errorf(domain.CodeCancelled, "The search was cancelled.").With(ctx.Err())
	case limited.Err() != nil:
		f.late = true
		return nil
	}
	return err
}

func (f *finds) walk(ctx context.Context) error {
	f.walked = walk{host: f.host, depth: maxSearchDepth}
	for below, entry := range f.walked.entries(ctx, f.path) {
		if !entry.Type().IsRegular() || !f.glob.fits(below) {
			continue
		}
		if f.file(ctx, path.Join(f.path, below)) != nil {
			f.unread++
		}
		if f.full {
			return nil
		}
	}
	if f.walked.err != nil && f.walked.seen == 0 {
		return f.file(ctx, f.path)
	}
	return f.walked.err
}

func (f *finds) file(ctx context.Context, path string) error {
	content, err := readBytes(ctx, f.host, path, maxSearchedBytes)
	switch {
	case errors.Is(err, errTooLong):
		f.large++
		return nil
	case err != nil:
		return err
	case binary(content):
		f.binary++
		return nil
	}
	f.search(ctx, path, bytes.TrimPrefix(content, byteOrderMark))
	return nil
}

// search goes through the lines of one file. It splits nothing in advance: ten million empty lines would cost more than
// the file.
func (f *finds) search(ctx context.Context, path string, content []byte) {
	printed, owed := 0, 0 // the last line that was shown; how many are still to be shown after a match
	for number, start := 1, 0; start < len(content) && !f.full; number++ {
		line, _, _ := bytes.Cut(content[start:], []byte("\n"))
		next := start + len(line) + 1
		line = bytes.TrimSuffix(line, []byte("\r"))
		if len(line) > maxMatchedLine {
			line, f.long = line[:maxMatchedLine], f.long+1
		}
		match := f.pattern.FindIndexContext(ctx, line)
		switch {
		case ctx.Err() != nil:
			return // everywhere says so
		case match != nil && f.matches == f.results:
			f.full = true
		case match != nil:
			f.matches++
			f.before(path, content[:start], number, printed)
			f.line(path, ":", number, line, match[0])
			printed, owed = number, f.context
		case owed > 0:
			f.line(path, "-", number, line, 0)
			printed, owed = number, owed-1
		}
		start = next
	}
}

// before shows the lines before the given one that were not shown yet. A gap is marked, as grep does it.
func (f *finds) before(path string, content []byte, number, printed int) {
	if f.context == 0 {
		return
	}
	count := min(f.context, number-printed-1)
	if f.lines.Len() > 0 && (printed == 0 || number-count > printed+1) {
		f.lines.WriteString("--\n")
	}
	start := len(content)
	for range count {
		start = bytes.LastIndexByte(content[:start-1], '\n') + 1
	}
	for i := range count {
		line, rest, _ := bytes.Cut(content[start:], []byte("\n"))
		f.line(path, "-", number-count+i, bytes.TrimSuffix(line, []byte("\r")), 0)
		start = len(content) - len(rest)
	}
}

func (f *finds) line(path, mark string, number int, line []byte, at int) {
	if f.full {
		return
	}
	text := strings.ToValidUTF8(aroundMatch(line, at), "\uFFFD")
	fmt.Fprintf(&f.lines, "%s%s%d%s %s\n", visible(path), mark, number, mark, text)
	f.full = f.lines.Len() > maxSearchOutput
}

// aroundMatch cuts a long line; at is where the match begins.
func aroundMatch(line []byte, at int) string {
	if len(line) <= maxSearchLine {
		return string(line)
	}
	begin := max(0, min(at-beforeMatch, len(line)-maxSearchLine))
	end := begin + maxSearchLine
	text := string(line[begin:end])
	if begin > 0 {
		text = "…" + text
	}
	if end < len(line) {
		text += "…"
	}
	return text
}

// result names on lines of their own the files that were not searched and the matches that are not shown.
func (f *finds) result() Result {
	text := f.lines.String()
	if text == "" {
		text = "No line matches.\n"
	}
	var notes []string
	note := func(when bool, format string, args ...any) {
		if when {
			notes = append(notes, fmt.Sprintf(format, args...))
		}
	}
	note(f.late, "[The search was ended after a minute: narrow it by path or glob, or use a simpler pattern.]")
	note(f.full, "[%d matches are shown, and there are more: narrow the search by path, glob or pattern.]", f.matches)
	note(f.walked.stopped(), "[Only the first %d files and folders were searched: narrow the search by path.]", maxWalked)
	note(f.binary > 0, "[Binary files left out: %d.]", f.binary)
	note(f.large > 0, "[Files over %d MiB left out: %d.]", maxSearchedBytes>>20, f.large)
	note(f.long > 0, "[Of lines over %d MiB only the beginning was searched: %d.]", maxMatchedLine>>20, f.long)
	note(f.unread+f.walked.unread > 0, "[Files and folders that could not be read: %d.]", f.unread+f.walked.unread)
	note(f.walked.skipped, "[.git and node_modules are searched only where the path names them.]")
	return Result{Output: joinLines(text, strings.Join(notes, "\n")), Truncated: f.full || f.late || f.walked.stopped()}
}

func readSearchArguments(arguments json.RawMessage) (searchArguments, error) {
	members := readFields(arguments, linesFields, "pattern", "path", "glob", "ignoreCase", "contextLines", "maxResults")
	wanted := searchArguments{
		written: members.text("pattern", maxPatternBytes),
		path:    members.optionalPath("path"),
		glob:    members.glob("glob"),
		context: members.number("contextLines", 0, 0, 5),
		results: members.number("maxResults", 100, 1, 1000),
	}
	ignoreCase := members.flag("ignoreCase")
	if members.mistake != nil {
		return wanted, members.mistake
	}
	var err error
	wanted.pattern, err = readPattern(wanted.written, ignoreCase)
	return wanted, err
}
