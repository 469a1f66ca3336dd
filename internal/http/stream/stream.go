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
	synced   func(last string) string // the data of the mark between history and what is live; nil: it was sent

	line     line
	mayMove  bool      // the line is that of net/http, and has chunks on it alone: not HTTP/1.0, not HTTP/2
	deadline time.Time // of the line
	spoke    time.Time // when something was last sent
	buffer   bytes.Buffer
	last     string // the id of the last frame in the buffer or sent; empty: there was none
}

// Request is the request that a stream answers.
type Request struct {
	Context  context.Context // it ends when the client goes away
	ID       string          // in the log
	KeyID    string          // of the sender: its stream ends when the key does
	Chunked  bool            // an answer without a length comes in chunks: not HTTP/1.0, not HTTP/2
	HeadOnly bool            // the client wants no body
	// Detach is called when the stream goes on without the handler of the request. The function that it returns is called when the stream
	// ends, and must not keep the request.
	Detach func() (ended func(abandoned bool))
}

// Open takes one of the places that there are for streams. Without a place it is domain.CodeUnavailable, and follow is not called. Synced
// returns the data of the mark between history and live events, by the id of the last event before it; empty: there was none.
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
	return &Stream{hub: h, request: request, follower: follower, synced: synced, mayMove: request.Chunked}, nil
}

// line is the way to the client: through net/http at first, and the bare connection once it was taken over.
type line interface {
	SetWriteDeadline(deadline time.Time) error
	send(data []byte) error
}

// Ended tells whether there is nothing to stream: the execution has ended, and the client has everything of it. Such a stream is closed in
// place of being served.
func (t *Stream) Ended() bool { return t.follower.Ended() }

// Close gives the place of the stream back. Serve does it at its end.
func (t *Stream) Close() {
	t.follower.Close()
	t.hub.open.Add(-1)
}

func (t *Stream) run() error {
	alarm := time.NewTimer(t.patience())
	defer alarm.Stop()
	for {
		if reason := t.over(); reason != "" {
			return t.bye(reason)
		}
		frames, err := t.follower.Next(t.request.Context)
		if err != nil && domain.CodeOf(err) == domain.CodeNotFound {
			return t.bye("the execution was deleted")
		}
		if err != nil {
			return err
		}
		if err := t.put(frames); err != nil {
			return err
		}
		switch {
		case t.follower.Ended():
			return nil
		case len(frames) > 0:
			continue // there may be more, so no waiting
		}
		select {
		case <-t.follower.Notified():
		case <-alarm.C:
			next, err := t.quiet()
			if err != nil {
				return err
			}
			alarm.Reset(next)
		case <-t.hub.draining:
		case <-t.request.Context.Done():
			return context.Cause(t.request.Context)
		}
	}
}

// errQuiet ends the loop of a stream that can take its connection over.
var errQuiet = errors.New("quiet")

// patience is how long nothing more has to be sent until something is done about it.
func (t *Stream) patience() time.Duration {
	if t.mayMove {
		return time.Until(t.spoke.Add(QuietAfter))
	}
	return time.Until(t.spoke.Add(HeartbeatEvery))
}

// quiet is called when the alarm rings, and tells when it is to ring next. Where something was sent meanwhile, the alarm
// was early: to set it anew with each write would cost more.
func (t *Stream) quiet() (next time.Duration, err error) {
	if left := t.patience(); left > 0 {
		return left, nil
	}
	if t.mayMove {
		return 0, errQuiet
	}
	t.buffer = bytes.Buffer{} // what the last burst took
	t.buffer.WriteString(": heartbeat\n\n")
	return HeartbeatEvery, nil
}

// over tells why the stream must end although the execution goes on. It is asked before every write: a key that was
// revoked gets nothing more. While nobody can tell whether it still holds, nothing is written either, since that
// comes from the same database.
func (t *Stream) over() (reason string) {
	if t.hub.IsDraining() {
		return "the server is stopping, come back in a moment"
	}
	if domain.CodeOf(t.hub.keys.Holds(t.request.Context, t.request.KeyID)) == domain.CodeUnauthenticated {
		return "the key does not hold any more"
	}
	return ""
}

// put sends what is ready in as few writes as possible, and marks where history ends and live begins.
func (t *Stream) put(frames []events.Frame) error {
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

// bye ends a stream that is not at its end. A comment tells people why; the client comes back by itself.
func (t *Stream) bye(reason string) error {
	t.hint()
	t.buffer.WriteString(": " + reason + "\n\n")
	return t.flush()
}

// hint tells when to come back. It is jittered, or all clients of a restarted server would do so in one moment.
func (t *Stream) hint() { fmt.Fprintf(&t.buffer, "retry: %d\n\n", 2000+rand.IntN(1000)) }

// flush writes the buffer under a deadline of its own. The server's deadline for whole answers does not count here. A
// deadline that was set within the last second is left: a busy stream would do little else.
func (t *Stream) flush() error {
	if t.buffer.Len() == 0 {
		return nil
	}
	t.spoke = time.Now()
	if until := t.spoke.Add(FrameTimeout); until.Sub(t.deadline) > time.Second {
		if err := t.line.SetWriteDeadline(until); err != nil && !errors.Is(err, http.ErrNotSupported) {
			return gone{err}
		}
		t.deadline = until
	}
	if err := t.line.send(t.buffer.Bytes()); err != nil {
		return gone{err}
	}
	if t.buffer.Cap() > 4*MaxWrite {
		t.buffer = bytes.Buffer{} // one huge frame must not be paid for as long as the stream lives
	}
	t.buffer.Reset()
	return nil
}

// lost tells whether the client went away before the end.
func (t *Stream) lost(err error) bool {
	switch {
	case err == nil:
		return false
	case errors.Is(err, os.ErrDeadlineExceeded):
		t.hub.cut.Inc()
		return true
	case t.request.Context.Err() != nil || Lost(err):
		return true
	default:
		t.hub.log.Warn("stream broke off", "requestId", t.request.ID, "error", err)
		return false
	}
}
