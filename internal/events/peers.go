package events

import (
	"context"
	"log/slog"
	"maps"
	"sync/atomic"
	"time"

	"signoff/internal/domain"
)

const (
	// notifyEvery is the pause between two notifications: an idle replica notifies at once, a busy one collects.
	notifyEvery = 10 * time.Millisecond
	// notifyTimeout bounds a notification that the database does not answer. The poll of the others finds the writes.
	notifyTimeout = 5 * time.Second
	// listenAgain and listenAtMost are the first and the longest pause before a lost listener connects again.
	listenAgain  = 100 * time.Millisecond
	listenAtMost = 5 * time.Second
)

// peers are the other replicas of the database. Replicas notify each other of their writes, so that followers need not wait for a poll. A
// notification only says where to look; the poll makes up for a lost one.
//
// The committer only adds a name to an accumulator. If it sent the notification itself, inside its transaction or after it, a
// slow database would hold up every commit of the server.
type peers struct {
	self string       // the sender: a log also receives its own notifications
	out  *accumulator // writes that the others do not know yet
	in   *accumulator // unread writes of the others

	listening                        atomic.Bool
	sent, received                   atomic.Int64
	foundByNotification, foundByPoll atomic.Int64
}

// noteForPeers queues a notification. It never waits.
func (l *Log) noteForPeers(id domain.ExecutionID, tenant domain.TenantID) {
	if l.store.Shared() {
		l.peers.out.put(id, tenant)
	}
}

// notifyPeers sends the queued notifications, until ctx ends.
func (l *Log) notifyPeers(ctx context.Context) {
	for awaitSignal(ctx, l.peers.out.signal) {
		pause := notifyEvery
		if err := l.notify(ctx); err != nil && ctx.Err() == nil {
			slog.Warn("cannot notify other replicas; they find the writes by their poll", "error", err)
			pause = pollEvery
		}
		wait(ctx, pause)
	}
}

func (l *Log) notify(ctx context.Context) error {
	writes := l.peers.out.take()
	if writes.empty() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, notifyTimeout)
	defer cancel()
	payloads := writes.payloads(l.peers.self)
	if err := l.store.Notify(ctx, payloads); err != nil {
		return err
	}
	l.peers.sent.Add(int64(len(payloads)))
	return nil
}

// AnnounceRelease tells the others that they may acquire what this replica drove. It skips the accumulator, because the log may
// end right after it.
func (l *Log) AnnounceRelease(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, notifyTimeout)
	defer cancel()
	return l.store.Notify(ctx, []string{payloadVersion + " " + l.peers.self + " " + wordReleased})
}

// listenToPeers listens until ctx ends, and connects again after a failure.
func (l *Log) listenToPeers(ctx context.Context) {
	pause := listenAgain
	for ctx.Err() == nil {
		err := l.store.Listen(ctx, func() {
			pause = listenAgain
			l.peers.listening.Store(true)
			l.peers.in.everything() // notifications sent while nobody listened are lost
		}, l.receive)
		l.peers.listening.Store(false)
		if ctx.Err() != nil {
			return
		}
		slog.Warn("cannot listen to other replicas; the poll finds their writes", "error", err, "again", pause)
		wait(ctx, pause)
		pause = min(2*pause, listenAtMost)
	}
}

// receive only queues the executions and tenants that are followed here: a slow read would block the listener. It queues them all at once,
// so that one read covers them all.
func (l *Log) receive(payload string) {
	sender, writes, ok := parsePayload(payload)
	if !ok || sender == l.peers.self {
		return
	}
	l.peers.received.Add(1)
	switch {
	case writes.everything:
		l.peers.in.everything()
		return
	case writes.released:
		if l.onRelease != nil {
			l.onRelease()
		}
		return
	}
	maps.DeleteFunc(writes.executions, func(id domain.ExecutionID, _ bool) bool { return l.topics.find(id) == nil })
	maps.DeleteFunc(writes.tenants, func(tenant domain.TenantID, _ bool) bool { return !l.feeds.followed(tenant) })
	l.peers.in.putAll(writes)
}

// readWrites reads the heads of received notifications, until ctx ends.
func (l *Log) readWrites(ctx context.Context) {
	for awaitSignal(ctx, l.peers.in.signal) {
		l.readNotified(ctx, l.peers.in.take())
		wait(ctx, notifyEvery) // many replicas may notify
	}
}

func (l *Log) readNotified(ctx context.Context, writes notification) {
	ctx, cancel := context.WithTimeout(ctx, pollTimeout)
	defer cancel()
	if writes.everything {
		l.readHeads(ctx, l.topics.all(), &l.peers.foundByNotification)
		l.pollFeeds(ctx)
		return
	}
	l.readHeads(ctx, l.topics.some(writes.executions), &l.peers.foundByNotification)
	for tenant := range writes.tenants {
		l.feeds.notify(tenant)
	}
}

// awaitSignal reports whether a signal came before ctx ended.
func awaitSignal(ctx context.Context, signal <-chan struct{}) bool {
	select {
	case <-signal:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

func wait(ctx context.Context, pause time.Duration) {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
