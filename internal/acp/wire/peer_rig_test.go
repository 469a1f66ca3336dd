package wire

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"go.uber.org/goleak"
)

// peerRig is a peer with the test at the other end of its pipes.
type peerRig struct {
	*Peer
	t     testing.TB
	out   io.WriteCloser // the agent's stdout
	in    *bufio.Reader  // the agent's stdin
	inEnd io.Closer
	pipes []io.Closer // our ends
}

// newPipeRig has the pipes of real agents. At the end of the test nothing may be left of the peer.
func newPipeRig(t testing.TB, h Handler, options Options) *peerRig {
	t.Helper()
	t.Cleanup(func() { goleak.VerifyNone(t) })
	stdinEnd, stdin, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	return newPeerRig(t, New(stdin, stdout, h, options), out, stdinEnd, stdin, stdout)
}

// newBubbleRig has pipes without a buffer, for a synctest bubble. That fails by itself if a goroutine is left.
func newBubbleRig(t testing.TB, h Handler, options Options) *peerRig {
	t.Helper()
	stdin, stdinEnd := net.Pipe()
	stdout, out := io.Pipe()
	return newPeerRig(t, New(stdin, stdout, h, options), out, stdinEnd, stdin, stdout)
}

func newPeerRig(t testing.TB, p *Peer, out io.WriteCloser, in io.ReadCloser, pipes ...io.Closer) *peerRig {
	r := &peerRig{p, t, out, bufio.NewReader(in), in, pipes}
	t.Cleanup(r.ends)
	return r
}

// ends is the end of the agent, and of the peer after it.
func (r *peerRig) ends() {
	_ = r.out.Close()
	<-r.Done()
	_ = r.inEnd.Close()
	for _, pipe := range r.pipes {
		_ = pipe.Close()
	}
}

// sends writes lines as the agent.
func (r *peerRig) sends(lines ...string) {
	r.t.Helper()
	for _, line := range lines {
		if _, err := io.WriteString(r.out, line+"\n"); err != nil {
			r.t.Error(err)
		}
	}
}

// exits ends the agent's output.
func (r *peerRig) exits() { _ = r.out.Close() }

// gets reads one message as the agent.
func (r *peerRig) gets() sdkMessage {
	r.t.Helper()
	var message sdkMessage
	line, err := r.in.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &message)
	}
	if err != nil {
		r.t.Errorf("the agent reads %q: %v", line, err)
	}
	return message
}

// getsID reads one message as the agent, and gives its id.
func (r *peerRig) getsID() string {
	r.t.Helper()
	message := r.gets()
	if message.ID == nil {
		r.t.Errorf("no id in %+v", message)
		return ""
	}
	return string(*message.ID)
}

// calling makes a call in the background.
func (r *peerRig) calling(ctx context.Context, method string) <-chan Answer {
	outcome := make(chan Answer, 1)
	go func() {
		result, err := r.Call(ctx, method, nil)
		outcome <- Answer{result, err}
	}()
	return outcome
}

func wireUpdate(n int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"session/update","params":{"n":%d}}`, n)
}

func wireRequest(id, method string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":{}}`, id, method)
}

func wireResult(id, value string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, id, value)
}

// scriptedHandler is a handler made of functions; what is not set does nothing.
type scriptedHandler struct {
	onNotified  func(n int) // the n of an update
	onSaid      func(text string)
	onAsked     func(ctx context.Context, method string) (any, error)
	onDisturbed func(d ProtocolError)
}

func (s scriptedHandler) Notification(_ string, params json.RawMessage) {
	var p struct{ N int }
	if err := json.Unmarshal(params, &p); err != nil || !utf8.Valid(params) {
		panic(fmt.Sprintf("%q is handed on: %v", params, err))
	}
	if s.onNotified != nil {
		s.onNotified(p.N)
	}
}

func (s scriptedHandler) TextChunk(chunk TextChunk) {
	if s.onSaid != nil {
		s.onSaid(chunk.Text)
	}
}

func (s scriptedHandler) Request(ctx context.Context, method string, _ json.RawMessage) (any, error) {
	if s.onAsked == nil {
		return nil, errors.New("a secret of the server")
	}
	return s.onAsked(ctx, method)
}

func (s scriptedHandler) ProtocolError(d ProtocolError) {
	if s.onDisturbed != nil {
		s.onDisturbed(d)
	}
}

type silentHandler struct{ scriptedHandler }

// nowhereWriter is a stdin that takes everything.
type nowhereWriter struct{}

func (nowhereWriter) Write(p []byte) (int, error)      { return len(p), nil }
func (nowhereWriter) SetWriteDeadline(time.Time) error { return nil }

// peerDiary is what happened, in order.
type peerDiary struct {
	mu      sync.Mutex
	entries []string
}

func (d *peerDiary) add(entry string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.entries = append(d.entries, entry)
}

func (d *peerDiary) take() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	entries := d.entries
	d.entries = nil
	return entries
}

// expectNoLog fails a test in which the SDK logs something, from here until nothing of the peer is left.
func expectNoLog(t *testing.T) {
	t.Helper()
	var written bytes.Buffer
	before := slog.Default()
	t.Cleanup(func() {
		slog.SetDefault(before)
		if written.Len() > 0 {
			t.Errorf("logged: %.500s", written.String())
		}
	})
	slog.SetDefault(slog.New(slog.NewTextHandler(&written, &slog.HandlerOptions{Level: slog.LevelDebug})))
}
