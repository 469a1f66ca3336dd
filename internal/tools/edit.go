package tools

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"

	"signoff/internal/domain"
)

const (
	editFields     = `"path", "oldText", "newText" (strings) and optionally "replaceAll" (true or false)`
	excerptContext = 3  // lines around a change
	excerptLines   = 40 // at most
	excerptWidth   = 200
	placesNamed    = 10
	maxPlaces      = 1000 // that are counted
)

//go:embed edit.md
var editText string

// Edit replaces a text by another in a file.
type Edit struct{}

var _ Tool = Edit{}

type editArguments struct {
	path     string
	old, new string
	all      bool
}

// Definition implements [Tool].
func (Edit) Definition() Definition {
	return Definition{
		Name:        "edit",
		Version:     "1",
		Class:       domain.ClassWrite,
		Description: editText,
		Schema: json.RawMessage(`{
			"type": "object",
			"properties": {
				"path": {"type": "string", "description": "The file, relative to the working directory."},
				"oldText": {"type": "string", "description": "What is there now, exactly; in the file once."},
				"newText": {"type": "string", "description": "What is to be there. Empty: nothing."},
				"replaceAll": {"type": "boolean", "description": "Change all places. Default false."}
			},
			"required": ["path", "oldText", "newText"],
			"additionalProperties": false
		}`),
	}
}

// Check implements [Tool].
func (Edit) Check(arguments json.RawMessage, dir string) (Intent, error) {
	parsed, err := readEditArguments(arguments)
	if err != nil {
		return Intent{}, err
	}
	place := fmt.Sprintf("in %s in %s", code(parsed.path), folder(dir))
	if parsed.all {
		place = "everywhere " + place
	}
	summary := fmt.Sprintf("Replace %s by %s %s", code(parsed.old), code(parsed.new), place)
	if parsed.new == "" {
		summary = fmt.Sprintf("Remove %s %s", code(parsed.old), place)
	}
	return Intent{Summary: summary, Action: domain.Action{Paths: []string{absolute(dir, parsed.path)}}}, nil
}

// Run implements [Tool].
func (Edit) Run(ctx context.Context, host domain.Host, call domain.ToolCall) Result {
	wanted, err := readEditArguments(call.Arguments)
	if err != nil {
		return failed("", err)
	}
	before, err := readWhole(ctx, host, wanted.path)
	if err != nil {
		return failed("", err)
	}
	fitted := wanted.fitted(before)
	if err := fitted.unique(before); err != nil {
		return failed("", err)
	}
	first, count := strings.Index(before, fitted.old), 1
	if fitted.all {
		count = strings.Count(before, fitted.old)
	}
	after := strings.Replace(before, fitted.old, fitted.new, count)
	if err := unmasks(wanted.path, before, after); err != nil {
		return failed("", err)
	}
	switch {
	case after == before:
		return failed("", domain.Errorf(domain.CodeToolFailed, "The edit would change nothing: %s holds newText already.", visible(wanted.path)))
	case len(after) > maxEditBytes:
		return failed("", domain.Errorf(domain.CodeToolFailed, "The file would be longer than %d MiB.", maxEditBytes>>20))
	}
	change := domain.FileChange{Path: wanted.path, Content: []byte(after), Expect: domain.SameFile, Before: []byte(before)}
	if err := host.WriteFiles(ctx, change); err != nil {
		return failed("", err)
	}
	return edited(wanted.path, after, first, len(fitted.new), count)
}

// fitted has the line ends of the file: a model writes \n, whatever it has read.
func (e editArguments) fitted(content string) editArguments {
	windows := crlf(content)
	switch {
	case windows && strings.Contains(content, withCRLF(e.old)):
		e.old, e.new = withCRLF(e.old), withCRLF(e.new)
	case strings.Contains(content, e.old):
		if windows {
			e.new = e.behind(withCRLF(e.new))
		}
	case strings.Contains(content, withCRLF(e.old)): // one of the few places of the file that end so
		e.old, e.new = withCRLF(e.old), withCRLF(e.new)
	case strings.Contains(content, withLF(e.old)):
		e.old, e.new = withLF(e.old), withLF(e.new)
	}
	return e
}

