package events

import (
	"context"
	"crypto/rand"
	"log/slog"
	"maps"
	"sync/atomic"
	"time"

	"signoff/internal/domain"
)

const (
	// ringEvery is how soon after one bell the next may be rung. An idle replica rings at once, a busy one in sums.
	ringEvery = 10 * time.Millisecond
	// notifyTimeout gives a bell up that the database does not answer. What it told is found by the poll.
	notifyTimeout = 5 * time.Second
	// listenAgain and listenAtMost are the first and the longest pause before a lost ear is put to the channel again.
	listenAgain  = 100 * time.Millisecond
	listenAtMost = 5 * time.Second
)

// bells go between the replicas of one database: each tells the others where it has written, so that they need not
// wait for their poll. A bell tells nothing but where to look, and whatever goes wrong here is made good by the poll.
//
// The committer only puts a name into a basket. A bell that is rung inside of its transaction, or that it waits for, would hold
// up every commit of the server as soon as the database is slow to ring it.
type bells struct {
	self string  // who sends: a log hears its own bells, too
	out  *basket // what the others have not been told yet
	in   *basket // what the others have told, and nobody has looked at yet

	listening              atomic.Bool
	sent, heard            atomic.Int64
	newsByBell, newsByPoll atomic.Int64
}

func newBells() bells { return bells{self: rand.Text(), out: newBasket(), in: newBasket()} }

// tellOthers notes that the others should look. It never waits.
func (l *Log) tellOthers(id domain.ExecutionID, tenant domain.TenantID) {
	if l.store.Shared() {
		l.bells.out.put(id, tenant)
	}
}

// ringOthers tells what has been noted, until ctx ends.
func (l *Log) ringOthers(ctx context.Context) {
	for heard(ctx, l.bells.out.bell) {
		pause := ringEvery
		if err := l.notify(ctx); err != nil && ctx.Err() == nil {
			slog.Warn("cannot tell other replicas what was written; they find it by their poll", "error", err)
			pause = pollEvery
		}
		wait(ctx, pause)
	}
}

func (l *Log) notify(ctx context.Context) error {
	told := l.bells.out.take()
	if told.empty() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, notifyTimeout)
	defer cancel()
	payloads := told.payloads(l.bells.self)
	if err := l.store.Notify(ctx, payloads); err != nil {
		return err
	}
	l.bells.sent.Add(int64(len(payloads)))
	return nil
}

// LetGo tells the others that what this replica drove is theirs. It does not wait for its turn in the basket, since the log may
// end right after it.
func (l *Log) LetGo(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, notifyTimeout)
	defer cancel()
	return l.store.Notify(ctx, []string{payloadVersion + " " + l.bells.self + " " + wordLetGo})
}

// hearOthers listens until ctx ends, and again where that broke off.
func (l *Log) hearOthers(ctx context.Context) {
	pause := listenAgain
	for ctx.Err() == nil {
		err := l.store.Listen(ctx, func() {
			pause = listenAgain
			l.bells.listening.Store(true)
			l.bells.in.everything() // bells that were rung while nobody listened are lost
		}, l.hear)
		l.bells.listening.Store(false)
		if ctx.Err() != nil {
			return
		}
		slog.Warn("cannot hear other replicas; what they write is found by the poll", "error", err, "again", pause)
		wait(ctx, pause)
		pause = min(2*pause, listenAtMost)
	}
}

// hear only notes what concerns somebody here: a read that takes long would make the ear deaf meanwhile. It notes all of it at once: who took
// the first name while the second was on its way looked after that one only at its next turn.
func (l *Log) hear(payload string) {
	sender, told, ok := parsePayload(payload)
	if !ok || sender == l.bells.self {
		return
	}
	l.bells.heard.Add(1)
	switch {
	case told.everything:
		l.bells.in.everything()
		return
	case told.letGo:
		if l.letGo != nil {
			l.letGo()
		}
		return
	}
	maps.DeleteFunc(told.executions, func(id domain.ExecutionID, _ bool) bool { return l.topics.find(id) == nil })
	maps.DeleteFunc(told.tenants, func(tenant domain.TenantID, _ bool) bool { return !l.feeds.followed(tenant) })
	l.bells.in.putAll(told)
}

// lookAfterOthers looks at what has been heard, until ctx ends.
func (l *Log) lookAfterOthers(ctx context.Context) {
	for heard(ctx, l.bells.in.bell) {
		l.look(ctx, l.bells.in.take())
		wait(ctx, ringEvery) // many replicas may ring
	}
}

func (l *Log) look(ctx context.Context, told news) {
	ctx, cancel := context.WithTimeout(ctx, pollTimeout)
	defer cancel()
	if told.everything {
		l.lookAt(ctx, l.topics.all(), &l.bells.newsByBell)
		l.pollFeeds(ctx)
		return
	}
	l.lookAt(ctx, l.topics.some(told.executions), &l.bells.newsByBell)
	for tenant := range told.tenants {
		l.feeds.ring(tenant)
	}
}

// heard tells whether bell rang before ctx ended.
func heard(ctx context.Context, bell <-chan struct{}) bool {
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
