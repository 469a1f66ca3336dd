package main

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"time"
)

// outage is a time in which the provider of the model serves nobody.
type outage struct {
	lasts time.Duration
	how   absence
}

// absence is what the server hears of a provider that is away.
type absence string

const (
	hangsUp  absence = "hangs up" // also on the answers that are under way
	busy     absence = "503"
	tooOften absence = "429 with Retry-After" // to the end of the outage
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
		victim := w.any(d)
		r.must(victim.kill())
		_, err := victim.start()
		r.must(err)
		r.sleep(time.Until(back))
		for more := time.Now().Add(time.Minute); !w.model.noticed() && time.Now().Before(more); {
			r.sleep(100 * time.Millisecond) // on a busy machine nobody may have asked in five seconds, and the cycle would prove nothing
		}
		turnedAway := w.model.comeBack()
		r.count("requests turned away: "+string(o.how), turnedAway)
		r.expect(turnedAway > 0, "%s: nobody has noticed that the provider was away for %s", w.name, o.lasts)
		r.cycled()
	}
	back := time.Now()
	w.load.settle(5 * time.Minute) // waits have grown to a minute, and chance adds to Retry-After
	r.took(s.name+": provider back to the last end", time.Since(back))
	w.check()
	w.allCompleted()
}

// allCompleted checks that no execution has come to another end than its result.
func (w *world) allCompleted() {
	for _, t := range w.load.all() {
		if t.id == "" || len(t.seen) == 0 {
			continue
		}
		last := t.seen[len(t.seen)-1]
		w.run.expect(last.Type == "execution.completed", "%s: %s was given up: %s", w.name, t.id, last.Raw)
	}
	w.completed()
}

// absent is a provider that is away. It turns requests away until the outage is over.
type absent struct {
	outage
	until      time.Time
	turnedAway atomic.Int64
}

// goAway lets the model serve nobody from now on. An outage that hangs up breaks the answers that are under way.
func (m *model) goAway(o outage) {
	m.away.Store(&absent{outage: o, until: time.Now().Add(o.lasts)})
	if o.how == hangsUp {
		m.server.CloseClientConnections()
	}
}

// noticed tells whether a request has been turned away.
func (m *model) noticed() bool { return m.away.Load().turnedAway.Load() > 0 }

// comeBack ends the outage, and tells how many requests it has turned away.
func (m *model) comeBack() int { return int(m.away.Swap(nil).turnedAway.Load()) }

// turnAway answers a request as the absence has it.
func (a *absent) turnAway(w http.ResponseWriter) {
	a.turnedAway.Add(1)
	switch a.how {
	case hangsUp:
		if connection, _, err := http.NewResponseController(w).Hijack(); err == nil {
			_ = connection.Close()
		}
	case tooOften:
		w.Header().Set("Retry-After", fmt.Sprint(1+int(time.Until(a.until)/time.Second)))
		http.Error(w, `{"error":{"message":"slow down"}}`, http.StatusTooManyRequests)
	default:
		http.Error(w, `{"error":{"message":"overloaded"}}`, http.StatusServiceUnavailable)
	}
}
