package events

import (
	"bytes"
	"encoding/json"
	"strconv"

	"signoff/internal/domain"
	"signoff/internal/store"
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

// frameRoom is the size of the common parts of a frame: names of fields, seq, time and the execution's id.
const frameRoom = 170

// NewFrame encodes event once for all who will read its execution.
func NewFrame(event domain.Event) Frame {
	return encode(strconv.FormatInt(event.Seq, 10), event, nil)
}

// encode depends on the event, and in the feed on the agent of its execution, and on no other event of its log: a follower may begin anywhere, and gets the
// bytes that it would have got live.
//
// The format is that of the HTML standard (server-sent events): the JSON is on one line, since a line feed inside a
// JSON string is always escaped; nothing that an agent says can forge a field of the frame.
func encode(id string, event domain.Event, agent *store.FeedAgent) Frame {
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
	b = append(b, '"')
	if agent != nil { // in the feed, which says whose event it is
		b = append(b, `,"executionId":"`...)
		b = append(b, event.Execution...)
		b = append(b, `","agent":`...)
		b = append(b, domain.Encode(agent)...)
	}
	b = append(b, `,"data":`...)
	b = appendData(b, event)
	b = append(b, "}\n\n"...)
	return Frame{ID: id, Seq: event.Seq, Type: event.Type, SSE: b, json: start}
}

// placedEvery is the interval of pieces that have their place although the pieces before them imply it. A reader that begins in the middle of
// a text learns there how much it has missed.
const placedEvery = 32

// appendData appends the data of an event. A piece has its place, `turn` and `offset`, at the beginning of its text and if its seq is a
// multiple of [placedEvery]; any other piece follows the piece of the same text before it.
func appendData(b []byte, event domain.Event) []byte {
	data := oneLine(event.Data)
	if !event.Type.Piece() || event.Seq%placedEvery == 0 {
		return append(b, data...)
	}
	from, to := placeIn(data)
	return append(append(b, data[:from]...), data[to:]...)
}

// placeIn finds the members `turn` and `offset` of a piece, as our encoder writes them. Nothing is found where the text
// begins. A quote inside a string is escaped, so nothing that an agent says looks like a member.
func placeIn(data []byte) (from, to int) {
	before, after, found := bytes.Cut(data, []byte(`,"offset":`))
	if !found || bytes.HasPrefix(after, []byte("0")) {
		return 0, 0
	}
	to = len(data) - len(bytes.TrimLeft(after, "0123456789"))
	if name, _, dated := bytes.Cut(before, []byte(`,"turn":`)); dated {
		before = name
	}
	return len(before), to
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
