package acp

import (
	"bufio"
	"encoding/json"
	"io"
	"net"
	"testing"

	"signoff/internal/acp/wire"
)

// bubble is the other end of an agent's connection, for a synctest bubble: its pipes have no buffer.
type bubble struct {
	t   testing.TB
	out io.WriteCloser // the agent's stdout
	in  *bufio.Reader  // the agent's stdin
}

// newBubble connects a to the test. The end of the test ends the connection.
func newBubble(t testing.TB, a *agent) *bubble {
	t.Helper()
	stdin, stdinEnd := net.Pipe()
	stdout, out := io.Pipe()
	a.peer = wire.New(stdin, stdout, a, wire.Options{})
	t.Cleanup(func() {
		_ = out.Close()
		<-a.peer.Done()
		for _, pipe := range []io.Closer{stdinEnd, stdin, stdout} {
			_ = pipe.Close()
		}
	})
	return &bubble{t: t, out: out, in: bufio.NewReader(stdinEnd)}
}

// sends writes lines as the agent.
func (b *bubble) sends(lines ...string) {
	b.t.Helper()
	for _, line := range lines {
		if _, err := io.WriteString(b.out, line+"\n"); err != nil {
			b.t.Error(err)
		}
	}
}

// answers answers a request with this result.
func (b *bubble) answers(id, result string) {
	b.t.Helper()
	b.sends(`{"jsonrpc":"2.0","id":` + id + `,"result":` + result + `}`)
}

// gets reads one message as the agent, and gives its id.
func (b *bubble) gets() (id string) {
	b.t.Helper()
	var message struct{ ID json.RawMessage }
	line, err := b.in.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &message)
	}
	if err != nil || message.ID == nil {
		b.t.Errorf("the agent reads %q: %v", line, err)
	}
	return string(message.ID)
}
