package llm

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

const (
	maxLineBytes  = 4 << 20  // of a stream's line; some servers send a call's whole arguments in one
	maxEventBytes = 8 << 20  // of the lines up to an empty one, comments apart
	readBytes     = 16 << 10 // at once; a short event has some hundred
)

// eventReader reads server-sent events, which is how every vendor streams. It is ours for two reasons: it bounds what a
// server sends, and it reads into the same memory all the time, where an SDK makes some dozen objects of every chunk. At
// full speed that was most of what the server did.
//
// Ids and retry times mean nothing here: a stream is never taken up again. A carriage return ends a line together with
// the line feed behind it, never alone.
type eventReader struct {
	lines *bufio.Reader
	long  []byte // the current line, where it does not fit into lines
	event event
	size  int // bytes of the current event's lines
}

// event is one event of a stream. It is good until the next one is read.
type event struct {
	name []byte
	data []byte
}

func newEventReader(body io.Reader) *eventReader {
	return &eventReader{lines: bufio.NewReaderSize(body, readBytes)}
}

// next returns the next event that has data, or errEnded. An event without an empty line behind it was cut off, and is none.
func (r *eventReader) next() (event, error) {
	r.begin()
	for {
		line, err := r.line()
		if err != nil {
			return event{}, err
		}
		switch {
		case len(line) > 0:
			err = r.take(line)
		case len(r.event.data) > 0:
			return r.event, nil
		default:
			r.begin()
		}
		if err != nil {
			return event{}, err
		}
	}
}

func (r *eventReader) begin() {
	r.event, r.size = event{name: r.event.name[:0], data: r.event.data[:0]}, 0
}

// take reads a line that is not empty. One that begins with a colon has no name: it is a comment, which may come for ever.
func (r *eventReader) take(line []byte) error {
	name, value, _ := bytes.Cut(line, []byte(":"))
	if len(name) == 0 {
		return nil
	}
	if r.size += len(line); r.size > maxEventBytes {
		return errLongEvent
	}
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "event":
		r.event.name = append(r.event.name[:0], value...)
	case "data":
		if len(r.event.data) > 0 {
			r.event.data = append(r.event.data, '\n')
		}
		r.event.data = append(r.event.data, value...)
	}
	return nil
}

// line returns the next line without its end.
func (r *eventReader) line() ([]byte, error) {
	line, err := r.lines.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		line, err = r.longLine(line)
	}
	switch {
	case errors.Is(err, io.EOF):
		return nil, errEnded
	case err != nil:
		return nil, err
	}
	return bytes.TrimSuffix(line[:len(line)-1], []byte("\r")), nil
}

func (r *eventReader) longLine(begun []byte) (_ []byte, err error) {
	r.long = append(r.long[:0], begun...)
	for err = bufio.ErrBufferFull; errors.Is(err, bufio.ErrBufferFull); {
		begun, err = r.lines.ReadSlice('\n')
		r.long = append(r.long, begun...)
		if len(r.long) > maxLineBytes {
			return nil, errLongEvent
		}
	}
	return r.long, err
}

// errEnded means that a stream has come to its end, whatever that says of the answer.
var errEnded = errors.New("llm: the stream has ended")

// errLongEvent means that a provider sent too much without coming to an end.
var errLongEvent = &limitError{what: "a single event of its stream is too long"}

// limitError means that a provider sent too much.
type limitError struct{ what string }

func (e *limitError) Error() string { return "llm: " + e.what }

// toldError is an error of the provider that came as an event.
type toldError struct{ data []byte }

func (e *toldError) Error() string { return "llm: the provider reported an error" }
