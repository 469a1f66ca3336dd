package registry

import (
	"os"
	"sync"
	"time"
)

// probe remembers what was found out about a program. Whoever comes while that is being found out waits for the same answer.
type probe[T any] struct {
	mu     sync.Mutex
	found  T
	of     identity
	until  time.Time
	asking chan struct{} // closed when the answer is there; nil where nobody asks
}

// last is what was found out last about the program, and whether it still holds.
func (p *probe[T]) last(of identity) (found T, holds bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.of != of {
		return found, false
	}
	return p.found, time.Now().Before(p.until)
}

// underWay tells whether it is being found out.
func (p *probe[T]) underWay() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asking != nil
}

// ask has begin run find, unless that is under way; the channel closes when its answer is there.
func (p *probe[T]) ask(begin func(func()), of identity, find func() (found T, holds time.Duration)) <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.asking == nil {
		asking := make(chan struct{})
		p.asking = asking
		begin(func() {
			found, holds := find()
			p.learn(of, found, holds)
			p.mu.Lock()
			defer p.mu.Unlock()
			p.asking = nil
			close(asking)
		})
	}
	return p.asking
}

// learn takes what was found out, and for how long it holds.
func (p *probe[T]) learn(of identity, found T, holds time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.found, p.of, p.until = found, of, time.Now().Add(holds)
}

// identity changes when a program is updated.
type identity struct {
	path    string
	changed time.Time
	size    int64
}

func identify(program string) identity {
	info, err := os.Stat(program)
	if err != nil {
		return identity{path: program}
	}
	return identity{program, info.ModTime(), info.Size()}
}
