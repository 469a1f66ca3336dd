//go:build linux

package main

import "time"

const (
	killEvery  = 5 * time.Second
	longAnswer = 20 * time.Second // none is finished between two kills
	endsWithin = 10 * time.Minute // after the last kill
)

// innocent kills a server every five seconds while twenty long answers stream, of which none comes to its end in between: one server over SQLite,
// and two over Postgres of which one dies at a time. No execution is the reason, and each of them is completed ten minutes after the
// last kill at the latest.
func innocent(r *run) {
	r.sideBySide(
		func() { r.innocents(setup{name: "sqlite", live: 20, plan: answersAtLength}, (r.cycles+1)/2) },
		func() {
			r.innocents(setup{name: "postgres", postgres: true, replicas: 2, live: 20, plan: answersAtLength}, r.cycles/2)
		},
	)
}

// answersAtLength is one long answer without a call.
func answersAtLength(key string, _ *dice) plan {
	const delay = 100 * time.Millisecond
	return plan{Key: key, Pieces: int(longAnswer / delay), Delay: delay}
}

func (r *run) innocents(s setup, kills int) {
	d := r.dice.own()
	w := newWorld(r, s)
	defer w.close()
	w.load.start()
	w.load.awaitLive(s.live)
	w.load.enough.Store(true)
	due := time.Now()
	for range kills {
		due = due.Add(killEvery)
		r.sleep(time.Until(due))
		w.any(d).restart()
		r.cycled()
	}
	last := time.Now()
	w.load.settle(endsWithin)
	r.took(s.name+": last kill to the last end", time.Since(last))
	w.check()
}
