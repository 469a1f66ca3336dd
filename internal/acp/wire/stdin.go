package wire

import (
	"errors"
	"io"
	"os"
	"sync"
	"time"
)

// DeadlineWriter is the agent's stdin: a pipe.
type DeadlineWriter interface {
	io.Writer
	SetWriteDeadline(until time.Time) error
}

// ErrNotReading gives up an agent that does not read.
var ErrNotReading = errors.New("the agent does not read its input")

// agentStdin writes whole messages, each within a time.
type agentStdin struct {
	to      DeadlineWriter
	timeout time.Duration
	held    func() bool // whether we held the agent up in its own writing, since this was asked before
	tap     func(message []byte)

	turn sync.Mutex // one message after the other

	mu     sync.Mutex // of the deadline and what forbids to set one
	failed error
}

// write writes one message. After a failure there is no other one: half a line may stand in the pipe.
func (s *agentStdin) write(message []byte) error {
	s.turn.Lock()
	defer s.turn.Unlock()
	s.tap(message)
	for len(message) > 0 {
		// In pieces, each with the whole time. A pipe takes a piece of this size whole or not at all, so the time runs
		// from when the agent read last; of a larger piece a part goes in, and nobody knows when.
		n, err := s.writePiece(message[:min(len(message), 4096)])
		if err != nil {
			return s.fail(err)
		}
		message = message[n:]
	}
	return nil
}

func (s *agentStdin) writePiece(piece []byte) (int, error) {
	s.held() // what was before does not count
	for {
		if err := s.extend(); err != nil {
			return 0, err
		}
		n, err := s.to.Write(piece)
		switch {
		case !errors.Is(err, os.ErrDeadlineExceeded):
			return n, err
		case n > 0:
			return n, nil
		case !s.held():
			return 0, ErrNotReading
		}
		// The agent writes while nobody reads, because the handler is slow. It may well read as soon as it can go on.
	}
}

func (s *agentStdin) extend() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed != nil {
		return s.failed
	}
	return s.to.SetWriteDeadline(time.Now().Add(s.timeout))
}

// fail ends all writing, also what is being written; the first reason stays, and is returned.
func (s *agentStdin) fail(reason error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed == nil {
		s.failed = reason
		_ = s.to.SetWriteDeadline(time.Unix(1, 0)) // a pipe that is closed already writes nothing either
	}
	return s.failed
}

func (s *agentStdin) failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed
}
