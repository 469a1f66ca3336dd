package tools

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"strings"

	"signoff/internal/domain"
)

const (
	readFieldNames = `"path" (string) and optionally "offset" and "limit" (whole numbers)`
	maxPathBytes   = 4096
	defaultLines   = 2000
	maxReadBytes   = 256 << 10
	sniffBytes     = 8000 // as git does it: a NUL in the beginning means binary
	outputPrefix   = "output:"
)

// notText keeps a model from taking the replacement characters for the content.
const notText = "[This is not UTF-8: each � stands for other bytes. Do not write this text back; use a command to change it.]"

//go:embed read.md
var readText string

// Read gives the model a part of a text file, a picture, or a part of the output of an earlier call. A text file is streamed: its size
// does not matter.
type Read struct{}

var _ Tool = Read{}

type readArguments struct {
	path          string
	offset, limit int // lines; offset counts from 1
}

// callID is the call whose output is to be read; empty where it is a file.
func (a readArguments) callID() string {
	id, isOutput := strings.CutPrefix(a.path, outputPrefix)
	if !isOutput {
		return ""
	}
	return id
}

// noun names the source.
func (a readArguments) noun() string {
	if a.callID() != "" {
		return "output"
	}
	return "file"
}

// Definition implements [Tool].
func (Read) Definition() Definition {
	return Definition{
		Name:        "read",
		Version:     "3",
		Class:       domain.ClassRead,
		Description: readText,
		Schema: json.RawMessage(`{
			"type": "object",
			"properties": {
				"path": {"type": "string", "description": "The file, relative to the working directory; or output:<id of a call>."},
				"offset": {"type": "integer", "minimum": 1, "description": "The first line to read, from 1. Default 1."},
				"limit": {"type": "integer", "minimum": 1, "description": "How many lines to read. Default 2000."}
			},
			"required": ["path"],
			"additionalProperties": false
		}`),
	}
}

// Check implements [Tool].
func (Read) Check(arguments json.RawMessage, dir string) (Intent, error) {
	parsed, err := readReadArguments(arguments)
	if err != nil {
		return Intent{}, err
	}
	if id := parsed.callID(); id != "" {
		return Intent{Summary: fmt.Sprintf("Read what the call %s has printed", code(id))}, nil
	}
	return Intent{
		Summary: fmt.Sprintf("Read %s in %s", code(parsed.path), folder(dir)),
		Action:  domain.Action{Paths: []string{absolute(dir, parsed.path)}},
	}, nil
}

// Run implements [Tool].
func (Read) Run(ctx context.Context, host domain.Host, call domain.ToolCall) Result {
	parsed, err := readReadArguments(call.Arguments)
	if err != nil {
		return failed("", err)
	}
	var result Result
	if id := parsed.callID(); id != "" {
		result, err = parsed.output(ctx, host, id)
	} else {
		result, err = parsed.file(ctx, host)
	}
	if err != nil {
		return failed("", err)
	}
	return result
}

// output shows what an earlier call has printed.
func (a readArguments) output(ctx context.Context, host domain.Host, callID string) (Result, error) {
	text, err := host.ToolOutput(ctx, callID)
	if domain.CodeOf(err) == domain.CodeNotFound {
		err = domain.Errorf(domain.CodeNotFound, "There is no call %s whose output could be read.", code(callID)).With(err)
	}
	if err != nil {
		return Result{}, err
	}
	return a.lines(ctx, bufio.NewReaderSize(strings.NewReader(text), 64<<10))
}

// file shows a file of the workspace.
func (a readArguments) file(ctx context.Context, host domain.Host) (result Result, err error) {
	var failure error
	err = host.ViewFile(ctx, a.path, func(file fs.File) error {
		result, failure = a.opened(ctx, host, file)
		return failure
	})
	if err != nil && failure == nil {
		err = openError(err)
	}
	return result, err
}

func (a readArguments) opened(ctx context.Context, host domain.Host, file fs.File) (Result, error) {
	if info, err := file.Stat(); err == nil && info.IsDir() {
		return Result{}, domain.Errorf(domain.CodeToolFailed, "This is a folder, not a file.")
	}
	buffered := bufio.NewReaderSize(file, 64<<10)
	if isPicture(buffered) {
		return readPicture(ctx, host, a.path, buffered)
	}
	return a.lines(ctx, buffered)
}

func (a readArguments) lines(ctx context.Context, source *bufio.Reader) (Result, error) {
	text, truncated, err := readLines(ctx, source, a)
	return Result{Output: text, Truncated: truncated}, err
}

// openError is the error for a model; it omits the text of the system error.
func openError(err error) error {
	var coded *domain.Error
	switch {
	case errors.As(err, &coded):
		return coded
	case errors.Is(err, fs.ErrNotExist):
		return domain.Errorf(domain.CodeToolFailed, "There is no such file.").With(err)
	case errors.Is(err, fs.ErrPermission):
		return domain.Errorf(domain.CodeToolFailed, "The file may not be read.").With(err)
	default:
		return domain.Errorf(domain.CodeToolFailed, "The file cannot be opened.").With(err)
	}
}

