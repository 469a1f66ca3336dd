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
	// notifyEvery is how soon after one bell the next may be rung. An idle replica rings at once, a busy one in sums.
	notifyEvery = 10 * time.Millisecond
	// notifyTimeout gives a bell up that the database does not answer. What it told is found by the poll.
	notifyTimeout = 5 * time.Second
	// listenAgain and listenAtMost are the first and the longest pause before a lost ear is put to the channel again.
	listenAgain  = 100 * time.Millisecond
	listenAtMost = 5 * time.Second
)

// peers go between the replicas of one database: each tells the others where it has written, so that they need not
// wait for their poll. A bell tells nothing but where to look, and whatever goes wrong here is made good by the poll.
//
// The committer only puts a name into a basket. A bell that is rung inside of its transaction, or that it waits for, would hold
// up every commit of the server as soon as the database is slow to ring it.
type peers struct {
	self string       // who sends: a log hears its own bells, too
	out  *accumulator // what the others have not been told yet
	in   *accumulator // what the others have told, and nobody has looked at yet

	listening                        atomic.Bool
	sent, received                   atomic.Int64
	foundByNotification, foundByPoll atomic.Int64
}

// noteForPeers notes that the others should look. It never waits.
func (l *Log) noteForPeers(id domain.ExecutionID, tenant domain.TenantID) {
	if l.store.Shared() {
		l.peers.out.put(id, tenant)
	}
}

// notifyPeers tells what has been noted, until ctx ends.
func (l *Log) notifyPeers(ctx context.Context) {
	for awaitSignal(ctx, l.peers.out.signal) {
		pause := notifyEvery
		if err := l.notify(ctx); err != nil && ctx.Err() == nil {
			slog.Warn("cannot tell other replicas what was written; they find it by their poll", "error", err)
			pause = pollEvery
		}
		wait(ctx, pause)
	}
}

func (l *Log) notify(ctx context.Context) error {
	told := l.peers.out.take()
	if told.empty() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, notifyTimeout)
	defer cancel()
	payloads := told.payloads(l.peers.self)
	if err := l.store.Notify(ctx, payloads); err != nil {
		return err
	}
	l.peers.sent.Add(int64(len(payloads)))
	return nil
}

// AnnounceRelease tells the others that they may acquire what this replica drove. It does not wait for its turn in the basket, since the log may
// end right after it.
func (l *Log) AnnounceRelease(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, notifyTimeout)
	defer cancel()
	return l.store.Notify(ctx, []string{payloadVersion + " " + l.peers.self + " " + wordReleased})
}

// listenToPeers listens until ctx ends, and again where that broke off.
func (l *Log) listenToPeers(ctx context.Context) {
	pause := listenAgain
	for ctx.Err() == nil {
		err := l.store.Listen(ctx, func() {
			pause = listenAgain
			l.peers.listening.Store(true)
			l.peers.in.everything() // bells that were rung while nobody listened are lost
		}, l.receive)
		l.peers.listening.Store(false)
		if ctx.Err() != nil {
			return
		}
		slog.Warn("cannot hear other replicas; what they write is found by the poll", "error", err, "again", pause)
		wait(ctx, pause)
		pause = min(2*pause, listenAtMost)
	}
}

// receive only notes what concerns somebody here: a read that takes long would make the ear deaf meanwhile. It notes all of it at once: who took
// the first name while the second was on its way looked after that one only at its next turn.
func (l *Log) receive(payload string) {
	sender, told, ok := parsePayload(payload)
	if !ok || sender == l.peers.self {
		return
	}
	l.peers.received.Add(1)
	switch {
	case told.everything:
		l.peers.in.everything()
		return
	case told.released:
		if l.onRelease != nil {
			l.onRelease()
		}
		return
	}
	maps.DeleteFunc(told.executions, func(id domain.ExecutionID, _ bool) bool { return l.topics.find(id) == nil })
	maps.DeleteFunc(told.tenants, func(tenant domain.TenantID, _ bool) bool { return !l.feeds.followed(tenant) })
	l.peers.in.putAll(told)
}

// readWrites looks at what has been heard, until ctx ends.
func (l *Log) readWrites(ctx context.Context) {
	for awaitSignal(ctx, l.peers.in.signal) {
		l.readNotified(ctx, l.peers.in.take())
		wait(ctx, notifyEvery) // many replicas may ring
	}
}

func (l *Log) readNotified(ctx context.Context, told notification) {
	ctx, cancel := context.WithTimeout(ctx, pollTimeout)
	defer cancel()
	if told.everything {
		l.readHeads(ctx, l.topics.all(), &l.peers.foundByNotification)
		l.pollFeeds(ctx)
		return
	}
	l.readHeads(ctx, l.topics.some(told.executions), &l.peers.foundByNotification)
	for tenant := range told.tenants {
		l.feeds.notify(tenant)
	}
}

// awaitSignal tells whether bell rang before ctx ended.
func awaitSignal(ctx context.Context, bell <-chan struct{}) bool {
	select {
	case <-bell:
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
