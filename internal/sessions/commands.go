package sessions

import (
	"cmp"
	"slices"
	"sync"

	"signoff/internal/domain"
)

// Commands are processes. A server that ran all that are allowed at once would have no processor time and no memory left to keep
// its own lease. So each command needs a slot. A command without a slot waits, and has not started: no toolCall.started is
// written, so nobody has to ask for its outcome. When it gets its slot it is judged once more, because there may be new rules; a
// command that a person has approved starts as it was approved.

// commandQueue shares out the slots of this server's commands.
type commandQueue struct {
	mu      sync.Mutex
	slots   int
	running []*slot
	waiting []*slot // in the order of their requests
	turns   int64   // how many slots were given
	last    map[string]int64
}

// slot is the slot of a command, or its place among those that wait. A nil slot is none.
type slot struct {
	queue             *commandQueue
	tenant, execution string
	onGiven           func() // nil if nobody had to wait
	given             bool
}

func newCommandQueue(slots int) *commandQueue {
	return &commandQueue{slots: slots, last: map[string]int64{}}
}

// request returns a slot, which may be given at once. Otherwise the queue calls onGiven when it gives the slot: it must not block.
func (q *commandQueue) request(tenant domain.TenantID, execution domain.ExecutionID, onGiven func()) *slot {
	q.mu.Lock()
	defer q.mu.Unlock()
	p := &slot{queue: q, tenant: "tenant " + string(tenant), execution: "execution " + string(execution)}
	if len(q.running) < q.slots && len(q.waiting) == 0 {
		q.give(p)
		return p
	}
	p.onGiven = onGiven
	q.waiting = append(q.waiting, p)
	return p
}

func (q *commandQueue) give(p *slot) {
	p.given = true
	q.running = append(q.running, p)
	q.turns++
	q.last[p.tenant], q.last[p.execution] = q.turns, q.turns
}

// isGiven tells whether the command may start.
func (p *slot) isGiven() bool {
	p.queue.mu.Lock()
	defer p.queue.mu.Unlock()
	return p.given
}

// release gives the slot back, or stops waiting for one. It may be called more than once.
func (p *slot) release() {
	if p == nil {
		return
	}
	q := p.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	is := func(other *slot) bool { return other == p }
	q.running = slices.DeleteFunc(q.running, is)
	q.waiting = slices.DeleteFunc(q.waiting, is)
	for len(q.running) < q.slots && len(q.waiting) > 0 {
		next := slices.MinFunc(q.waiting, q.sooner)
		q.waiting = slices.DeleteFunc(q.waiting, func(other *slot) bool { return other == next })
		q.give(next)
		next.onGiven()
	}
	if len(q.waiting) == 0 {
		clear(q.last) // all wait equally long
	}
}

// sooner orders the commands that wait: the tenant with the fewest running commands comes first, among equals the tenant that has
// waited longest; the same holds for the executions of a tenant. So nobody waits behind hundreds of commands of another.
func (q *commandQueue) sooner(a, b *slot) int {
	count := func(same func(*slot) bool) (n int) {
		for _, p := range q.running {
			if same(p) {
				n++
			}
		}
		return n
	}
	ofTenant := func(one *slot) int { return count(func(p *slot) bool { return p.tenant == one.tenant }) }
	ofExecution := func(one *slot) int { return count(func(p *slot) bool { return p.execution == one.execution }) }
	if a.tenant != b.tenant {
		return cmp.Or(cmp.Compare(ofTenant(a), ofTenant(b)), cmp.Compare(q.last[a.tenant], q.last[b.tenant]))
	}
	return cmp.Or(cmp.Compare(ofExecution(a), ofExecution(b)), cmp.Compare(q.last[a.execution], q.last[b.execution]))
}

func (q *commandQueue) counts() (running, waiting int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.running), len(q.waiting)
}
