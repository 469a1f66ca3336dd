//go:build linux

package main

import (
	"sync"
	"time"
)

// goesOnWithin is the promise: so long after the death of a replica at default settings another one goes on.
const goesOnWithin = 15 * time.Second

// takeover kills a replica at the default lease of ten seconds. Some of its executions are in the middle of an answer, some wait
// for a decision, which comes while nobody drives them; each goes on with the other replica.
func takeover(r *run) {
	for range r.cycles {
		w := newWorld(r, setup{name: "postgres", postgres: true, replicas: 2, live: 8, env: map[string]string{"SIGNOFF_LEASE_SECONDS": "10"},
			plan: func(key string, d *dice) plan {
				if d.below(2) == 0 {
					return plan{Key: key, Calls: 1, Pieces: 1, Run: 50 * time.Millisecond}
				}
				return plan{Key: key, Pieces: 60, Delay: 100 * time.Millisecond}
			}})
		w.diesAtDefaults()
		w.close()
		r.cycled()
	}
}

func (w *world) diesAtDefaults() {
	var dead sync.WaitGroup
	dead.Add(1)
	w.load.people = func(t *track, asked question) {
		dead.Wait()
		crowd(t, asked)
	}
	first := w.servers[0]
	w.load.creator = first
	w.load.enough.Store(true) // each slot creates one
	for range w.load.size {
		d := w.run.dice.own()
		w.load.slots.Go(func() { w.load.one(d) })
	}
	w.load.awaitLive(w.load.size)
	w.run.sleep(1500 * time.Millisecond)
	died := time.Now()
	w.run.must(first.kill())
	dead.Done()
	w.load.settle(60 * time.Second)
	first.start()
	w.check()
	for _, t := range w.load.all() {
		w.wentOn(t, died)
	}
}

// wentOn checks how long no replica drove an execution. A decision is no sign: any replica writes it at once.
func (w *world) wentOn(t *track, died time.Time) {
	for _, e := range t.seen {
		if e.Time.After(died) && (recovers(e) || e.Type == "toolCall.started") {
			after := e.Time.Sub(died)
			w.run.took("death to going on", after)
			w.run.expect(after <= goesOnWithin, "%s: nobody went on with %s for %s", w.name, t.id, after)
			return
		}
	}
	w.run.violate("%s: nobody went on with %s", w.name, t.id)
}
