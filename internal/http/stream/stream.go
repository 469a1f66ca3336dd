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

const (
	// FrameTimeout cuts a client that does not read. It resumes by id when it comes back, so nothing is lost, and
	// nothing is buffered for it meanwhile.
	FrameTimeout = 10 * time.Second
	// HeartbeatEvery keeps proxies from closing a quiet stream, and finds clients that went away unseen.
	HeartbeatEvery = 15 * time.Second
	// MaxWrite bounds what must pass within FrameTimeout, so that a slow line is not taken for a dead one.
	MaxWrite = 64 << 10
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

// line is the way to the client: through net/http at first, and the bare connection once it was taken over.
type line interface {
	SetWriteDeadline(deadline time.Time) error
	send(data []byte) error
}

// Ended tells whether there is nothing to stream: the execution has ended, and the client has everything of it. Such a stream is closed in
// place of being served.
func (t *Stream) Ended() bool { return t.follower.Ended() }

// Serve runs until the terminal event, until the client goes away or stops reading, or until the server drains. Only the
// first has anything to do with the execution; after the others it goes on, and the client may resume. It tells whether the client went away
// before the end. A stream that has become quiet goes on after Serve has returned, see takeover.go.
func (t *Stream) Serve(w http.ResponseWriter) (abandoned bool) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // nginx would hold frames back
	if t.mayMove {
		w.Header().Set("Connection", "close") // or the client sends its next request into the end of a connection that was taken over
	}
	w.WriteHeader(http.StatusOK)
	if t.request.HeadOnly {
		t.Close()
		return false
	}
	t.line = reply{http.NewResponseController(w), w}
	t.hint()
	t.spoke = time.Now()
	err := t.run()
	if errors.Is(err, errQuiet) {
		if t.takeOver(w) {
			return false
		}
		err = t.run()
	}
	t.Close()
	return t.lost(err)
}

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

// reply is the line through net/http.
type reply struct {
	*http.ResponseController
	w http.ResponseWriter
}

func (r reply) send(data []byte) error {
	if _, err := r.w.Write(data); err != nil {
		return err
	}
	return r.Flush()
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