// readLines reads the requested lines and says, on a line of its own, which lines it omits and how to read them.
func readLines(ctx context.Context, file *bufio.Reader, wanted readArguments) (text string, truncated bool, err error) {
	lines := lineReader{source: file}
	if err := lines.refuseBinary(); err != nil {
		return "", false, err
	}
	skipped, err := lines.skip(ctx, wanted.offset-1)
	if err != nil {
		return "", false, err
	}
	if skipped < wanted.offset-1 || (wanted.offset > 1 && lines.atEnd()) {
		return "", false, domain.Errorf(domain.CodeInvalidArguments,
			"The %s has %d lines; offset %d is behind its end.", wanted.noun(), skipped, wanted.offset)
	}
	body, count, err := lines.collect(ctx, wanted.limit)
	if err != nil {
		return "", false, err
	}
	text = strings.ToValidUTF8(string(body), "\uFFFD")
	if text != string(body) {
		text = joinLines(text, notText)
	}
	switch {
	case lines.cut:
		note := fmt.Sprintf("[Line %d is longer than can be shown and was cut. Use a command such as `cut -c` or `jq`.]",
			wanted.offset+count)
		return joinLines(text, note), true, nil
	case lines.more || !lines.atEnd():
		note := fmt.Sprintf("[Lines %d to %d. The %s goes on: read with offset %d.]",
			wanted.offset, wanted.offset+count-1, wanted.noun(), wanted.offset+count)
		return joinLines(text, note), true, nil
	case text == "":
		return fmt.Sprintf("(the %s is empty)", wanted.noun()), false, nil
	default:
		return text, false, nil
	}
}

// lineReader walks over lines without ever holding more than it may show.
type lineReader struct {
	source *bufio.Reader
	cut    bool // the first line did not fit, not even alone
	more   bool // a line was taken off the source and dropped, because it did not fit after the others
}

func (l *lineReader) refuseBinary() error {
	beginning, err := l.source.Peek(sniffBytes)
	if err != nil && !errors.Is(err, io.EOF) {
		return unreadable(err)
	}
	if bytes.IndexByte(beginning, 0) >= 0 {
		return domain.Errorf(domain.CodeToolFailed, "This is a binary file; it cannot be read as text.")
	}
	return nil
}

// skip passes over n lines and returns how many there were.
func (l *lineReader) skip(ctx context.Context, n int) (skipped int, err error) {
	for skipped < n {
		piece, err := l.slice(ctx)
		if err != nil {
			return skipped, err
		}
		if len(piece) == 0 {
			return skipped, nil
		}
		if piece[len(piece)-1] == '\n' || l.atEnd() {
			skipped++
		}
	}
	return skipped, nil
}

// collect takes up to n lines, as far as they fit. A first line that does not fit is taken in part.
func (l *lineReader) collect(ctx context.Context, n int) (body []byte, count int, err error) {
	for count < n {
		begin := len(body)
		for {
			piece, err := l.slice(ctx)
			if err != nil {
				return nil, 0, err
			}
			body = append(body, piece...)
			if len(body) > maxReadBytes {
				return l.overflow(body, begin, count)
			}
			if len(piece) == 0 || piece[len(piece)-1] == '\n' {
				break
			}
		}
		if len(body) == begin {
			return body, count, nil
		}
		count++
	}
	return body, count, nil
}

// overflow drops the line that does not fit, so that the next read can begin with it; it cuts it where it is the only
// one, because another read would get no further.
func (l *lineReader) overflow(body []byte, begin, count int) ([]byte, int, error) {
	if count > 0 {
		l.more = true
		return body[:begin], count, nil
	}
	l.cut = true
	return body[:runeCut(string(body), maxReadBytes)], 0, nil
}

// slice returns the next piece of a line, with its line feed where that is reached; nothing at the end of the file.
func (l *lineReader) slice(ctx context.Context) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, domain.Errorf(domain.CodeCancelled, "The reading was cancelled.").With(err)
	}
	piece, err := l.source.ReadSlice('\n')
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, bufio.ErrBufferFull) {
		return nil, unreadable(err)
	}
	return piece, nil
}

func (l *lineReader) atEnd() bool {
	_, err := l.source.Peek(1)
	return err != nil
}

func unreadable(cause error) error {
	return domain.Errorf(domain.CodeToolFailed, "The file cannot be read.").With(cause)
}

func readReadArguments(arguments json.RawMessage) (readArguments, error) {
	members := readFields(arguments, readFieldNames, "path", "offset", "limit")
	wanted := readArguments{
		path:   members.text("path", maxPathBytes),
		offset: members.number("offset", 1, 1, math.MaxInt32),
		limit:  members.number("limit", defaultLines, 1, math.MaxInt32),
	}
	if wanted.path == outputPrefix {
		members.wrong("The field \"path\" names no call after %q.", outputPrefix)
	}
	return wanted, members.mistake
}
