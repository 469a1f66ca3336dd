package wire

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
)

// lineLimit is what one line of an agent may have. The SDK ends the connection at 10 MiB, so this is less.
const lineLimit = 8 << 20

// sampleLimit is how much of a line is shown to people when it was no message.
const sampleLimit = 512

// agentLine is one line of the agent's stdout.
type agentLine struct {
	text    []byte // without the white space around it; of a line that is too long, only its beginning
	size    int64  // bytes, with the end of the line
	tooLong bool
	head    lineHead // of a line that is too long; of another one it is empty
}

// sample is the beginning of the line as text that a database takes: in valid UTF-8, and without NUL.
func (l agentLine) sample() string {
	beginning := string(l.text[:min(len(l.text), sampleLimit)])
	return strings.ReplaceAll(strings.ToValidUTF8(beginning, "?"), "\x00", "?")
}

// lineReader cuts a stream into lines. A line costs at most lineLimit of memory, however long it is.
type lineReader struct {
	from *bufio.Reader
	text []byte // of the line that is being read
	err  error  // the stream has ended
}

func newLineReader(from io.Reader) *lineReader {
	return &lineReader{from: bufio.NewReaderSize(from, 64<<10)}
}

// next reads one line; it holds until the next call. What stands before the end of the stream is a line too: an agent
// that exits may leave the last newline out.
func (r *lineReader) next() (agentLine, error) {
	r.text = r.text[:0]
	if cap(r.text) > 256<<10 {
		r.text = nil // one large line must not cost its memory until the agent exits
	}
	for more := r.err == nil; more; {
		var part []byte
		part, more = r.part()
		if len(r.text)+len(part) > lineLimit {
			return r.skip(part, more), nil
		}
		r.text = append(r.text, part...)
	}
	if len(r.text) == 0 {
		return agentLine{}, r.err
	}
	text := bytes.Trim(bytes.TrimPrefix(r.text, []byte("\ufeff")), " \t\r\n")
	return agentLine{text: text, size: int64(len(r.text))}, nil
}

// part reads some more of the line, and says whether the line goes on.
func (r *lineReader) part() (part []byte, more bool) {
	part, err := r.from.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		return part, true
	}
	r.err = err
	return part, false
}

// skip reads a line that is too long to its end, and keeps only what says what it was.
func (r *lineReader) skip(part []byte, more bool) agentLine {
	line := agentLine{text: slices.Clone(r.text[:sampleLimit]), size: int64(len(r.text)), tooLong: true}
	line.head.feed(r.text)
	r.text = nil
	for {
		line.size += int64(len(part))
		line.head.feed(part)
		if !more {
			return line
		}
		part, more = r.part()
	}
}

// headLimit is how long an id, a method or a name may be for a lineHead to see it.
const headLimit = 256

// lineHead finds what a JSON object says about itself at its top, wherever in the object it stands: its id, its method,
// whether it answers. It is fed with any pieces of the text, keeps next to nothing of it, and does not check it.
//
// It is what is left of a message that is too long, or not quite JSON: enough to answer a request, or to fail a call,
// that would otherwise wait for ever.
type lineHead struct {
	id, method json.RawMessage // as they were written; nil where there is none
	answers    bool            // it has a result or an error

	depth   int
	quoted  bool // inside a string
	escaped bool // behind a backslash
	naming  bool // at a name of the object
	over    bool // the object has ended, or was none

	name, value []byte // of the member at hand, cut behind the limit
}

// headOf is the head of a whole text.
func headOf(text []byte) lineHead {
	var h lineHead
	h.feed(text)
	return h
}

func (h *lineHead) feed(text []byte) {
	for _, c := range text {
		switch {
		case h.over:
			return
		case h.quoted:
			h.character(c)
		case c == '"':
			h.quoted = true
			h.keep(c)
		default:
			h.structure(c)
		}
	}
}

// character takes one byte of a string.
func (h *lineHead) character(c byte) {
	h.keep(c)
	switch {
	case h.escaped:
		h.escaped = false
	case c == '\\':
		h.escaped = true
	case c == '"':
		h.quoted = false
	}
}

// structure takes one byte outside of strings.
func (h *lineHead) structure(c byte) {
	switch {
	case h.depth == 0:
		h.begin(c)
		return
	case c == '{' || c == '[':
		h.depth++
	case c == '}' || c == ']':
		h.depth--
	}
	switch {
	case h.depth == 0:
		h.member()
		h.over = true
	case h.depth == 1 && c == ',':
		h.member()
	case h.depth == 1 && c == ':' && h.naming:
		h.naming = false
	case h.depth > 1 || !isSpace(c):
		h.keep(c)
	}
}

// begin takes what stands before the object.
func (h *lineHead) begin(c byte) {
	switch {
	case c == '{':
		h.depth, h.naming = 1, true
	case !isSpace(c):
		h.over = true
	}
}

func (h *lineHead) keep(c byte) {
	switch {
	case h.depth == 0: // a string, and no object
		h.over = true
	case h.naming && len(h.name) <= headLimit:
		h.name = append(h.name, c)
	case !h.naming && len(h.value) <= headLimit:
		h.value = append(h.value, c)
	}
}

// member ends one member of the object. Of two with the same name the last one holds, as in encoding/json.
func (h *lineHead) member() {
	var name string
	if json.Unmarshal(h.name, &name) == nil {
		switch name {
		case "id":
			h.id = h.scalar()
		case "method":
			if h.method = h.scalar(); h.method != nil && h.method[0] != '"' {
				h.method = nil
			}
		case "result", "error":
			h.answers = true
		}
	}
	h.name, h.value, h.naming = h.name[:0], h.value[:0], true
}

// scalar is the value at hand, where it is a whole string or number.
func (h *lineHead) scalar() json.RawMessage {
	if len(h.value) > headLimit || !isScalar(h.value) || !json.Valid(h.value) {
		return nil
	}
	return slices.Clone(h.value)
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

// isScalar tells strings and numbers, which an id may be, from everything else that is JSON.
func isScalar(value json.RawMessage) bool {
	return len(value) > 0 && (value[0] == '"' || value[0] == '-' || value[0] >= '0' && value[0] <= '9')
}
