package sandbox

import (
	"errors"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// stream is the reading end of a pipe that comes out of a tree of processes. It has one reader, and closes by itself at
// its end.
type stream struct {
	pipe  *os.File
	over  bool // the tree is dead: nothing more is written, so nothing is waited for
	taken int  // read since then
	ended bool
}

const maxPipeSize = 1 << 20 // the largest pipe of an ordinary user

// finish is called when everything is dead. What is in the pipe can still be read, and then comes the end, also where
// some process outside was handed the pipe and keeps it open.
func (s *stream) finish() { _ = s.pipe.SetReadDeadline(time.Now()) }

// Read implements [io.Reader].
func (s *stream) Read(buffer []byte) (n int, err error) {
	if s.ended {
		return 0, io.EOF
	}
	if !s.over {
		n, err = s.pipe.Read(buffer)
		s.over = errors.Is(err, os.ErrDeadlineExceeded)
	}
	if s.over {
		n, err = s.readNow(buffer)
	}
	if errors.Is(err, io.EOF) {
		s.ended = true
		s.pipe.Close()
	}
	return n, err
}

// Close implements [io.Closer].
func (s *stream) Close() error { return s.pipe.Close() }

// readNow reads the content of the pipe, at most as much as was there when the tree died: a process outside may still write.
func (s *stream) readNow(buffer []byte) (n int, err error) {
	_ = s.pipe.SetReadDeadline(time.Time{})
	raw, err := s.pipe.SyscallConn()
	if err != nil {
		return 0, err
	}
	buffer = buffer[:min(len(buffer), maxPipeSize-s.taken)]
	err = raw.Read(func(fd uintptr) bool {
		n, _ = unix.Read(int(fd), buffer)
		return true
	})
	if err == nil && n <= 0 {
		return 0, io.EOF
	}
	s.taken += n
	return n, err
}
