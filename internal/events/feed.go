package events

import (
	"context"
	"log/slog"
	"slices"
	"sync"

	"signoff/internal/domain"
	"signoff/internal/store"
)

// feeds holds the feed of each tenant that somebody follows at this moment.
type feeds struct {
	mu       sync.Mutex
	byTenant map[domain.TenantID]*feed
}

// feed is what followers of one tenant share: the bells. There is no tail of frames, since a replica does not know the
// places of what the others write: who is rung reads the store.
type feed struct {
	listeners []chan struct{}
	head      store.FeedCursor // as the last poll has found it
}

// join returns the bell of one more follower, who must call leave once.
func (fs *feeds) join(tenant domain.TenantID) chan struct{} {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	f, known := fs.byTenant[tenant]
	if !known {
		f = &feed{}
		fs.byTenant[tenant] = f
	}
	bell := make(chan struct{}, 1)
	f.listeners = append(f.listeners, bell)
	return bell
}

func (fs *feeds) leave(tenant domain.TenantID, bell chan struct{}) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	f := fs.byTenant[tenant]
	f.listeners = slices.DeleteFunc(f.listeners, func(b chan struct{}) bool { return b == bell })
	if len(f.listeners) == 0 {
		delete(fs.byTenant, tenant)
	}
}

// notify tells the followers of a tenant that there is something new.
func (fs *feeds) notify(tenant domain.TenantID) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if f, followed := fs.byTenant[tenant]; followed {
		f.notify()
	}
}

func (fs *feeds) followed(tenant domain.TenantID) bool {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	_, followed := fs.byTenant[tenant]
	return followed
}

func (f *feed) notify() {
	for _, bell := range f.listeners {
		signal(bell)
	}
}

// signal does not wait: a bell that has not been heard yet tells of this, too.
func signal(bell chan struct{}) {
	select {
	case bell <- struct{}{}:
	default:
	}
}

func (fs *feeds) tenants() []domain.TenantID {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	all := make([]domain.TenantID, 0, len(fs.byTenant))
	for tenant := range fs.byTenant {
		all = append(all, tenant)
	}
	return all
}

// polled takes what the store said. Whoever follows since the poll before may have read more than that one found: it
// is rung for nothing once.
func (fs *feeds) polled(tenant domain.TenantID, head store.FeedCursor) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if f, followed := fs.byTenant[tenant]; followed && f.head != head {
		f.head = head
		f.notify()
	}
}

// pollFeeds asks once for each tenant, however many follow it.
func (l *Log) pollFeeds(ctx context.Context) {
	for _, tenant := range l.feeds.tenants() {
		head, err := l.store.FeedHead(ctx, tenant)
		if err != nil {
			slog.Warn("cannot poll for the events of other replicas", "error", err)
			return
		}
		l.feeds.polled(tenant, head)
	}
}
