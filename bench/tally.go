package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"
)

// tally counts what the model said as it comes over one stream. It looks for the texts in the JSON and for nothing else, or the client would
// cost more than what it measures. A chunk may come in two events, and many in one, so what it counts is bytes of text.
type tally struct {
	script    script
	keep      bool  // latencies, which cost a parsing of each stamp
	wire      int64 // bytes of the body
	text      int   // bytes of the texts, up to those of the script: the last event has all of them once more
	begun     time.Time
	latencies []time.Duration // from the model to here, of each chunk

	first, last chan<- struct{} // get a signal when the first text has come, and when all has; nil: nobody waits for it

	inside bool   // the next byte belongs to a text
	stamp  []byte // the part of a stamp that has come
	end    []byte // the last bytes of the body
}

func newTally(s script) *tally { return &tally{script: s.withDefaults(), keep: s.rate > 0} }

// key stands before a text.
var key = []byte(`"text":"`)

func (t *tally) chunks() int { return t.text / t.script.bytes }

// buffers are shared by the streams that come one after the other.
var buffers = sync.Pool{New: func() any { return new([64 << 10]byte) }}

// read reads the stream to its end. Every chunk of the script must be in it.
func (t *tally) read(body io.Reader) error {
	buffer := buffers.Get().(*[64 << 10]byte)
	defer buffers.Put(buffer)
	held := 0 // bytes that may be the beginning of a key
	for {
		n, err := body.Read(buffer[held:])
		t.wire += int64(n)
		if n > 0 {
			held = copy(buffer[:], t.take(buffer[:held+n], time.Now()))
		}
		if errors.Is(err, io.EOF) {
			return t.whole()
		}
		if err != nil {
			return err
		}
	}
}

// take counts what is in p, and returns the part that is to be seen again, with what comes after it.
func (t *tally) take(p []byte, now time.Time) (rest []byte) {
	t.end = append(t.end[:0], p[max(0, len(p)-200):]...)
	for len(p) > 0 {
		if !t.inside {
			at := bytes.Index(p, key)
			if at < 0 {
				return p[max(0, len(p)-len(key)+1):]
			}
			p, t.inside = p[at+len(key):], true
			continue
		}
		quote := bytes.IndexByte(p, '"') // the script's texts need no escapes
		if quote < 0 {
			t.note(p, now)
			return nil
		}
		t.note(p[:quote], now)
		p, t.inside = p[quote+1:], false
	}
	return nil
}

func (t *tally) note(text []byte, now time.Time) {
	text = text[:min(len(text), t.script.chunks*t.script.bytes-t.text)]
	if len(text) == 0 {
		return
	}
	if t.text == 0 {
		t.begun = now
		notify(t.first)
	}
	for len(text) > 0 {
		in := t.text % t.script.bytes // of the chunk
		piece := text[:min(len(text), t.script.bytes-in)]
		if t.keep && in < stampBytes {
			t.stamped(piece[:min(len(piece), stampBytes-in)], now)
		}
		t.text += len(piece)
		text = text[len(piece):]
	}
	if t.text == t.script.chunks*t.script.bytes {
		notify(t.last)
	}
}

func notify(who chan<- struct{}) {
	if who != nil {
		who <- struct{}{}
	}
}

// stamped takes a part of a stamp, most often all of it.
func (t *tally) stamped(part []byte, now time.Time) {
	t.stamp = append(t.stamp, part...)
	if len(t.stamp) < stampBytes {
		return
	}
	if sent, err := strconv.ParseInt(string(t.stamp[1:]), 10, 64); err == nil {
		t.latencies = append(t.latencies, now.Sub(time.Unix(0, sent)))
	}
	t.stamp = t.stamp[:0]
}

// whole reports whether the stream came to the end that it should.
func (t *tally) whole() error {
	switch {
	case t.text != t.script.chunks*t.script.bytes:
		return fmt.Errorf("a stream has %d bytes of %d chunks; it ended with: %s", t.text, t.script.chunks, t.end)
	case t.keep && len(t.latencies) != t.script.chunks:
		return fmt.Errorf("of %d chunks only %d have a stamp", t.script.chunks, len(t.latencies))
	case !bytes.Contains(t.end, []byte(`}`)):
		return fmt.Errorf("a stream ended with: %s", t.end)
	}
	return nil
}
