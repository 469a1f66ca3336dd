package main

import (
	"encoding/json"
	"strconv"
	"sync"
	"time"

	"signoff/internal/domain"
)

// hubLog is the log of one execution: its frames, each encoded once for all followers. One goroutine writes it.
type hubLog struct {
	execution string

	mu       sync.Mutex
	frames   [][]byte // frame n is the event with seq n+1
	ended    bool
	notified chan struct{} // closed by the next event; nil while nobody waits
}

// add writes an event. Data is its JSON.
func (l *hubLog) add(kind domain.EventType, data []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.frames = append(l.frames, l.encode(kind, data))
	l.ended = kind.Terminal()
	if l.notified != nil {
		close(l.notified)
		l.notified = nil
	}
}

// addPayload writes an event that is too rare to be worth an encoder of its own.
func (l *hubLog) addPayload(kind domain.EventType, payload map[string]any) {
	data, err := json.Marshal(payload)
	if err != nil { // unreachable: the values are texts and numbers
		data = []byte("{}")
	}
	l.add(kind, data)
}

// after returns the frames behind seq and a channel that is closed when there are more. It reads both under one lock, so an event that comes while
// the caller writes the frames has closed the channel already.
func (l *hubLog) after(seq int) (frames [][]byte, ended bool, more <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.notified == nil && !l.ended {
		l.notified = make(chan struct{})
	}
	return l.frames[min(seq, len(l.frames)):], l.ended, l.notified
}

func (l *hubLog) encode(kind domain.EventType, data []byte) []byte {
	var digits [20]byte
	seq := strconv.AppendInt(digits[:0], int64(len(l.frames)+1), 10)
	b := make([]byte, 0, len(data)+2*len(kind)+160)
	b = append(b, "id: "...)
	b = append(b, seq...)
	b = append(b, "\nevent: "...)
	b = append(b, kind...)
	b = append(b, "\ndata: {\"seq\":"...)
	b = append(b, seq...)
	b = append(b, `,"type":"`...)
	b = append(b, kind...)
	b = append(b, `","time":"`...)
	b = time.Now().UTC().AppendFormat(b, "2006-01-02T15:04:05.000000Z")
	b = append(b, `","data":`...)
	b = append(b, data...)
	return append(b, "}\n\n"...)
}

func (l *hubLog) addText(to *hubText, text string) {
	if text != "" {
		l.add(to.kind, to.delta(text))
	}
}

// hubText is a message, or a thought, that the model is saying.
type hubText struct {
	kind domain.EventType
	id   string
}

// delta is the data of the next piece. Its text is escaped by encoding/json; the rest needs no escaping.
func (t *hubText) delta(text string) []byte {
	escaped, err := json.Marshal(text)
	if err != nil { // unreachable: every string can be encoded
		escaped = []byte(`""`)
	}
	b := make([]byte, 0, len(escaped)+len(t.id)+64)
	b = append(b, `{"messageId":"`...)
	b = append(b, t.id...)
	b = append(b, `","text":`...)
	b = append(b, escaped...)
	return append(b, '}')
}
