package provider

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// What a stream may have; more is a [Error] that is not repeated.
const (
	MaxLineBytes  = 4 << 20  // of a stream's line; some servers send a call's whole arguments in one
	MaxEventBytes = 8 << 20  // of the lines up to an empty one, comments apart
	readBytes     = 16 << 10 // at once; a short event has some hundred
)

// EventReader reads server-sent events, which is how every vendor streams. It is ours for two reasons: it bounds what a
// server sends, and it reads into the same memory all the time, where an SDK makes some dozen objects of every chunk. At
// full speed that was most of what the server did.
//
// Ids and retry times mean nothing here: a stream is never taken up again. A carriage return ends a line together with
// the line feed behind it, never alone.
type EventReader struct {
	lines *bufio.Reader
	long  []byte // the current line, where it does not fit into lines
	event Event
	size  int // bytes of the current event's lines
}

// Event is one event of a stream. It is good until the next one is read.
type Event struct {
	Name []byte // empty where the stream names none
	Data []byte
}

// NewEventReader reads from body, which stays the caller's to close.
func NewEventReader(body io.Reader) *EventReader {
	return &EventReader{lines: bufio.NewReaderSize(body, readBytes)}
}

// Next returns the next event that has data, or [ErrEnded]. An event without an empty line behind it was cut off, and is none.
func (r *EventReader) Next() (Event, error) {
	r.begin()
	for {
		line, err := r.line()
		if err != nil {
			return Event{}, err
		}
		switch {
		case len(line) > 0:
			err = r.take(line)
		case len(r.event.Data) > 0:
			return r.event, nil
		default:
			r.begin()
		}
		if err != nil {
			return Event{}, err
		}
	}
}

func (r *EventReader) begin() {
	r.event, r.size = Event{Name: r.event.Name[:0], Data: r.event.Data[:0]}, 0
}

// take reads a line that is not empty. One that begins with a colon has no name: it is a comment, which may come for ever.
func (r *EventReader) take(line []byte) error {
	name, value, _ := bytes.Cut(line, []byte(":"))
	if len(name) == 0 {
		return nil
	}
	if r.size += len(line); r.size > MaxEventBytes {
		return errLongEvent
	}
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "event":
		r.event.Name = append(r.event.Name[:0], value...)
	case "data":
		if len(r.event.Data) > 0 {
			r.event.Data = append(r.event.Data, '\n')
		}
		r.event.Data = append(r.event.Data, value...)
	}
	return nil
}

// line returns the next line without its end.
func (r *EventReader) line() ([]byte, error) {
	line, err := r.lines.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		line, err = r.longLine(line)
	}
	switch {
	case errors.Is(err, io.EOF):
		return nil, ErrEnded
	case err != nil:
		return nil, err
	}
	return bytes.TrimSuffix(line[:len(line)-1], []byte("\r")), nil
}

func (r *EventReader) longLine(begun []byte) (_ []byte, err error) {
	r.long = append(r.long[:0], begun...)
	for err = bufio.ErrBufferFull; errors.Is(err, bufio.ErrBufferFull); {
		begun, err = r.lines.ReadSlice('\n')
		r.long = append(r.long, begun...)
		if len(r.long) > MaxLineBytes {
			return nil, errLongEvent
		}
	}
	return r.long, err
}

// ErrEnded means that a stream has come to its end, whatever that says of the answer.
var ErrEnded = errors.New("provider: the stream has ended")

// errLongEvent means that a provider sent too much without coming to an end.
var errLongEvent = &limitError{what: "a single event of its stream is too long"}

// limitError means that a provider sent too much.
type limitError struct{ what string }

// Error implements error.
func (e *limitError) Error() string { return "provider: " + e.what }

// ReportedError is an error of the vendor that came as an event, after the status 200. Its data is read by [Failures].
type ReportedError struct{ Data []byte }

// Error implements error. The data is the vendor's, and is not in it.
func (e *ReportedError) Error() string { return "provider: the vendor reported an error" }
