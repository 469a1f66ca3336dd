//go:build linux

package main

import "time"

// kill is kill -9 of servers at random moments under live executions: one server over SQLite, and two over Postgres of which
// one dies at a time. Those let go after a second of what waits for a person, so that decisions wake as much as they release.
func kill(r *run) {
	r.sideBySide(
		func() { r.kills(setup{name: "sqlite", live: 22}, (r.cycles+1)/2) },
		func() {
			r.kills(setup{name: "postgres", postgres: true, replicas: 2, live: 22, env: map[string]string{"SIGNOFF_PARK_SECONDS": "1"}}, r.cycles/2)
		},
	)
}

func (r *run) kills(s setup, cycles int) {
	d := r.dice.own()
	w := newWorld(r, s)
	defer w.close()
	w.load.start()
	for range cycles {
		w.load.awaitLive(20)
		r.sleep(d.between(0, 800*time.Millisecond))
		victim := w.any(d)
		r.must(victim.kill())
		r.logf("%s is dead", victim.name)
		r.sleep(d.between(0, 300*time.Millisecond))
		r.took(s.name+": restart to ready", victim.start())
		if d.below(4) > 0 { // or it dies again while it recovers
			w.load.awaitProgress()
		}
		r.cycled()
	}
	w.load.settle(comeBack)
	w.check()
}
