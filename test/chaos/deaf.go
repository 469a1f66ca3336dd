package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"
)

const (
	// deliveredWithin holds for 99 of 100 events of another replica while its bell cannot be heard: the poll comes each second.
	// The promise is 1.5 s on a machine that has nothing else to do; here other blocks run beside, and what a delivery costs with a
	// bell, measured right before, comes on top: once that alone was 1.3 s.
	deliveredWithin = 3 * time.Second
	// deafNoLongerThan is until a replica has found out that its bell is dead, and has another one: it pings each five seconds.
	deafNoLongerThan = 30 * time.Second
	// fewest events tell something of how long events take; extra is how much longer they may take to come together.
	fewest, extra = 20, 30 * time.Second
)

// deafListener takes from a replica the one connection over which it hears the bells of others, without a word: the others go
// on. What the other replica writes is found by the poll, and the dead connection by a ping.
func (w *wires) deafListener() {
	deaf, other := w.servers[1], w.servers[0]
	proxy := w.database[1]
	before := proxy.Marked()
	w.run.expect(before > 0, "%s: %s has no LISTEN connection", w.name, deaf.name)
	if before == 0 {
		return
	}
	beside := w.delivery(other, deaf, 2*time.Second)
	w.run.took("delivery at the other replica", beside)
	proxy.SwallowMarked()
	begun := time.Now()
	late := w.delivery(other, deaf, 4*time.Second)
	w.run.took("delivery at a deaf replica", late)
	w.run.expect(late <= deliveredWithin+beside, "%s: a replica that hears no bell delivers an event in a hundred after %s, one that does after %s", w.name, late, beside)
	for proxy.Marked() == before && time.Since(begun) < deafNoLongerThan {
		w.run.sleep(50 * time.Millisecond)
	}
	w.run.took("deafness", time.Since(begun))
	w.run.expect(proxy.Marked() > before, "%s: a replica has not noticed for %s that its LISTEN connection is dead", w.name, time.Since(begun))
	w.heal(proxy)
}

// delivery creates executions on one replica, follows them on another, and returns how long all but one of a hundred events took
// at most.
func (w *wires) delivery(from, to *server, lasting time.Duration) time.Duration {
	ctx, cancel := context.WithTimeout(w.run.ctx, lasting+extra+deliveredWithin)
	defer cancel()
	var mu sync.Mutex
	var delays []time.Duration
	var followers sync.WaitGroup
	delivered := func() int {
		mu.Lock()
		defer mu.Unlock()
		return len(delays)
	}
	begun := time.Now()
	goOn := func() bool { // a busy machine takes longer to deliver enough to go by
		took := time.Since(begun)
		return took < lasting || (delivered() < fewest && took < lasting+extra)
	}
	for ; goOn(); w.run.sleep(100 * time.Millisecond) {
		key := fmt.Sprintf("delivery-%d", made.Add(1))
		a := w.ask(ctx, from, http.MethodPost, "/executions", object{"source": object{"type": "internal"}, "metadata": object{"key": key},
			"prompt": plan{Key: key, Pieces: 10, Delay: 30 * time.Millisecond}.prompt()})
		var created struct{ ID string }
		if a.status != http.StatusCreated || a.into(&created) != nil {
			continue
		}
		followers.Go(func() {
			_, _ = w.follow(ctx, to, created.ID, 0, func(e event) {
				mu.Lock()
				defer mu.Unlock()
				delays = append(delays, time.Since(e.Time))
			})
		})
	}
	followers.Wait()
	w.run.expect(len(delays) >= fewest, "%s: only %d events were delivered to a replica", w.name, len(delays))
	slices.Sort(delays)
	if len(delays) == 0 {
		return 0
	}
	return delays[len(delays)*99/100]
}