// behind leaves a line feed that both texts begin with as it is: before it in the file, there may be a carriage return.
func (e editArguments) behind(fitted string) string {
	if rest, begins := strings.CutPrefix(fitted, "\r\n"); begins && strings.HasPrefix(e.old, "\n") {
		return "\n" + rest
	}
	return fitted
}

// unique fails where the old text is not there, or there more than once and not all places are meant.
func (e editArguments) unique(content string) error {
	places := e.places(content)
	switch {
	case len(places) == 0:
		return e.missing(content)
	case len(places) == 1 || e.all:
		return nil
	}
	times := counted(len(places), "time")
	if len(places) == maxPlaces {
		times += " or more"
	}
	named := make([]string, 0, placesNamed)
	line, from := 1, 0
	for _, place := range places[:min(len(places), placesNamed)] {
		line += strings.Count(content[from:place], "\n")
		named, from = append(named, fmt.Sprint(line)), place
	}
	more := ""
	if len(places) > placesNamed {
		more = " …"
	}
	return domain.Errorf(domain.CodeToolFailed, "oldText is in %s %s, at the lines %s%s. "+
		"Take in more lines around the one that you mean, or use replaceAll.", visible(e.path), times, strings.Join(named, ", "), more)
}

// places are where the old text is, overlapping ones too: of two that overlap, either may be meant. Each costs the length of
// the text where it overlaps the next, so they are not all counted.
func (e editArguments) places(content string) (places []int) {
	from := 0
	for len(places) < maxPlaces {
		at := strings.Index(content[from:], e.old)
		if at < 0 {
			break
		}
		places = append(places, from+at)
		from += at + 1
	}
	return places
}

func (e editArguments) missing(content string) error {
	lines, block := splitLines(content), splitLines(e.old)
	place := similarPlace(lines, block)
	if place < 0 {
		return domain.Errorf(domain.CodeToolFailed, "oldText is not in %s, nor anything like it. Read the file.%s", visible(e.path), aboutMask(e.old))
	}
	return domain.Errorf(domain.CodeToolFailed, "oldText is not in %s. The most similar place begins at line %d. %s%s",
		visible(e.path), place+1, difference(lines, place, block, "oldText"), aboutMask(e.old))
}

// edited shows the first change to the model.
func edited(path, after string, first, length, count int) Result {
	begin := strings.Count(after[:first], "\n")
	end := begin + strings.Count(after[first:first+length], "\n")
	lines := splitLines(after)
	text := fmt.Sprintf("Edited %s at %s.", visible(path), counted(count, "place"))
	if count > 1 {
		text += " The first:"
	}
	return Result{Output: text + "\n" + excerpt(lines, begin-excerptContext, end+excerptContext+1)}
}

// excerpt shows lines with their numbers, from 1.
func excerpt(lines []string, from, to int) string {
	from, to = max(from, 0), min(to, len(lines))
	var text strings.Builder
	for i := from; i < to; i++ {
		if i-from == excerptLines {
			fmt.Fprintf(&text, "[%d more lines]\n", to-i)
			break
		}
		line := strings.ToValidUTF8(bare(lines[i]), "\uFFFD")
		fmt.Fprintf(&text, "%d: %s\n", i+1, shorten(line, excerptWidth, 0))
	}
	return text.String()
}

func readEditArguments(arguments json.RawMessage) (editArguments, error) {
	members := readFields(arguments, editFields, "path", "oldText", "newText", "replaceAll")
	wanted := editArguments{
		path: members.text("path", maxPathBytes), old: members.body("oldText"), new: members.body("newText"), all: members.flag("replaceAll"),
	}
	switch {
	case wanted.old == "":
		members.wrong(`The field "oldText" is empty. To create a file, or to replace all of it, use write.`)
	case wanted.old == wanted.new:
		members.wrong("oldText and newText are the same; nothing would change.")
	}
	return wanted, members.mistake
}
