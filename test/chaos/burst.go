//go:build linux

package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// burst has hundreds of commands approved at one moment, at the default lease. As many run at once as the server runs, the others wait
// for them: all of them end completed, the server keeps its lease, and nobody is asked what became of a command.
func burst(r *run) {
	for _, s := range []setup{{name: "sqlite"}, {name: "postgres", postgres: true}} {
		s.live = r.cycles
		s.env = map[string]string{"SIGNOFF_LEASE_SECONDS": "10"}
		s.plan = func(key string, _ *dice) plan {
			return plan{Key: key, Calls: 1, Pieces: 1, Run: 200 * time.Millisecond}
		}
		w := newWorld(r, s)
		w.atOnce()
		w.close()
	}
	for range r.cycles {
		r.cycled()
	}
}

// atOnce holds all decisions back until every command has been asked for.
func (w *world) atOnce() {
	var asking sync.WaitGroup
	asking.Add(w.load.size)
	w.load.people = func(t *track, asked question) {
		if asked.Kind == "toolCall" {
			asking.Done()
			asking.Wait()
		}
		t.decide(t.dice.own(), asked, approve)
	}
	w.load.enough.Store(true) // each slot creates one
	for range w.load.size {
		d := w.run.dice.own()
		w.load.slots.Go(func() { w.load.one(d) })
	}
	asking.Wait()
	approved := time.Now()
	w.load.settle(10 * time.Minute)
	w.run.took(fmt.Sprintf("%s: %d commands", w.name, w.load.size), time.Since(approved))
	w.check()
	for _, t := range w.load.all() {
		w.ranOnce(t)
	}
	w.keptItsLease(w.servers[0])
}

// ranOnce checks that an execution came to a good end, and that its command started once and succeeded.
func (w *world) ranOnce(t *track) {
	seen := map[string]int{}
	for _, e := range t.seen {
		seen[e.Type]++
		var asked question
		if e.Type == "approval.requested" && e.Into(&asked) == nil && asked.Kind != "toolCall" {
			w.run.violate("%s: %s was asked about as %s", w.name, t.id, asked.Kind)
		}
		var done struct{ Outcome string }
		if e.Type == "toolCall.completed" && e.Into(&done) == nil && done.Outcome != "succeeded" {
			w.run.violate("%s: the command of %s is %s", w.name, t.id, done.Outcome)
		}
	}
	w.run.expect(seen["toolCall.started"] == 1 && seen["execution.completed"] == 1,
		"%s: %s has %d starts and %d good ends", w.name, t.id, seen["toolCall.started"], seen["execution.completed"])
}

func (w *world) keptItsLease(s *server) {
	log, err := os.ReadFile(filepath.Join(s.home, "log"))
	w.run.must(err)
	for _, sign := range []string{"lease lost", "session abandoned"} {
		n := bytes.Count(log, []byte(sign))
		w.run.expect(n == 0, "%s: the server says %d times: %s", w.name, n, sign)
	}
}
