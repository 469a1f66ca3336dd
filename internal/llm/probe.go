package llm

import (
	"context"
	"sync"
	"time"

	"signoff/internal/domain"
	"signoff/internal/llm/provider"
)

const (
	probeTimeout = 2 * time.Second
	probeHolds   = 30 * time.Second
)

// probe remembers for a while whether a provider answers. A caller who comes while it is being asked waits for that
// answer: a page that many people have open must not become many requests.
type probe struct {
	client provider.Client

	mu    sync.Mutex
	found string
	until time.Time
}

// reason returns why the model cannot be used, or nothing.
func (p *probe) reason(ctx context.Context) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now := time.Now(); now.After(p.until) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), probeTimeout) // one caller's leaving says nothing about the provider
		defer cancel()
		p.found = ""
		if err := p.client.Probe(ctx); err != nil {
			p.found = domain.FailureOf(err).Message
		}
		p.until = time.Now().Add(probeHolds)
	}
	return p.found
}
