package events

import (
	"context"

	"signoff/internal/domain"
	"signoff/internal/store"
)

// pageSize and pageBytes bound how much of the history is read at once: a slow client uses no more memory.
const (
	pageSize  = 200
	pageBytes = 256 << 10
)

// Follower reads one execution's log from a cursor on, first from the store, then live.
//
//	for {
//		frames, err := follower.Next(ctx)
//		… write them; when there were none, wait for <-follower.Notified()
//	}
type Follower struct {
	log      *Log
	topic    *topic
	notified chan struct{}
	seq      int64 // of the last frame that was handed out
	start    int64 // the head when the follower began
	ended    bool
}

// Follow begins behind the event with seq after; 0 is the beginning. The caller has checked that the execution is
// its tenant's, and calls Close in the end. A cursor beyond the head is domain.CodeCursorBeyondHead: it was not made
// by this log, and to wait for it could mean to skip events.
func (l *Log) Follow(ctx context.Context, id domain.ExecutionID, after int64) (*Follower, error) {
	return l.FollowBy(id, after, func() (store.Head, error) { return l.store.Head(ctx, id) })
}

// FollowBy is Follow with a head that the caller reads, together with the owner of the execution. It calls read once no later
// write can be missed.
func (l *Log) FollowBy(id domain.ExecutionID, after int64, read func() (store.Head, error)) (*Follower, error) {
	// The follower is known before the head is read, so an event is in the history or in the tail or in both,
	// but never in neither.
	t := l.topics.join(id)
	f := &Follower{log: l, topic: t, notified: t.subscribe(true), seq: after}
	head, err := read()
	if err == nil && head.Deleted {
		err = errDeleted(id)
	}
	if err == nil && after > head.LastSeq {
		err = domain.Errorf(domain.CodeCursorBeyondHead,
			"The log of this execution ends at event %d; there is no event %d to go on from.", head.LastSeq, after)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	t.raiseHead(head.LastSeq)
	f.start = head.LastSeq
	f.ended = head.Terminal && after == head.LastSeq
	return f, nil
}

// Next returns what lies behind the cursor and moves it, without waiting for anything new: no frames and no error
// means that the follower has everything. It reads the store only while it is behind the live tail.
func (f *Follower) Next(ctx context.Context) ([]Frame, error) {
	if f.ended {
		return nil, nil
	}
	frames, covered, err := f.topic.after(f.seq)
	if err != nil {
		return nil, err
	}
	if !covered {
		if frames, err = f.page(ctx); err != nil {
			return nil, err
		}
	}
	if len(frames) > 0 {
		last := frames[len(frames)-1]
		f.seq, f.ended = last.Seq, last.Type.Terminal()
	}
	return frames, nil
}

func (f *Follower) page(ctx context.Context) ([]Frame, error) {
	events, err := f.log.store.EventPage(ctx, f.topic.id, f.seq, pageSize, pageBytes)
	if err != nil {
		return nil, err
	}
	frames := make([]Frame, len(events))
	for i, event := range events {
		frames[i] = NewFrame(event)
	}
	return frames, nil
}

// Notified receives when Next may have more frames, and sometimes when it has none.
func (f *Follower) Notified() <-chan struct{} { return f.notified }

// Live reports whether the history, as it stood when the follower began, has been handed out.
func (f *Follower) Live() bool { return f.seq >= f.start }

// Ended reports whether the terminal event has been handed out, now or before the cursor. Nothing comes after it.
func (f *Follower) Ended() bool { return f.ended }

// Close releases the tail.
func (f *Follower) Close() {
	f.topic.unsubscribe(f.notified, true)
	f.log.topics.leave(f.topic)
}

// Watcher notifies a session of the writes of others to its execution: a decision, or a control request.
type Watcher struct {
	log      *Log
	topic    *topic
	notified chan struct{}
}

// Watch begins to listen; the caller calls Close in the end.
func (l *Log) Watch(id domain.ExecutionID) *Watcher {
	t := l.topics.join(id)
	return &Watcher{log: l, topic: t, notified: t.subscribe(false)}
}

// Notified receives on every write, the session's own ones included.
func (w *Watcher) Notified() <-chan struct{} { return w.notified }

// ForeignWrites counts the writes of others. When it has changed, the session reads its approvals and control requests; it may change
// without a write.
func (w *Watcher) ForeignWrites() int {
	w.topic.mu.Lock()
	defer w.topic.mu.Unlock()
	return w.topic.foreign
}

// Close stops listening.
func (w *Watcher) Close() {
	w.topic.unsubscribe(w.notified, false)
	w.log.topics.leave(w.topic)
}
