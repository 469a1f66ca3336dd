package stdio

import (
	"bytes"
	"io"
	"sync"
)

// stderrKept is how many bytes of the end of a standard error are kept, and how many of its beginning are reported for
// debugging.
const (
	stderrKept  = 64 << 10
	stderrPiece = 8 << 10
)

// stderr keeps the end of what a program writes there. It is read all the time: a program that writes into a full pipe
// stands still, and nobody can see why.
type stderr struct {
	drained chan struct{} // everything was read
	tell    func(text []byte)
	waiting []byte // a line that has begun, and is to be told
	told    int

	mu   sync.Mutex
	tail []byte
}

// newStderr begins to read; see [Attend] for tell.
func newStderr(from io.ReadCloser, tell func(text []byte)) *stderr {
	s := &stderr{drained: make(chan struct{}), tell: tell}
	go s.drain(from)
	return s
}

func (s *stderr) drain(from io.ReadCloser) {
	defer close(s.drained)
	defer from.Close()
	piece := make([]byte, stderrPiece)
	for {
		n, err := from.Read(piece)
		s.keep(piece[:n])
		s.show(piece[:n], err != nil)
		if err != nil {
			return
		}
	}
}

func (s *stderr) keep(piece []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tail = append(s.tail, piece...)
	if over := len(s.tail) - stderrKept; over > stderrKept/4 { // not for every line
		s.tail = append([]byte(nil), s.tail[over:]...)
	}
}

// show tells what was read up to the end of a line.
func (s *stderr) show(piece []byte, last bool) {
	if s.tell == nil || s.told >= stderrKept {
		return
	}
	s.waiting = append(s.waiting, piece...)
	end := bytes.LastIndexByte(s.waiting, '\n') + 1
	if last || len(s.waiting)-end > stderrPiece {
		end = len(s.waiting)
	}
	end = min(end, stderrKept-s.told)
	if end == 0 {
		return
	}
	s.told += end
	s.tell(s.waiting[:end])
	s.waiting = append([]byte(nil), s.waiting[end:]...)
}

// text is what is kept.
func (s *stderr) text() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]byte(nil), s.tail...)
}
