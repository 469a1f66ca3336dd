//go:build linux

package main

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"signoff/internal/domain"
)

// load is the people and clients of a world. Each slot creates an execution, with an Idempotency-Key and as often as it takes,
// follows it from replica to replica to its end, and begins again. Whoever sees an approval on a stream decides it, sometimes
// three at once and differently. All that they see and hear is kept for the checks.
type load struct {
	w      *world
	size   int
	plan   func(key string, d *dice) plan
	people func(t *track, asked question) // decide the question, and return when they have their answers
	// creator is the server that creates; nil is any. Whoever asks once more may ask any.
	creator *server
	ctx     context.Context
	cancel  context.CancelFunc
	slots   sync.WaitGroup
	enough  atomic.Bool // create no more
	begun   time.Time

	mu     sync.Mutex
	tracks []*track
}

// track is the clients' knowledge of one execution.
type track struct {
	load  *load
	plan  plan
	id    string
	dice  *dice
	above *track // of its parent; nil: a client has created it

	mu        sync.Mutex
	created   bool
	ended     bool
	seen      []event
	log       []event                // as it was read in the end
	decisions map[string][]operation // by approval
	deciders  sync.WaitGroup
	tasks     map[string]task // that calls have delegated
	below     sync.WaitGroup  // the followers of its children
}

func newLoad(w *world, s setup) *load {
	l := &load{w: w, size: s.live, plan: s.plan, people: s.people, begun: time.Now()}
	if l.size == 0 {
		l.size = 24
	}
	if l.plan == nil {
		l.plan = usualPlan
	}
	if l.people == nil {
		l.people = crowd
	}
	l.ctx, l.cancel = context.WithCancel(w.run.ctx)
	return l
}

// usualPlan is two or three short commands with some text around them.
func usualPlan(key string, d *dice) plan {
	return plan{Key: key, Calls: 2 + d.below(2), Pieces: 3 + d.below(8), Delay: d.between(time.Millisecond, 20*time.Millisecond),
		Run: d.between(10*time.Millisecond, 800*time.Millisecond)}
}

// start fills the slots.
func (l *load) start() {
	for range l.size {
		d := l.w.run.dice.own()
		l.slots.Go(func() {
			for !l.enough.Load() && l.ctx.Err() == nil {
				l.one(d)
			}
		})
	}
}

// one takes one execution from its creation to its end.
func (l *load) one(d *dice) *track {
	t := l.newTrack(d)
	if t.create() {
		t.follow()
		t.below.Wait()
	}
	return t
}

func (l *load) newTrack(d *dice) *track {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := fmt.Sprintf("%s-%s-%d", l.w.run.block.name, l.w.name, len(l.tracks)+1)
	t := &track{load: l, plan: l.plan(key, d), dice: d, decisions: map[string][]operation{}}
	l.tracks = append(l.tracks, t)
	return t
}

// adopt follows a child from now on, as clients follow what they have created.
func (t *track) adopt(id string, its task) {
	child := &track{load: t.load, plan: plan{Key: its.Key, Tree: &its}, id: id, dice: t.dice.own(), above: t, created: true, decisions: map[string][]operation{}}
	t.load.mu.Lock()
	t.load.tracks = append(t.load.tracks, child)
	t.load.mu.Unlock()
	t.below.Go(func() {
		child.follow()
		child.below.Wait()
	})
}

// live is how many executions have been created and have not ended.
func (l *load) live() (n int) {
	for _, t := range l.all() {
		t.mu.Lock()
		if t.created && !t.ended {
			n++
		}
		t.mu.Unlock()
	}
	return n
}

func (l *load) all() []*track {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]*track(nil), l.tracks...)
}

// awaitLive waits until so many executions are live.
func (l *load) awaitLive(n int) {
	if !l.w.run.await(30*time.Second, func() bool { return l.live() >= n }) {
		l.w.run.must(fmt.Errorf("%s: only %d executions are live, not %d", l.w.name, l.live(), n))
	}
}

// awaitProgress waits until most executions have come further, or for five seconds. Without it, a slow machine has them
// killed again and again before they get anywhere, and they rest for minutes instead of being tested.
func (l *load) awaitProgress() {
	before := map[*track]int64{}
	for _, t := range l.all() {
		before[t] = t.last()
	}
	l.w.run.await(5*time.Second, func() bool {
		further := 0
		for _, t := range l.all() {
			if t.last() > before[t] {
				further++
			}
		}
		return further >= l.size*2/3
	})
}

// comeBack is for how long a block waits for the ends: an execution that was killed again and again without progress rests for up to five
// minutes before it is recovered.
const comeBack = 7 * time.Minute

