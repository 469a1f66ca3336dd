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

// A stream that has become quiet hijacks its connection from net/http. Most streams wait for a person, and net/http keeps several times the
// memory that waiting needs for as long as the handler runs: two buffers, the request, the context, and a stack through all layers. Without
// the hijack an idle follower costs 47 KB instead of 25 (docs/performance.md). A busy stream stays with net/http: it may end soon, and then
// its connection serves the next request.

// hijack continues the stream on the bare connection, in its own goroutine. It returns false if the connection cannot be hijacked.
func (t *Stream) hijack(w http.ResponseWriter) bool {
	connection, _, err := http.NewResponseController(w).Hijack()
	t.canHijack = false
	if err != nil {
		return false
	}
	ended := t.request.Detach()
	// The request's context ends with its handler and would keep the request in memory; so would Detach.
	ctx, cancel := context.WithCancel(context.Background())
	t.request.Context, t.request.Detach = ctx, nil //nolint:fatcontext // set once: the stream leaves its handler
	t.out, t.deadline, t.buffer = chunkWriter{connection}, time.Time{}, bytes.Buffer{}
	t.hub.hijacked.add(connection, cancel)
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		// A read ends when the client disconnects. Input must be read, because otherwise the system would reset the connection at the
		// end of the stream and drop unsent data.
		if _, err := io.CopyN(io.Discard, connection, maxInput); err != nil {
			cancel()
		}
	}()
	go func() {
		defer t.hub.hijacked.remove(connection)
		defer func() { <-drained }()
		defer cancel()
		t.runHijacked(ended, connection)
	}()
	return true
}

// maxInput bounds the input of a client during a stream. Such input is the client's next requests, which get no response: the connection ends
// with the stream, and the client sends them again on another one.
const maxInput = 64 << 10

// runHijacked does the rest of Serve and of the layers around it.
func (t *Stream) runHijacked(ended func(abandoned bool), connection net.Conn) {
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
		err = writeLastChunk(connection)
	}
	abandoned = t.isAbandoned(err)
}

// writeLastChunk marks the response as complete. The client may have disconnected after the terminal event, which is no error.
func writeLastChunk(connection net.Conn) error {
	if _, err := io.WriteString(connection, "0\r\n\r\n"); err != nil {
		return connError{err}
	}
	return nil
}

// chunkWriter writes to a hijacked connection.
type chunkWriter struct{ net.Conn }

// send writes one chunk, in one system call if the connection is TCP.
func (c chunkWriter) send(data []byte) error {
	size := append(strconv.AppendInt(nil, int64(len(data)), 16), "\r\n"...)
	chunk := net.Buffers{size, data, []byte("\r\n")}
	_, err := chunk.WriteTo(c.Conn)
	return err
}
