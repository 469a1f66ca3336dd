//go:build linux

package main

import (
	"sync"
	"time"
)

// racing is how many decide one approval at the same moment; beside them, some only look.
const (
	racing  = 32
	looking = 8
)

// deciders are rounds of 32 people who decide one approval at the same moment on two replicas: some approve, some deny, some
// approve something else. A register that takes one value must explain all answers.
func deciders(r *run) {
	w := newWorld(r, setup{name: "postgres", postgres: true, replicas: 2, people: race, plan: func(key string, d *dice) plan {
		return plan{Key: key, Calls: 1, Pieces: 1, Run: 5 * time.Millisecond}
	}})
	defer w.close()
	rounds := make(chan struct{}, r.cycles)
	for range r.cycles {
		rounds <- struct{}{}
	}
	close(rounds)
	var lanes sync.WaitGroup
	for range 3 {
		d := r.dice.own()
		lanes.Go(func() {
			for range rounds {
				if w.load.one(d).raced() {
					r.cycled()
				}
			}
		})
	}
	lanes.Wait()
	w.load.settle(30 * time.Second)
	w.check()
}

// race lets everybody go at once, on both replicas.
func race(t *track, asked question) {
	ready, all := make(chan struct{}), sync.WaitGroup{}
	for i := range racing {
		d, s := t.dice.own(), t.load.w.servers[i%len(t.load.w.servers)]
		value := []string{approve, deny, edited(asked, "editeda"), edited(asked, "editedb")}[i/2%4]
		all.Go(func() {
			<-ready
			t.raceOn(s, asked, value)
			t.look(d, asked)
		})
	}
	for range looking {
		d := t.dice.own()
		all.Go(func() {
			<-ready
			t.look(d, asked)
		})
	}
	close(ready)
	all.Wait()
}

// raceOn is one decision, without a second try.
func (t *track) raceOn(s *server, asked question, value string) {
	o, unanswered := t.try(s, asked, value)
	t.keep(asked, o)
	t.load.w.run.operation(!unanswered)
	if o.found == conflict {
		t.load.w.run.took("answer to a loser", time.Duration(o.ret-o.call))
	}
}

// raced reports whether the round has had its race.
func (t *track) raced() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.decisions) == 1
}
