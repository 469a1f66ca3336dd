package stream

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"
)

// This file is how a stream that has become quiet takes its connection over from net/http. Most streams wait, for a
// person or for nothing at all, and what net/http keeps of a request for as long as its handler runs (two buffers, the
// request, the context, a stack as deep as all layers) is several times what waiting needs: without the takeover an idle
// follower costs 47 KB in place of 25 (docs/performance.md). A busy stream stays: when it ends soon, its connection serves
// the next request.

// takeOver makes the stream go on with the bare connection, in a goroutine of its own, where the connection is to be had.
func (t *Stream) takeOver(w http.ResponseWriter) bool {
	connection, _, err := http.NewResponseController(w).Hijack()
	t.mayMove = false
	if err != nil {
		return false
	}
	ended := t.request.Detach()
	// The request's context ends with its handler, and would keep the request. So would the function that detached from it.
	ctx, leave := context.WithCancel(context.Background())
	t.request.Context, t.request.Detach = ctx, nil //nolint:fatcontext // set once: the stream leaves its handler
	t.line, t.deadline, t.buffer = chunks{connection}, time.Time{}, bytes.Buffer{}
	t.hub.taken.add(connection, leave)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		watch(connection, leave)
	}()
	go func() {
		defer t.hub.taken.remove(connection)
		defer func() { <-watched }()
		defer leave()
		t.goOn(ended, connection)
	}()
	return true
}

// maxAhead is how much a client may send while it is served a stream. What it sends is its next requests, and is not answered: the connection ends
// with the stream, and it sends them again on another one.
const maxAhead = 64 << 10

// watch waits for the client to go away. What it sends meanwhile is read, or the system would answer the end of the stream, the unread
// input in its hands, by cutting off what the client has not taken yet.
func watch(connection net.Conn, leave func()) {
	if _, err := io.CopyN(io.Discard, connection, maxAhead); err != nil {
		leave()
	}
}

// goOn is the rest of what Serve, and the layers before it, would have done.
func (t *Stream) goOn(ended func(abandoned bool), connection net.Conn) {
	abandoned := false
	defer func() {
		if reason := recover(); reason != nil {
			t.hub.panicked(t.request.ID, reason)
		}
		_ = connection.Close()
		t.Close()
		ended(abandoned)
	}()
	err := t.run()
	if err == nil {
		err = conclude(connection)
	}
	abandoned = t.lost(err)
}

// conclude tells the client that the answer is whole. It may be gone by then, since the terminal event had told it so before.
func conclude(connection net.Conn) error {
	if _, err := io.WriteString(connection, "0\r\n\r\n"); err != nil {
		return gone{err}
	}
	return nil
}

// chunks is the line of a connection that was taken over.
type chunks struct{ net.Conn }

// send writes one chunk, in one call of the system where the connection is TCP.
func (c chunks) send(data []byte) error {
	size := append(strconv.AppendInt(nil, int64(len(data)), 16), "\r\n"...)
	chunk := net.Buffers{size, data, []byte("\r\n")}
	_, err := chunk.WriteTo(c.Conn)
	return err
}
