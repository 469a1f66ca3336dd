package events

import (
	"bytes"
	"encoding/json"
	"strconv"

	"signoff/internal/domain"
)

// Frame is one event as it goes over the wire. Its bytes are shared by all followers and must not be changed.
type Frame struct {
	ID   string // by which a client goes on from here: the seq, or the cursor in the feed
	Seq  int64
	Type domain.EventType
	SSE  []byte // id, event and data line with the blank line behind
	json int    // where the data line's JSON begins in SSE
}

// TimeFormat is RFC 3339 in UTC with all six digits, so that the same instant is always the same bytes.
const TimeFormat = "2006-01-02T15:04:05.000000Z"

// frameRoom is for what is in every frame: the names of the fields, the seq, the time and the execution's id.
const frameRoom = 170

// NewFrame encodes event once for all who will read its execution.
func NewFrame(event domain.Event) Frame { return frameOf(strconv.FormatInt(event.Seq, 10), event) }

// frameOf encodes event under an id.
//
// The format is that of the HTML standard (server-sent events): the JSON is on one line, since a line feed inside a
// JSON string is always escaped; nothing that an agent says can forge a field of the frame.
func frameOf(id string, event domain.Event) Frame {
	b := make([]byte, 0, len(event.Data)+len(event.Type)*2+len(id)+frameRoom)
	b = append(b, "id: "...)
	b = append(b, id...)
	b = append(b, "\nevent: "...)
	b = append(b, event.Type...)
	b = append(b, "\ndata: "...)
	start := len(b)
	b = append(b, `{"seq":`...)
	b = strconv.AppendInt(b, event.Seq, 10)
	b = append(b, `,"type":"`...)
	b = append(b, event.Type...)
	b = append(b, `","time":"`...)
	b = event.Time.UTC().AppendFormat(b, TimeFormat)
	b = append(b, `","executionId":"`...)
	b = append(b, event.Execution...)
	b = append(b, `","data":`...)
	b = append(b, oneLine(event.Data)...)
	b = append(b, "}\n\n"...)
	return Frame{ID: id, Seq: event.Seq, Type: event.Type, SSE: b, json: start}
}

// JSON is the event as one JSON object.
func (f Frame) JSON() []byte { return f.SSE[f.json : len(f.SSE)-2] }

// oneLine guards the frame against data that was not encoded by us. Our encoder writes no line feeds, so the copy is
// never made in practice.
func oneLine(data []byte) []byte {
	if bytes.IndexByte(data, '\n') < 0 && bytes.IndexByte(data, '\r') < 0 {
		return data
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, data); err != nil {
		return []byte("null")
	}
	return compact.Bytes()
}