// settle creates no more and waits until every execution has ended. What has not is left to the checks.
func (l *load) settle(patience time.Duration) {
	l.enough.Store(true)
	done := make(chan struct{})
	go func() {
		l.slots.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(patience):
	case <-l.w.run.ctx.Done():
	}
	l.abandon()
}

// abandon lets go of everything.
func (l *load) abandon() {
	l.enough.Store(true)
	l.cancel()
	l.slots.Wait()
}

// now is the time of a history.
func (l *load) now() int64 { return time.Since(l.begun).Nanoseconds() }

// create insists on the execution. Now and then it asks once more although it has its answer, and must get the same.
func (t *track) create() bool {
	l := t.load
	for {
		a := t.ask(t.plan.request())
		if a.status != http.StatusCreated {
			if l.ctx.Err() == nil {
				l.w.run.violate("%s: create %s: %s", l.w.name, t.plan.Key, a)
			}
			l.w.run.operation(false)
			return false
		}
		var execution struct{ ID string }
		if err := a.into(&execution); err != nil {
			l.w.run.violate("%s: create %s: %v", l.w.name, t.plan.Key, err)
			return false
		}
		again := t.id != ""
		if again && t.id != execution.ID {
			l.w.run.violate("%s: I2: the key %s has made %s and %s", l.w.name, t.plan.Key, t.id, execution.ID)
		}
		t.mu.Lock()
		t.id, t.created = execution.ID, true
		t.mu.Unlock()
		if again || t.dice.below(10) > 0 {
			l.w.run.operation(true)
			return true
		}
	}
}

// ask sends the request that creates. A creator that is busy may need more than one; it is asked as long as awaitLive waits for it.
func (t *track) ask(body object) answer {
	l := t.load
	if l.creator == nil || t.id != "" {
		return l.w.insist(l.ctx, t.dice, http.MethodPost, "/executions", body, "Idempotency-Key", t.plan.Key)
	}
	for end := time.Now().Add(30 * time.Second); ; rest(l.ctx, 100*time.Millisecond) {
		a := l.w.ask(l.ctx, l.creator, http.MethodPost, "/executions", body, "Idempotency-Key", t.plan.Key)
		if !a.again() || l.ctx.Err() != nil || time.Now().After(end) {
			return a
		}
	}
}

// follow reads the stream to its end, on whatever replica answers, and hangs up now and then to come back elsewhere.
func (t *track) follow() {
	l := t.load
	for l.ctx.Err() == nil {
		ctx, hangUp := context.WithCancel(l.ctx)
		left, before := 5+t.dice.below(200), t.last()
		done, err := l.w.follow(ctx, l.w.any(t.dice), t.id, t.last(), func(e event) {
			t.take(e)
			if left--; left == 0 {
				hangUp()
			}
		})
		hangUp()
		if done {
			break
		}
		if err != nil || t.last() == before { // a server that drains ends each stream at once
			rest(l.ctx, 50*time.Millisecond)
		}
	}
	t.deciders.Wait()
	t.mu.Lock()
	defer t.mu.Unlock()
	if n := len(t.seen); n > 0 {
		last := t.seen[n-1].Type
		t.ended = domain.EventType(last).Terminal()
		l.w.run.operation(last == string(domain.ExecutionCompletedType))
	} else {
		l.w.run.operation(false)
	}
}

// rest sleeps for a client, and less where the world is over.
func rest(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

func (t *track) last() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.seen) == 0 {
		return 0
	}
	return t.seen[len(t.seen)-1].Seq
}

// take keeps an event, and lets people answer its question.
func (t *track) take(e event) {
	t.mu.Lock()
	t.seen = append(t.seen, e)
	t.mu.Unlock()
	if t.plan.Tree != nil {
		t.followDelegation(e)
	}
	if e.Type != "approval.requested" {
		return
	}
	var asked question
	if err := e.Into(&asked); err != nil {
		t.load.w.run.violate("%s: event %d of %s: %v", t.load.w.name, e.Seq, t.id, err)
		return
	}
	t.deciders.Go(func() { t.load.people(t, asked) })
}

// crowd is one person who decides, or sometimes three who do not agree.
func crowd(t *track, asked question) {
	people := 1
	if t.dice.below(4) == 0 {
		people = 3
	}
	var all sync.WaitGroup
	for range people {
		d := t.dice.own()
		all.Go(func() {
			thinking := d.between(0, 100*time.Millisecond)
			if d.below(8) == 0 { // one person in eight takes so long that servers die meanwhile
				thinking = d.between(time.Second, 3*time.Second)
			}
			rest(t.load.ctx, thinking)
			t.decide(d, asked, choice(d, asked))
		})
	}
	all.Wait()
}
