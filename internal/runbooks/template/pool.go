package template

import (
	"sync"

	"signoff/internal/domain"
)

// poolSize bounds the memory of all templates that are rendered at the same time, beside the first piece of each.
const poolSize = 512 << 20

// pool lends memory to renderings. One tenant gets half of it at most, so that large templates of one do not
// take it from all others. Nobody waits: a rendering without memory is refused, and small templates need none.
type pool struct {
	size int64

	mu      sync.Mutex
	lent    int64
	tenants map[domain.TenantID]int64 // of those that have borrowed, how much
}

func newPool(size int64) *pool {
	return &pool{size: size, tenants: map[domain.TenantID]int64{}}
}

// loan is the memory of one call.
type loan struct {
	pool   *pool
	tenant domain.TenantID
	bytes  int64
}

func (p *pool) open(tenant domain.TenantID) *loan { return &loan{pool: p, tenant: tenant} }

func (l *loan) borrow(bytes int64) bool {
	p := l.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.lent+bytes > p.size || p.tenants[l.tenant]+bytes > p.size/2 {
		return false
	}
	p.lent += bytes
	p.tenants[l.tenant] += bytes
	l.bytes += bytes
	return true
}

// close gives everything back.
func (l *loan) close() {
	if l.bytes == 0 {
		return
	}
	p := l.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lent -= l.bytes
	if p.tenants[l.tenant] -= l.bytes; p.tenants[l.tenant] == 0 {
		delete(p.tenants, l.tenant)
	}
}
