package sandbox

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"signoff/internal/domain"
)

// outputGrace is the time of a blocked writer, when everything is dead.
const outputGrace = 500 * time.Millisecond

// pump carries the output from its stream to the writer.
type pump struct {
	from *stream
	out  io.Writer
	done chan struct{}

	mu      sync.Mutex
	stopped bool // no Write begins any more
	err     error
}

func newPump(from *stream, out io.Writer) *pump {
	p := &pump{from: from, out: out, done: make(chan struct{})}
	go p.carry()
	return p
}

func (p *pump) carry() {
	defer close(p.done)
	defer p.from.Close()
	buffer := make([]byte, 32<<10)
	for {
		n, err := p.from.Read(buffer)
		p.write(buffer[:n])
		if err != nil {
			return
		}
	}
}

// write forwards the output. After the writer has failed, it drops the rest, and the command does not notice.
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
	p.from.finish()
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
