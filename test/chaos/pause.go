//go:build linux

package main

import (
	"syscall"
	"time"
)

// pause stops servers with SIGSTOP and lets them go on, over three replicas with a lease of two seconds. A server that stood
// still for longer than its lease finds its executions with others, and must write nothing and run nothing for them; one that
// stood still for less keeps them.
func pause(r *run) {
	w := newWorld(r, setup{name: "postgres", postgres: true, replicas: 3, plan: longPlan})
	defer w.close()
	d := r.dice.own()
	w.load.start()
	w.load.awaitLive(20)
	w.hiccups(d, 3)
	for range r.cycles {
		w.load.awaitLive(20)
		w.standStill(w.any(d), d.between(2500*time.Millisecond, 4*time.Second))
		r.sleep(d.between(200*time.Millisecond, 900*time.Millisecond))
		r.cycled()
	}
	w.load.settle(comeBack)
	w.check()
	takeOvers := w.recovered()
	r.expect(takeOvers > 0, "%s: nothing was taken over in %d pauses", w.name, r.cycles)
}

// longPlan has commands that would run for longer than a lease: those of a server that stands still must not be there any more
// when another one goes on.
func longPlan(key string, d *dice) plan {
	p := usualPlan(key, d)
	if d.below(3) == 0 {
		p.Calls, p.Pieces, p.Run = 2, 1, d.between(4*time.Second, 7*time.Second)
	}
	return p
}

// standStill stops a server for a while. It returns for how long it really stood.
func (w *world) standStill(s *server, d time.Duration) time.Duration {
	begun := time.Now()
	w.run.must(s.signal(syscall.SIGSTOP))
	w.run.logf("%s stands still for %s", s.name, d)
	w.run.sleep(d)
	w.run.must(s.signal(syscall.SIGCONT))
	return time.Since(begun)
}

// hiccups are pauses well below the lease. Nothing is taken over for them, unless the machine was so busy that a renewal was late by
// itself: that has happened twice, with what had been taken over before the first pause counted, too.
func (w *world) hiccups(d *dice, n int) {
	with, conclusive := judge(func() (bool, bool) { return w.someHiccups(d, n) })
	if !conclusive {
		w.run.count("hiccups that were too long", 1)
	}
	w.run.expect(with == 0, "%s: executions were taken over for pauses shorter than the lease, in %d tries", w.name, with)
}

const hiccupTries, hiccupRepeats = 3, 5

// judge returns in how many tries executions were recovered without a reason. One of three may be an accident: after a first one, two more tries
// decide. A try with a pause that became too long proves nothing and is repeated. If that happens too often the result is not conclusive, but a
// recovery in an earlier try counts.
func judge(try func() (takeOvers, tooLong bool)) (with int, conclusive bool) {
	repeats := 0
	for done := 0; done < hiccupTries && with < 2; {
		takeOvers, tooLong := try()
		switch {
		case tooLong && repeats == hiccupRepeats:
			return with, false
		case tooLong:
			repeats++
		case takeOvers:
			with++
			done++
		case done == 0:
			return 0, true
		default:
			done++
		}
	}
	if with < 2 {
		return 0, true
	}
	return with, true
}

// someHiccups is one try. What is taken over for a pause that was too long must not count in the next one.
func (w *world) someHiccups(d *dice, n int) (takeOvers, tooLong bool) {
	before := w.recovered()
	for range n {
		if stood := w.standStill(w.any(d), 300*time.Millisecond); stood > 600*time.Millisecond {
			w.run.sleep(3 * time.Second)
			return false, true
		}
		w.run.sleep(1200 * time.Millisecond)
	}
	w.run.count("hiccups", n)
	takeOvers = w.recovered() > before
	if takeOvers {
		w.run.sleep(3 * time.Second)
	}
	return takeOvers, false
}
