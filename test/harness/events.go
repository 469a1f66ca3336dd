package harness

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strconv"
	"strings"
	"time"

	"signoff/internal/domain"
)

// Event is an event as it came over the wire, with its bytes.
type Event struct {
	Seq         int64           `json:"seq"`
	Type        string          `json:"type"`
	Time        time.Time       `json:"time"`
	ExecutionID string          `json:"executionId"` // in the feed alone
	Data        json.RawMessage `json:"data"`
	Raw         string          `json:"-"` // all of it
}

// UnmarshalJSON reads an event and keeps its bytes.
func (e *Event) UnmarshalJSON(text []byte) error {
	type fields Event // has no UnmarshalJSON
	*e = Event{Raw: string(text)}
	return json.Unmarshal(text, (*fields)(e))
}

// Into decodes the data.
func (e Event) Into(target any) error { return json.Unmarshal(e.Data, target) }

// Domain is the event as the domain has it. What the frames of a stream leave out is left out here, too: see eventstest.Whole.
func (e Event) Domain() domain.Event {
	return domain.Event{
		Execution: domain.ExecutionID(e.ExecutionID), Seq: e.Seq, Type: domain.EventType(e.Type), Time: e.Time, Data: e.Data,
	}
}

// Domain is a log as the domain has it.
func Domain(log []Event) []domain.Event {
	events := make([]domain.Event, len(log))
	for i, e := range log {
		events[i] = e.Domain()
	}
	return events
}

// Page is a page of a list.
type Page[T any] struct {
	Items      []T     `json:"items"`
	NextCursor *string `json:"nextCursor"`
}

// Frame is a frame of a stream of server-sent events.
type Frame struct{ ID, Event, Data string }

// Frames reads the frames of a stream. It belongs to one goroutine.
type Frames struct{ lines *bufio.Reader }

// NewFrames reads from the body of an answer, which stays the caller's to close.
func NewFrames(body io.Reader) Frames { return Frames{bufio.NewReader(body)} }

// Next returns the next frame, and [io.EOF] at the end of the stream. A frame that broke off has not been delivered and is passed over.
func (f Frames) Next() (next Frame, err error) {
	for {
		line, err := f.lines.ReadString('\n')
		if err != nil {
			return Frame{}, err
		}
		line = strings.TrimSuffix(line, "\n")
		switch name, value, _ := strings.Cut(line, ": "); {
		case line == "" && next.Data != "":
			return next, nil
		case line == "":
			next = Frame{}
		case name == "id":
			next.ID = value
		case name == "event":
			next.Event = value
		case name == "data":
			next.Data = value
		}
	}
}

// ErrFrame is a frame that no server may send.
var ErrFrame = errors.New("a frame that no server may send")

// Events reads the events of an execution's stream up to its end, without the mark between past and present. A frame whose id or type are not
// its data's fails with [ErrFrame]; another error is one of the connection. The first one is the last value.
func Events(body io.Reader) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for frames := NewFrames(body); ; {
			frame, err := frames.Next()
			if errors.Is(err, io.EOF) {
				return
			}
			if frame.Event == "stream.synced" {
				continue
			}
			var e Event
			if err == nil {
				e, err = frame.event()
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

func (f Frame) event() (e Event, err error) {
	if err := json.Unmarshal([]byte(f.Data), &e); err != nil {
		return Event{}, fmt.Errorf("%w: %s %s: %w", ErrFrame, f.ID, f.Event, err)
	}
	if strconv.FormatInt(e.Seq, 10) != f.ID || e.Type != f.Event {
		return Event{}, fmt.Errorf("%w: %s %s carries %s", ErrFrame, f.ID, f.Event, f.Data)
	}
	return e, nil
}
