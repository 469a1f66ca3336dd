package events

import (
	"context"
	"slices"

	"signoff/internal/domain"
	"signoff/internal/store"
)

// TreeFollower reads the events of a root and of all executions below it from a cursor on, as a [FeedFollower] reads those of a tenant. It ends with the
// last event of the tree, which may be a child's: the end of a root cancels its live children, which end after it.
type TreeFollower struct {
	*FeedFollower
	root  *topic // tells of its deletion
	ended bool
}

// FollowTree begins behind the cursor after; the zero value is the beginning. The caller has checked that root is a root of the tenant, and calls Close in the
// end. A cursor beyond the end is domain.CodeCursorBeyondHead.
func (l *Log) FollowTree(ctx context.Context, tenant domain.TenantID, root domain.ExecutionID, after store.FeedCursor) (*TreeFollower, error) {
	all, err := l.FollowAll(ctx, tenant, after)
	if err != nil {
		return nil, err
	}
	all.read = func(ctx context.Context, after store.FeedCursor) (store.FeedPage, error) {
		return l.store.FeedOfTree(ctx, tenant, root, after, pageSize, pageBytes)
	}
	f := &TreeFollower{FeedFollower: all, root: l.topics.join(root)}
	f.root.listen(f.notified)
	head, err := l.store.Head(ctx, root)
	if err == nil && head.Deleted {
		err = errDeleted(root)
	}
	if err == nil {
		f.root.raiseHead(head.LastSeq) // the poll tells of the deletion of what it has seen
		f.ended, err = f.hasAll(ctx)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// Next is like [FeedFollower.Next]; after the deletion of the root it fails with domain.CodeNotFound.
func (f *TreeFollower) Next(ctx context.Context) ([]Frame, error) {
	if f.ended {
		return nil, nil
	}
	if f.root.isGone() {
		return nil, errDeleted(f.root.id)
	}
	frames, err := f.FeedFollower.Next(ctx)
	if err == nil && slices.ContainsFunc(frames, func(frame Frame) bool { return frame.Type.Terminal() }) {
		f.ended, err = f.hasAll(ctx)
	}
	return frames, err
}

// hasAll tells whether all executions of the tree have ended and their last event was returned.
func (f *TreeFollower) hasAll(ctx context.Context) (bool, error) {
	end, ended, err := f.log.store.EndOfTree(ctx, f.root.id)
	return ended && f.cursor.Compare(end) >= 0, err
}

// Ended reports whether the last event of the tree was returned, now or before the cursor. Nothing comes after it.
func (f *TreeFollower) Ended() bool { return f.ended }

// Close ends the notifications.
func (f *TreeFollower) Close() {
	f.root.unsubscribe(f.notified, false)
	f.log.topics.leave(f.root)
	f.FeedFollower.Close()
}
