package sandbox

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"signoff/internal/domain"
)

// pump carries the output from the pipe to the writer.
type pump struct {
	pipe *os.File
	out  io.Writer
	done chan struct{}

	mu      sync.Mutex
	stopped bool // no Write begins any more
	err     error
}

func newPump(pipe *os.File, out io.Writer) *pump {
	p := &pump{pipe: pipe, out: out, done: make(chan struct{})}
	go p.carry()
	return p
}

func (p *pump) carry() {
	defer close(p.done)
	defer p.pipe.Close()
	buffer := make([]byte, 32<<10)
	for {
		n, err := p.pipe.Read(buffer)
		p.write(buffer[:n])
		if errors.Is(err, os.ErrDeadlineExceeded) {
			p.carryRest(buffer)
		}
		if err != nil {
			return
		}
	}
}

// carryRest takes what is in the pipe and waits for nothing more: everything that ran below the supervisor is dead, so
// if the pipe is still open, some process outside was handed it.
func (p *pump) carryRest(buffer []byte) {
	for range maxPipeSize / len(buffer) {
		n := p.readNow(buffer)
		if n <= 0 {
			return
		}
		p.write(buffer[:n])
	}
}

const maxPipeSize = 1 << 20 // what an ordinary user can blow a pipe up to

func (p *pump) readNow(buffer []byte) (n int) {
	_ = p.pipe.SetReadDeadline(time.Time{})
	raw, err := p.pipe.SyscallConn()
	if err != nil {
		return 0
	}
	_ = raw.Read(func(fd uintptr) bool {
		n, _ = unix.Read(int(fd), buffer)
		return true
	})
	return n
}

// write hands on what was read. After the writer has failed, the rest is dropped, and the command does not notice.
func (p *pump) write(chunk []byte) {
	if len(chunk) == 0 || !p.open() {
		return
	}
	if _, err := p.out.Write(chunk); err != nil {
		p.mu.Lock()
		p.err, p.stopped = err, true
		p.mu.Unlock()
	}
}

func (p *pump) open() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.stopped
}

// drain is called when everything is dead. A writer that is merely slow gets its time until ctx ends.
func (p *pump) drain(ctx context.Context) {
	_ = p.pipe.SetReadDeadline(time.Now())
	select {
	case <-p.done:
		return
	case <-ctx.Done():
	}
	select {
	case <-p.done:
	case <-time.After(outputGrace):
		p.abandon()
	}
}

// abandon leaves a Write that does not return to itself.
func (p *pump) abandon() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopped = true
	p.err = errors.New("sandbox: the writer of the output is blocked")
}

func (p *pump) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopped = true
}

// failure tells that the output is not complete.
func (p *pump) failure() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err == nil {
		return nil
	}
	return domain.Errorf(domain.CodeToolFailed, "The command has run, but its output could not be kept.").With(p.err)
}
