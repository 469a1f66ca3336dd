//go:build linux

package main

import (
	"time"
)

// outages of a go, which are gone through as often as there are cycles. The seconds are few enough for the short form; the ten minutes are longer than
// the timeoutSeconds of an execution.
var (
	shortOutages = []outage{{5 * time.Second, hangsUp}, {40 * time.Second, tooOften}, {5 * time.Second, busy}, {40 * time.Second, busy}}
	longOutages  = []outage{
		{5 * time.Second, hangsUp}, {time.Minute, busy}, {10 * time.Minute, tooOften}, {5 * time.Second, tooOften},
		{10 * time.Minute, hangsUp}, {time.Minute, tooOften}, {time.Minute, hangsUp}, {10 * time.Minute, busy},
	}
)

// provider takes the provider of the model away under load, and kills a server meanwhile: the time of a repetition must outlive it. Nothing is
// given up: every execution is completed.
func provider(r *run) {
	half := r.cycles / 2
	r.sideBySide(
		func() { r.absences(setup{name: "sqlite"}, 0, half) },
		func() { r.absences(setup{name: "postgres", postgres: true, replicas: 2}, half, r.cycles) },
	)
}

// absences goes through the outages from one number to another.
func (r *run) absences(s setup, from, to int) {
	d := r.dice.own()
	outages := shortOutages
	if r.long {
		outages = longOutages
	}
	w := newWorld(r, s)
	defer w.close()
	w.load.start()
	for cycle := from; cycle < to; cycle++ {
		w.load.awaitLive(20)
		r.sleep(d.between(100*time.Millisecond, time.Second))
		o := outages[cycle%len(outages)]
		back := time.Now().Add(o.lasts)
		w.model.goAway(o)
		r.sleep(d.between(o.lasts/4, o.lasts/2))
		w.any(d).restart()
		r.sleep(time.Until(back))
		r.await(time.Minute, w.model.noticed) // on a busy machine nobody may have asked in five seconds, and the cycle would prove nothing
		turnedAway := int(w.model.away.Swap(nil).turnedAway.Load())
		r.count("requests turned away: "+string(o.how), turnedAway)
		r.expect(turnedAway > 0, "%s: nobody has noticed that the provider was away for %s", w.name, o.lasts)
		r.cycled()
	}
	back := time.Now()
	w.load.settle(5 * time.Minute) // waits have grown to a minute, and chance adds to Retry-After
	r.took(s.name+": provider back to the last end", time.Since(back))
	w.check()
}
