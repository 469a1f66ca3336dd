package files

import (
	"context"
	"sync"
	"time"

	"signoff/internal/domain"
)

const (
	// roomForAll bounds the bytes of files that are in memory at once, and roomForOne those of one tenant: a tenant that sends slowly must not keep the
	// others out.
	roomForAll = 8 * domain.MaxFileSize
	roomForOne = 4 * domain.MaxFileSize
	// waitForRoom is how long a caller waits for room.
	waitForRoom = 10 * time.Second
)

// room shares the memory out.
type room struct {
	mu      sync.Mutex
	taken   int64
	by      map[domain.TenantID]int64
	changed chan struct{} // closes when there is more room
}

// take takes so many bytes of the room, and waits for them. The caller gives them back.
func (r *room) take(ctx context.Context, tenant domain.TenantID, bytes int64) (giveBack func(), err error) {
	patience := time.NewTimer(waitForRoom)
	defer patience.Stop()
	for {
		changed := r.tryTake(tenant, bytes)
		if changed == nil {
			return sync.OnceFunc(func() { r.giveBack(tenant, bytes) }), nil
		}
		select {
		case <-changed:
		case <-patience.C:
			return nil, domain.Errorf(domain.CodeOverloaded, "Too many files are sent and read at this moment; try again.")
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// tryTake takes the bytes and returns nil, or returns a channel that closes when the caller may try again.
func (r *room) tryTake(tenant domain.TenantID, bytes int64) <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.taken+bytes <= roomForAll && r.by[tenant]+bytes <= roomForOne {
		if r.by == nil {
			r.by = map[domain.TenantID]int64{}
		}
		r.taken += bytes
		r.by[tenant] += bytes
		return nil
	}
	if r.changed == nil {
		r.changed = make(chan struct{})
	}
	return r.changed
}

func (r *room) giveBack(tenant domain.TenantID, bytes int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.taken -= bytes
	if r.by[tenant] -= bytes; r.by[tenant] == 0 {
		delete(r.by, tenant)
	}
	if r.changed != nil {
		close(r.changed)
		r.changed = nil
	}
}
