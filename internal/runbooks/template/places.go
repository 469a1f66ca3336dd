package template

import (
	"context"
	"slices"
	"sync"
	"time"

	"signoff/internal/domain"
)

// maxWaiting bounds the calls of one tenant that wait: each holds its variables meanwhile, which can be 8 MiB.
const maxWaiting = 32

// places are where children run. A tenant has one of them at a time, and the tenants get them in turn. When all stood in
// one line, sixty slow templates of one tenant held up the `{{ x }}` of another for a minute.
type places struct {
	patience time.Duration // how long a call waits

	mu    sync.Mutex
	free  int
	lines map[domain.TenantID]*line // of the tenants that have a place or wait for one, and of no others
	next  []*line                   // of the tenants that wait and have no place, in the order of their turns
}

// line is where the calls of one tenant wait, in the order in which they came. A turn is closed when it has come.
type line struct {
	waiting []chan struct{}
	inside  bool // the tenant has a place
}

func newPlaces(count int, patience time.Duration) *places {
	return &places{patience: patience, free: count, lines: map[domain.TenantID]*line{}}
}

// enter waits for a place. Who gets one calls leave when its child has ended.
func (p *places) enter(ctx context.Context, tenant domain.TenantID) (leave func(), err error) {
	turn, err := p.queue(tenant)
	if err != nil {
		return nil, err
	}
	patience := time.NewTimer(p.patience)
	defer patience.Stop()
	select {
	case <-turn:
		return func() { p.leave(tenant) }, nil
	case <-patience.C:
		err = tooMany()
	case <-ctx.Done():
		err = abandoned(ctx)
	}
	p.giveUp(tenant, turn)
	return nil, err
}

func (p *places) queue(tenant domain.TenantID) (turn chan struct{}, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.lines[tenant]
	if l == nil {
		l = &line{}
		p.lines[tenant] = l
	}
	if len(l.waiting) >= maxWaiting {
		return nil, tooMany()
	}
	if len(l.waiting) == 0 && !l.inside {
		p.next = append(p.next, l)
	}
	turn = make(chan struct{})
	l.waiting = append(l.waiting, turn)
	p.admit()
	return turn, nil
}

// admit gives the free places away.
func (p *places) admit() {
	for p.free > 0 && len(p.next) > 0 {
		l := p.next[0]
		p.next = slices.Delete(p.next, 0, 1)
		close(l.waiting[0])
		l.waiting = slices.Delete(l.waiting, 0, 1)
		l.inside = true
		p.free--
	}
}

func (p *places) leave(tenant domain.TenantID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.vacate(tenant)
}

// vacate takes a tenant's place away. Where more of its calls wait, they stand behind the other tenants.
func (p *places) vacate(tenant domain.TenantID) {
	l := p.lines[tenant]
	l.inside = false
	p.free++
	if len(l.waiting) > 0 {
		p.next = append(p.next, l)
	}
	p.tidy(tenant)
	p.admit()
}

// giveUp takes a call out of its line. Its turn may have come at that very moment: the place would be lost.
func (p *places) giveUp(tenant domain.TenantID, turn chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.lines[tenant]
	at := slices.Index(l.waiting, turn)
	if at < 0 {
		p.vacate(tenant)
		return
	}
	l.waiting = slices.Delete(l.waiting, at, at+1)
	p.tidy(tenant)
}

// tidy forgets what nobody stands in.
func (p *places) tidy(tenant domain.TenantID) {
	l := p.lines[tenant]
	if len(l.waiting) > 0 {
		return
	}
	p.next = slices.DeleteFunc(p.next, func(other *line) bool { return other == l })
	if !l.inside {
		delete(p.lines, tenant)
	}
}

func tooMany() error {
	return domain.Errorf(domain.CodeUnavailable, "Too many templates are being rendered; try again in a moment.")
}

func abandoned(ctx context.Context) error {
	return domain.Errorf(domain.CodeUnavailable, "The request ended before its templates were rendered.").With(ctx.Err())
}
