package events

import (
	"context"
	"time"

	"signoff/internal/domain"
	"signoff/internal/store"
)

// firstPause is the first pause before a follower asks again for events that an open transaction holds back. The pause doubles
// up to that of the poll.
const firstPause = 20 * time.Millisecond

// FeedFollower reads the events of all executions of a tenant from a cursor on, as a [Follower] does those of one. The
// id of a frame is its cursor. It has no end.
type FeedFollower struct {
	log      *Log
	tenant   domain.TenantID
	notified chan struct{}
	read     func(ctx context.Context, after store.FeedCursor) (store.FeedPage, error)
	cursor   store.FeedCursor // of the last frame that was handed out
	start    store.FeedCursor // the head when the follower began
	live     bool
	whole    bool          // the last page had all that there was
	pause    time.Duration // 0: nothing is held back
	again    *time.Timer   // notifies after the pause; nil: not so far
}

// FollowAll begins behind the cursor after; the zero value is the beginning. The caller calls Close in the end. A cursor
// beyond the end is domain.CodeCursorBeyondHead.
func (l *Log) FollowAll(ctx context.Context, tenant domain.TenantID, after store.FeedCursor) (*FeedFollower, error) {
	return l.followFeed(ctx, tenant, func(store.FeedCursor) store.FeedCursor { return after })
}

// FollowNew begins behind all that is there.
func (l *Log) FollowNew(ctx context.Context, tenant domain.TenantID) (*FeedFollower, error) {
	return l.followFeed(ctx, tenant, func(head store.FeedCursor) store.FeedCursor { return head })
}

func (l *Log) followFeed(ctx context.Context, tenant domain.TenantID, after func(head store.FeedCursor) store.FeedCursor,
) (*FeedFollower, error) {
	// The follower joins before it reads, so every later write is read or notified.
	f := &FeedFollower{log: l, tenant: tenant, notified: l.feeds.join(tenant)}
	f.read = func(ctx context.Context, after store.FeedCursor) (store.FeedPage, error) {
		return l.store.Feed(ctx, tenant, after, pageSize, pageBytes)
	}
	var err error
	if f.start, err = l.store.FeedHead(ctx, tenant); err == nil {
		f.cursor = after(f.start)
		_, err = l.store.Feed(ctx, tenant, f.cursor, 0, 0) // which reports whether the cursor is beyond the end
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// Next returns what lies behind the cursor and moves it, without waiting for anything new: no frames and no error means
// that the follower has everything.
func (f *FeedFollower) Next(ctx context.Context) ([]Frame, error) {
	if f.whole { // the caller asks whether there is more: a notification would have said so
		f.whole = false
		return nil, nil
	}
	page, err := f.read(ctx, f.cursor)
	for err == nil && len(page.Events) == 0 && page.More { // its events have just been deleted
		page, err = f.read(ctx, f.cursor)
	}
	if err != nil {
		return nil, err
	}
	frames := make([]Frame, len(page.Events))
	for i, event := range page.Events {
		frames[i] = encode(event.Cursor.String(), event.Event, &event.Agent)
		f.cursor = event.Cursor
	}
	f.live = f.live || !page.More || f.cursor.Compare(f.start) >= 0
	f.whole = len(frames) > 0 && !page.More
	f.askAgain(page.Later && !page.More, len(frames) > 0)
	return frames, nil
}

// askAgain notifies the caller soon if an open transaction holds events back, because the end of a transaction is not announced.
func (f *FeedFollower) askAgain(later, progress bool) {
	early := f.cancelAgain() // an earlier notification does not prolong the wait
	switch {
	case !later:
		f.pause = 0
		return
	case progress, f.pause == 0:
		f.pause = firstPause
	case !early:
		f.pause = min(2*f.pause, pollEvery)
	}
	f.again = time.AfterFunc(f.pause, func() { signal(f.notified) })
}

// cancelAgain reports whether a notification was pending.
func (f *FeedFollower) cancelAgain() bool { return f.again != nil && f.again.Stop() }

// Notified receives when Next may have more. It may receive for nothing.
func (f *FeedFollower) Notified() <-chan struct{} { return f.notified }

// Live reports whether the history, as it stood when the follower began, has been handed out.
func (f *FeedFollower) Live() bool { return f.live }

// Ended is always false: there may always be another execution.
func (f *FeedFollower) Ended() bool { return false }

// Cursor is the place of the last frame that was handed out, or where the follower began.
func (f *FeedFollower) Cursor() store.FeedCursor { return f.cursor }

// Close ends the notifications.
func (f *FeedFollower) Close() {
	f.cancelAgain()
	f.log.feeds.leave(f.tenant, f.notified)
}
