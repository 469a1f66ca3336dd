package events

import (
	"sync"

	"signoff/internal/domain"
)

// maxNews bounds how much is kept for a bell that cannot be rung. Beyond it, to look at everything is cheaper than the list.
const maxNews = 1000

// news says where somebody wrote. It is a set: a thousand deltas of one execution are one entry.
type news struct {
	everything bool
	letGo      bool // of what the sender drove; comes alone, and is never kept
	executions map[domain.ExecutionID]bool
	tenants    map[domain.TenantID]bool
}

func (n *news) empty() bool { return !n.everything && len(n.executions)+len(n.tenants) == 0 }

// basket collects news until somebody takes all of it.
type basket struct {
	bell chan struct{}

	mu   sync.Mutex
	news news
}

func newBasket() *basket { return &basket{bell: make(chan struct{}, 1)} }

// put never waits. An empty id is none.
func (b *basket) put(id domain.ExecutionID, tenant domain.TenantID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.add(id, tenant)
	ring(b.bell)
}

// putAll puts all names of told in at once.
func (b *basket) putAll(told news) {
	if told.empty() {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for id := range told.executions {
		b.add(id, "")
	}
	for tenant := range told.tenants {
		b.add("", tenant)
	}
	ring(b.bell)
}

// everything replaces whatever is in it.
func (b *basket) everything() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.news = news{everything: true}
	ring(b.bell)
}

func (b *basket) add(id domain.ExecutionID, tenant domain.TenantID) {
	n := &b.news
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
	if len(n.executions)+len(n.tenants) > maxNews {
		b.news = news{everything: true}
	}
}

// take empties it.
func (b *basket) take() news {
	b.mu.Lock()
	defer b.mu.Unlock()
	taken := b.news
	b.news = news{}
	return taken
}
