package http

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"time"

	"signoff/internal/domain"
	"signoff/internal/events"
)

const (
	// frameTimeout cuts a client that does not read. It resumes by id when it comes back, so nothing is lost, and
	// nothing is buffered for it meanwhile.
	frameTimeout = 10 * time.Second
	// heartbeatEvery keeps proxies from closing a quiet stream, and finds clients that went away unseen.
	heartbeatEvery = 15 * time.Second
	// maxWrite bounds what must pass within frameTimeout, so that a slow line is not taken for a dead one.
	maxWrite = 64 << 10
)

// eventStream opens a stream. Whoever has everything of an execution that has ended gets 204, the one status that
// makes an EventSource stop.
func (s *Server) eventStream(ctx context.Context, after int64, follow func() (*events.Follower, error),
) (responder, error) {
	stream, err := s.openStream(ctx, func() (follower, error) { return follow() },
		func(last string) string {
			return fmt.Sprintf(`{"type":"stream.synced","lastSeq":%s}`, cmp.Or(last, strconv.FormatInt(after, 10)))
		})
	if err != nil {
		return nil, err
	}
	if stream.follower.Ended() {
		stream.close()
		return noContent{}, nil
	}
	return stream, nil
}

// follower is what a stream reads: the log of one execution, or of all.
type follower interface {
	// Next returns what is new; nothing where there is nothing. Then Notified tells when to ask again.
	Next(ctx context.Context) ([]events.Frame, error)
	Notified() <-chan struct{}
	Live() bool  // history is over
	Ended() bool // nothing will be new any more
	Close()
}

// openStream takes one of the places that there are for streams.
func (s *Server) openStream(ctx context.Context, follow func() (follower, error), synced func(last string) string) (*stream, error) {
	if s.streams.Add(1) > s.maxStreams {
		s.streams.Add(-1)
		return nil, domain.Errorf(domain.CodeUnavailable, "There are too many open streams.")
	}
	follower, err := follow()
	if err != nil {
		s.streams.Add(-1)
		return nil, err
	}
	s.metrics.streams.Inc()
	return &stream{
		server: s, ctx: ctx, keyID: who(ctx).Actor.KeyID, follower: follower, synced: synced, mayMove: infoOf(ctx).chunked,
	}, nil
}

// stream writes what a follower reads to one client.
type stream struct {
	server   *Server
	ctx      context.Context // it ends when the client goes away
	keyID    string
	follower follower
	synced   func(last string) string // the data of the mark between history and what is live; nil: it was sent

	line     line
	mayMove  bool      // the line is that of net/http, and has chunks on it alone: not HTTP/1.0, not HTTP/2
	deadline time.Time // of the line
	spoke    time.Time // when something was last sent
	buffer   bytes.Buffer
	last     string // the id of the last frame in the buffer or sent; empty: there was none
}

// line is the way to the client: through net/http at first, and the bare connection once it was taken over.
type line interface {
	SetWriteDeadline(deadline time.Time) error
	send(data []byte) error
}

// respond runs until the terminal event, until the client goes away or stops reading, or until the server drains. Only the
// first has anything to do with the execution; after the others it goes on, and the client may resume. A stream that has
// become quiet goes on after respond has returned, see [stream.takeOver].
func (t *stream) respond(w http.ResponseWriter) error {
	w.Header().Set("Content-Type", typeStream)
	w.Header().Set("X-Accel-Buffering", "no") // nginx would hold frames back
	if t.mayMove {
		w.Header().Set("Connection", "close") // or the client sends its next request into the end of a connection that was taken over
	}
	w.WriteHeader(http.StatusOK)
	if infoOf(t.ctx).headOnly {
		t.close()
		return nil
	}
	t.line = reply{http.NewResponseController(w), w}
	t.hint()
	t.spoke = time.Now()
	err := t.run()
	if errors.Is(err, errQuiet) {
		if t.takeOver(w) {
			return nil
		}
		err = t.run()
	}
	t.close()
	infoOf(t.ctx).abandoned = t.lost(infoOf(t.ctx).requestID, err)
	return nil // the response has begun; there is nothing more to answer
}

func (t *stream) close() {
	t.follower.Close()
	t.server.metrics.streams.Dec()
	t.server.streams.Add(-1)
}

func (t *stream) run() error {
	alarm := time.NewTimer(t.patience())
	defer alarm.Stop()
	for {
		if reason := t.over(); reason != "" {
			return t.bye(reason)
		}
		frames, err := t.follower.Next(t.ctx)
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
		case <-t.server.draining:
		case <-t.ctx.Done():
			return context.Cause(t.ctx)
		}
	}
}

// over tells why the stream must end although the execution goes on. It is asked before every write: a key that was
// revoked gets nothing more. While nobody can tell whether it still holds, nothing is written either, since that
// comes from the same database.
func (t *stream) over() (reason string) {
	if t.server.isDraining() {
		return "the server is stopping, come back in a moment"
	}
	if domain.CodeOf(t.server.keys.Holds(t.ctx, t.keyID)) == domain.CodeUnauthenticated {
		return "the key does not hold any more"
	}
	return ""
}

// put sends what is ready in as few writes as possible, and marks where history ends and live begins.
func (t *stream) put(frames []events.Frame) error {
	for _, frame := range frames {
		t.buffer.Write(frame.SSE)
		t.last = frame.ID
		if t.buffer.Len() >= maxWrite {
			if err := t.flush(); err != nil {
				return err
			}
		}
	}
	t.server.metrics.sent.Add(float64(len(frames)))
	if t.synced != nil && t.follower.Live() && !t.follower.Ended() {
		fmt.Fprintf(&t.buffer, "event: stream.synced\ndata: %s\n\n", t.synced(t.last))
		t.synced = nil
	}
	return t.flush()
}

// bye ends a stream that is not at its end. A comment tells people why; the client comes back by itself.
func (t *stream) bye(reason string) error {
	t.hint()
	t.buffer.WriteString(": " + reason + "\n\n")
	return t.flush()
}

// hint tells when to come back. It is jittered, or all clients of a restarted server would do so in one moment.
func (t *stream) hint() { fmt.Fprintf(&t.buffer, "retry: %d\n\n", 2000+rand.IntN(1000)) }

// flush writes the buffer under a deadline of its own. The server's deadline for whole answers does not count here. A
// deadline that was set within the last second is left: a busy stream would do little else.
func (t *stream) flush() error {
	if t.buffer.Len() == 0 {
		return nil
	}
	t.spoke = time.Now()
	if until := t.spoke.Add(frameTimeout); until.Sub(t.deadline) > time.Second {
		if err := t.line.SetWriteDeadline(until); err != nil && !errors.Is(err, http.ErrNotSupported) {
			return gone{err}
		}
		t.deadline = until
	}
	if err := t.line.send(t.buffer.Bytes()); err != nil {
		return gone{err}
	}
	if t.buffer.Cap() > 4*maxWrite {
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

// gone is an error of the connection.
type gone struct{ error }

func (g gone) Unwrap() error { return g.error }

// lost tells whether the client went away before the end.
func (t *stream) lost(requestID string, err error) bool {
	var lost gone
	switch {
	case err == nil:
		return false
	case errors.Is(err, os.ErrDeadlineExceeded):
		t.server.metrics.cut.Inc()
		return true
	case t.ctx.Err() != nil || errors.As(err, &lost):
		return true
	default:
		t.server.log.Warn("stream broke off", "requestId", requestID, "error", err)
		return false
	}
}
