package events

import (
	"sync"

	"signoff/internal/domain"
)

// maxPlaces bounds the executions and tenants of an unsent notification. Beyond it, reading everything is cheaper than the list.
const maxPlaces = 1000

// notification is a set of executions and tenants with new events: a thousand deltas of one execution are one entry.
type notification struct {
	everything bool
	released   bool // the sender has released its executions; such a notification has no other content
	executions map[domain.ExecutionID]bool
	tenants    map[domain.TenantID]bool
}

func (n *notification) empty() bool { return !n.everything && len(n.executions)+len(n.tenants) == 0 }

// accumulator merges notifications until take returns them.
type accumulator struct {
	signal chan struct{}

	mu        sync.Mutex
	collected notification
}

func newAccumulator() *accumulator { return &accumulator{signal: make(chan struct{}, 1)} }

// put adds one execution and its tenant. It never waits. An empty id is none.
func (b *accumulator) put(id domain.ExecutionID, tenant domain.TenantID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.add(id, tenant)
	signal(b.signal)
}

// putAll adds all places of n at once.
func (b *accumulator) putAll(n notification) {
	if n.empty() {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for id := range n.executions {
		b.add(id, "")
	}
	for tenant := range n.tenants {
		b.add("", tenant)
	}
	signal(b.signal)
}

// everything replaces the collected places by all places.
func (b *accumulator) everything() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.collected = notification{everything: true}
	signal(b.signal)
}

func (b *accumulator) add(id domain.ExecutionID, tenant domain.TenantID) {
	n := &b.collected
	if n.everything {
		return
	}
	if n.executions == nil {
		n.executions, n.tenants = map[domain.ExecutionID]bool{}, map[domain.TenantID]bool{}
	}
	if id != "" {
		n.executions[id] = true
	}
	if tenant != "" {
		n.tenants[tenant] = true
	}
	if len(n.executions)+len(n.tenants) > maxPlaces {
		b.collected = notification{everything: true}
	}
}

// take returns the collected notification and empties the accumulator.
func (b *accumulator) take() notification {
	b.mu.Lock()
	defer b.mu.Unlock()
	taken := b.collected
	b.collected = notification{}
	return taken
}
