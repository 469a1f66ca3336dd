package stream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"time"

	"signoff/internal/domain"
	"signoff/internal/events"
)

// Stream writes what a follower reads to one client.
type Stream struct {
	hub      *Hub
	request  Request
	follower Follower
	synced   func(last string) string // the data of the event between history and live events; nil: it was sent

	out       writer
	canHijack bool      // the response is written by net/http, in chunks on its own connection: not HTTP/1.0, not HTTP/2
	deadline  time.Time // of writes
	lastWrite time.Time
	buffer    bytes.Buffer
	last      string // the id of the last frame in the buffer or sent; empty: there was none
}

// Request is the request that a stream answers.
type Request struct {
	Context  context.Context // it ends when the client disconnects
	ID       string          // for the log
	KeyID    string          // of the sender: the stream ends with the key
	Chunked  bool            // a response of unknown length is sent in chunks: not HTTP/1.0, not HTTP/2
	HeadOnly bool            // the client wants no body
	// Detach is called when the stream leaves the handler of the request. The stream calls the returned function at its end; that function
	// must not keep the request.
	Detach func() (ended func(abandoned bool))
}

// Open opens a stream. If too many are open, it returns domain.CodeUnavailable and does not call follow. Synced returns the data of the event
// between history and live events, given the id of the last event before it; empty: there was none.
func (h *Hub) Open(request Request, follow func() (Follower, error), synced func(last string) string) (*Stream, error) {
	if h.open.Add(1) > h.max {
		h.open.Add(-1)
		return nil, domain.Errorf(domain.CodeUnavailable, "There are too many open streams.")
	}
	follower, err := follow()
	if err != nil {
		h.open.Add(-1)
		return nil, err
	}
	return &Stream{hub: h, request: request, follower: follower, synced: synced, canHijack: request.Chunked}, nil
}

// writer writes to the client: through net/http, or to a hijacked connection.
type writer interface {
	SetWriteDeadline(deadline time.Time) error
	send(data []byte) error
}

// Ended reports whether there is nothing to stream: the execution has ended, and the client has all of its events. The caller closes such a
// stream instead of serving it.
func (t *Stream) Ended() bool { return t.follower.Ended() }

// Close releases the stream. Serve calls it at its end.
func (t *Stream) Close() {
	t.follower.Close()
	t.hub.open.Add(-1)
}

func (t *Stream) run() error {
	timer := time.NewTimer(t.untilTimer())
	defer timer.Stop()
	for {
		if reason := t.endReason(); reason != "" {
			return t.end(reason)
		}
		frames, err := t.follower.Next(t.request.Context)
		if err != nil && domain.CodeOf(err) == domain.CodeNotFound {
			return t.end("the execution was deleted")
		}
		if err != nil {
			return err
		}
		if err := t.writeFrames(frames); err != nil {
			return err
		}
		switch {
		case t.follower.Ended():
			return nil
		case len(frames) > 0:
			continue // there may be more
		}
		select {
		case <-t.follower.Notified():
		case <-timer.C:
			next, err := t.onTimer()
			if err != nil {
				return err
			}
			timer.Reset(next)
		case <-t.hub.draining:
		case <-t.request.Context.Done():
			return context.Cause(t.request.Context)
		}
	}
}

// errQuiet ends the loop of a quiet stream that can hijack its connection.
var errQuiet = errors.New("quiet")

// untilTimer returns how long the stream may stay quiet until it hijacks its connection or sends a heartbeat.
func (t *Stream) untilTimer() time.Duration {
	if t.canHijack {
		return time.Until(t.lastWrite.Add(QuietAfter))
	}
	return time.Until(t.lastWrite.Add(HeartbeatEvery))
}

// onTimer returns when the timer must fire next. The timer is early if there was a write meanwhile: to reset it with each write would
// cost more.
func (t *Stream) onTimer() (next time.Duration, err error) {
	if left := t.untilTimer(); left > 0 {
		return left, nil
	}
	if t.canHijack {
		return 0, errQuiet
	}
	t.buffer = bytes.Buffer{} // releases the memory of the last burst
	t.buffer.WriteString(": heartbeat\n\n")
	return HeartbeatEvery, nil
}

// endReason returns why the stream must end although the execution continues, or an empty string. It is called before every write, so
// that a revoked key gets nothing more. If the database cannot be read, there are no new frames either.
func (t *Stream) endReason() string {
	if t.hub.IsDraining() {
		return "the server is stopping, reconnect in a moment"
	}
	if domain.CodeOf(t.hub.keys.Check(t.request.Context, t.request.KeyID)) == domain.CodeUnauthenticated {
		return "the key is no longer valid"
	}
	return ""
}

// writeFrames sends frames in as few writes as possible, and sends stream.synced between history and live events.
func (t *Stream) writeFrames(frames []events.Frame) error {
	for _, frame := range frames {
		t.buffer.Write(frame.SSE)
		t.last = frame.ID
		if t.buffer.Len() >= MaxWrite {
			if err := t.flush(); err != nil {
				return err
			}
		}
	}
	t.hub.sent.Add(float64(len(frames)))
	if t.synced != nil && t.follower.Live() && !t.follower.Ended() {
		fmt.Fprintf(&t.buffer, "event: stream.synced\ndata: %s\n\n", t.synced(t.last))
		t.synced = nil
	}
	return t.flush()
}

// end ends a stream before the terminal event. A comment tells people why; the client reconnects by itself.
func (t *Stream) end(reason string) error {
	t.addRetryHint()
	t.buffer.WriteString(": " + reason + "\n\n")
	return t.flush()
}

// addRetryHint tells the client when to reconnect, with jitter: otherwise all clients of a restarted server would reconnect at once.
func (t *Stream) addRetryHint() { fmt.Fprintf(&t.buffer, "retry: %d\n\n", 2000+rand.IntN(1000)) }

// flush writes the buffer with a deadline, which replaces the server's deadline for whole responses. It keeps a deadline that it set within
// the last second: a busy stream would do little else.
func (t *Stream) flush() error {
	if t.buffer.Len() == 0 {
		return nil
	}
	t.lastWrite = time.Now()
	if until := t.lastWrite.Add(FrameTimeout); until.Sub(t.deadline) > time.Second {
		if err := t.out.SetWriteDeadline(until); err != nil && !errors.Is(err, http.ErrNotSupported) {
			return connError{err}
		}
		t.deadline = until
	}
	if err := t.out.send(t.buffer.Bytes()); err != nil {
		return connError{err}
	}
	if t.buffer.Cap() > 4*MaxWrite {
		t.buffer = bytes.Buffer{} // do not keep the memory of one huge frame
	}
	t.buffer.Reset()
	return nil
}

// isAbandoned reports whether the client disconnected before the end.
func (t *Stream) isAbandoned(err error) bool {
	switch {
	case err == nil:
		return false
	case errors.Is(err, os.ErrDeadlineExceeded):
		t.hub.cut.Inc()
		return true
	case t.request.Context.Err() != nil || IsDisconnect(err):
		return true
	default:
		t.hub.log.Warn("stream broke off", "requestId", t.request.ID, "error", err)
		return false
	}
}
