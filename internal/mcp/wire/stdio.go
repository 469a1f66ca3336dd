package wire

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxGarbageBytes is how much a program may print on its standard output that is no message: a greeting, a warning of its runtime. The protocol
// forbids it, and many do it. https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#stdio
const maxGarbageBytes = 1 << 20

// Stdio speaks to a program over its standard streams. It is a [sdk.Transport], and its one connection.
type Stdio struct {
	program io.ReadWriteCloser
	lines   *bufio.Reader
	garbage int
	queue   []jsonrpc.Message // the rest of a batch; only Read touches it

	writing chan struct{} // held by whoever writes; a channel, so that waiting for it can end
	closing sync.Once
	watched watched
}

// NewStdio returns the transport to a program: its reads are of the standard output, its writes of the standard input.
func NewStdio(program io.ReadWriteCloser) *Stdio {
	return &Stdio{program: program, lines: bufio.NewReaderSize(program, 64<<10), writing: make(chan struct{}, 1)}
}

// Connect implements [sdk.Transport].
func (s *Stdio) Connect(context.Context) (sdk.Connection, error) { return s, nil }

// SessionID implements [sdk.Connection].
func (s *Stdio) SessionID() string { return "" }

// Close implements [sdk.Connection]. It may be called several times, and then waits for the first.
func (s *Stdio) Close() error {
	var err error
	s.closing.Do(func() { err = s.program.Close() })
	return err
}

// Read implements [sdk.Connection]. The end of the program unblocks it.
func (s *Stdio) Read(context.Context) (jsonrpc.Message, error) {
	for len(s.queue) == 0 {
		line, err := s.line()
		if err != nil {
			return nil, err
		}
		batch, err := messages(line)
		if err != nil {
			if s.garbage += len(line) + 1; s.garbage > maxGarbageBytes {
				return nil, errGarbage
			}
		}
		s.queue = slices.DeleteFunc(batch, isUnwanted)
	}
	message := s.queue[0]
	s.queue = s.queue[1:]
	s.watched.arrived(message)
	return message, nil
}

// line reads one line, at most [MaxAnswerBytes] of it.
func (s *Stdio) line() ([]byte, error) {
	var line []byte
	for {
		piece, err := s.lines.ReadSlice('\n')
		if len(line)+len(piece) > MaxAnswerBytes {
			s.watched.tooLarge()
			return nil, ErrTooLarge
		}
		line = append(line, piece...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case err != nil: // a line without an end was cut off
			return nil, err
		default:
			return bytes.TrimSpace(line), nil
		}
	}
}

var errGarbage = errors.New("mcp: the program prints too much on its standard output that is no message")

// messages returns the messages of a line: one, or those of a batch, which the revision 2025-03-26 knows.
func messages(line []byte) ([]jsonrpc.Message, error) {
	parts := []json.RawMessage{line}
	if bytes.HasPrefix(line, []byte("[")) {
		if err := json.Unmarshal(line, &parts); err != nil {
			return nil, err
		}
	}
	var all []jsonrpc.Message
	for _, part := range parts {
		message, err := jsonrpc.DecodeMessage(part)
		if err != nil {
			return nil, err
		}
		all = append(all, message)
	}
	return all, nil
}

// isUnwanted reports whether a message is a notification that nobody here acts on. The SDK keeps notifications until it has handled them: a flood of
// log lines would fill the memory.
func isUnwanted(message jsonrpc.Message) bool {
	request, is := message.(*jsonrpc.Request)
	return is && !request.IsCall() && !slices.Contains(wanted, request.Method)
}

var wanted = []string{"notifications/cancelled", "notifications/progress", "notifications/tools/list_changed", "notifications/subscriptions/acknowledged"}

// Write implements [sdk.Connection]. A program that does not read blocks it until ctx ends; the line is finished even then, because half of one would
// spoil the next.
func (s *Stdio) Write(ctx context.Context, message jsonrpc.Message) error {
	line, err := jsonrpc.EncodeMessage(message)
	if err != nil {
		return fmt.Errorf("mcp: %w", err)
	}
	select {
	case s.writing <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	if ctx.Err() != nil {
		<-s.writing
		return ctx.Err()
	}
	x := s.watched.departs(ctx, message)
	if x != nil {
		x.mark(true)
	}
	written := make(chan error, 1)
	go func() {
		defer func() { <-s.writing }()
		n, err := s.program.Write(append(line, '\n'))
		if x != nil && err != nil && n == 0 {
			x.mark(false)
		}
		written <- err
	}()
	select {
	case err := <-written:
		if err != nil {
			return errors.Join(io.ErrClosedPipe, err)
		}
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
