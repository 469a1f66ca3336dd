package events

import (
	"context"
	"log/slog"
	"slices"
	"sync"

	"signoff/internal/domain"
	"signoff/internal/store"
)

// feeds holds the feed of each tenant that is followed now.
type feeds struct {
	mu       sync.Mutex
	byTenant map[domain.TenantID]*feed
}

// feed is shared by the followers of one tenant: the listeners. There is no tail of frames, because a replica does not know the
// places of other replicas' events: a notified follower reads the store.
type feed struct {
	listeners []chan struct{}
	head      store.FeedCursor // as the last poll has found it
}

// join returns the channel that notifies one more follower, who must call leave once.
func (fs *feeds) join(tenant domain.TenantID) chan struct{} {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	f, known := fs.byTenant[tenant]
	if !known {
		f = &feed{}
		fs.byTenant[tenant] = f
	}
	notified := make(chan struct{}, 1)
	f.listeners = append(f.listeners, notified)
	return notified
}

func (fs *feeds) leave(tenant domain.TenantID, notified chan struct{}) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	f := fs.byTenant[tenant]
	f.listeners = slices.DeleteFunc(f.listeners, func(b chan struct{}) bool { return b == notified })
	if len(f.listeners) == 0 {
		delete(fs.byTenant, tenant)
	}
}

// notify notifies the followers of a tenant.
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
	for _, listener := range f.listeners {
		signal(listener)
	}
}

// signal does not wait: a pending signal covers this one, too.
func signal(listener chan struct{}) {
	select {
	case listener <- struct{}{}:
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

// polled applies a head from the store. A new follower may have read beyond it already, and is then notified for nothing once.
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
