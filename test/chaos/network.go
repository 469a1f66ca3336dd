//go:build linux

package main

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"signoff/test/chaos/faultproxy"
	"signoff/test/harness"
)

// wires is a world of two replicas whose every connection goes through a proxy: each has one to Postgres, and its clients have
// one to it.
type wires struct {
	*world
	dice     *dice
	watch    *watch
	database []*faultproxy.Proxy // by server
	clients  []*faultproxy.Proxy
	// isolations are those that found a lasting tool at work, inTime those of them that had no tool left at the first look.
	isolations, inTime int
}

// network breaks connections between a server and Postgres, and between clients and a server.
func network(r *run) {
	w := newWires(r)
	defer w.close()
	faults := []func(){
		w.lostCommits, w.isolated, w.brokenStreams, w.lateCommits, w.lostAnswers, w.brokenSessions, w.slowDatabase, w.lostListener,
	}
	w.load.start()
	for cycle := range r.cycles {
		w.load.awaitLive(14)
		faults[cycle%len(faults)]()
		r.cycled()
	}
	w.someInTime()
	w.load.settle(comeBack)
	w.watch.close()
	w.check()
	r.expect(r.cycles < len(faults) || w.recovered() > 0, "%s: nothing was taken over from isolated replicas", w.name)
	r.count("recoveries", w.recovered())
}

// newWires starts the servers, and starts them again with the proxies between.
func newWires(r *run) *wires {
	database, err := r.stage.postgres.database()
	r.must(err)
	w := &wires{dice: r.dice.own(), world: newWorld(r, setup{name: "postgres", database: database, replicas: 2, live: 20, plan: sometimesLong})}
	for _, s := range w.servers {
		s.stop()
		proxy, address := w.proxyTo(database, "listen signoff")
		w.database = append(w.database, proxy)
		s.set("SIGNOFF_DATABASE_URL", address)
		s.start()
		proxy, s.base = w.proxyTo(s.base, "")
		w.clients = append(w.clients, proxy)
	}
	w.watch = w.world.watch()
	return w
}

const (
	// toolsDieSoon is until no tool of a replica is left that has lost its database: the lease is 2 s. On a busy machine the supervisor
	// that kills them has been late once; one that always is breaks the promise.
	toolsDieSoon = 3500 * time.Millisecond
	// toolsDieWithin is the bound for every isolation.
	toolsDieWithin = 10 * time.Second
	// lasts is how long a long command runs for: those that have begun in the last five seconds all are still there when none may be.
	lasts = toolsDieWithin + 5*time.Second
)

// sometimesLong is the usual plan, and now and then one command that runs for longer than a lease.
func sometimesLong(key string, d *dice) plan {
	if d.below(4) == 0 {
		return plan{Key: key, Calls: 1, Pieces: 2, Run: lasts}
	}
	return usualPlan(key, d)
}

// proxyTo puts a proxy before an address, and returns the address that leads through it.
func (w *wires) proxyTo(address, mark string) (proxy *faultproxy.Proxy, through string) {
	parsed, err := url.Parse(address)
	w.run.must(err)
	proxy, err = faultproxy.New(parsed.Host, mark)
	w.run.must(err)
	parsed.Host = proxy.Addr()
	return proxy, parsed.String()
}

func (w *wires) close() {
	w.watch.close()
	w.world.close()
	for _, proxy := range slices.Concat(w.database, w.clients) {
		proxy.Close()
	}
}

// heal ends a fault. The servers must be well soon.
func (w *wires) heal(proxy *faultproxy.Proxy) {
	proxy.Heal()
	w.watch.heal(time.Now())
}

// lostCommits breaks connections under a COMMIT, right before the database gets it or right after: its sender cannot know whether it happened.
func (w *wires) lostCommits() {
	proxy := w.database[w.dice.below(2)]
	before := proxy.Fired()
	for range 12 {
		proxy.CutOn("commit\x00", w.dice.below(2) == 0)
		w.run.sleep(w.dice.between(20*time.Millisecond, 250*time.Millisecond))
	}
	w.run.count("lost commits", proxy.Fired()-before)
	w.heal(proxy)
}

// isolated takes the database away from one replica for longer than its lease. Its tools are dead by then, and another replica recovers its
// executions.
func (w *wires) isolated() {
	which := w.dice.below(2)
	proxy, s := w.database[which], w.servers[which]
	w.run.await(10*time.Second, func() bool { return lasting(s.tools()) })
	before := s.tools()
	w.run.count("tools of isolated replicas", len(before))
	proxy.Swallow(faultproxy.Both)
	swallowed := time.Now()
	w.run.sleep(toolsDieSoon)
	left := s.tools()
	if lasting(before) {
		w.isolations++
		if len(left) == 0 {
			w.inTime++
		}
	}
	w.run.await(toolsDieWithin-toolsDieSoon, func() bool {
		left = s.tools()
		return len(left) == 0
	})
	w.run.took("isolated to no tool left, 3.5 s at least", time.Since(swallowed))
	w.run.expect(len(left) == 0, "%s: I5: %s after the last word from its database, whose lease is 2 s, %s still runs %q", w.name, toolsDieWithin, s.name, left)
	w.run.sleep(w.dice.between(0, 1500*time.Millisecond))
	w.heal(proxy)
}

// someInTime looks whether the tools of isolated replicas were ever dead as soon as they are to be. A short run has one isolation, and
// a machine that was busy just then is no broken promise: where none was in time there are more, up to three.
func (w *wires) someInTime() {
	for w.inTime == 0 && w.isolations > 0 && w.isolations < 3 {
		before := w.isolations
		w.load.awaitLive(14)
		w.isolated()
		if w.isolations == before {
			break // nothing long ran
		}
	}
	w.run.count("isolated replicas with lasting tools", w.isolations)
	w.run.count("isolated replicas whose tools died in time", w.inTime)
	w.run.expect(w.isolations == 0 || w.inTime > 0, "%s: I5: in each of %d isolations, tools still ran %s after the last word from the database, whose lease is 2 s",
		w.name, w.isolations, toolsDieSoon)
}

// lasting reports whether a long one is among commands. The others end by themselves before anybody looks.
func lasting(commands []string) bool {
	long := " " + strconv.FormatInt(lasts.Milliseconds(), 10)
	return slices.ContainsFunc(commands, func(command string) bool { return strings.HasSuffix(strings.TrimSpace(command), long) })
}

// lateCommits holds the bytes of a replica back until its lease is long over. Then all of them arrive at once, with commits of a server that
// drives nothing any more.
func (w *wires) lateCommits() {
	proxy := w.database[w.dice.below(2)]
	proxy.Hold(faultproxy.ToServer)
	w.run.sleep(w.dice.between(3*time.Second, 4500*time.Millisecond))
	w.heal(proxy)
}

// lostAnswers lets a replica write and hear nothing.
func (w *wires) lostAnswers() {
	proxy := w.database[w.dice.below(2)]
	proxy.Swallow(faultproxy.ToClient)
	w.run.sleep(w.dice.between(500*time.Millisecond, 4*time.Second))
	w.heal(proxy)
}

// brokenSessions breaks the connections of a replica with its database in several ways, at any byte.
func (w *wires) brokenSessions() {
	proxy := w.database[w.dice.below(2)]
	w.broken(proxy)
	w.heal(proxy)
}

// brokenStreams breaks the connections of clients with a replica: answers never come, and streams end in the middle of a frame.
func (w *wires) brokenStreams() {
	proxy := w.clients[w.dice.below(2)]
	w.broken(proxy)
	proxy.Swallow(faultproxy.Both)
	w.run.sleep(w.dice.between(100*time.Millisecond, time.Second))
	w.heal(proxy)
}

func (w *wires) broken(proxy *faultproxy.Proxy) {
	for range 15 {
		way := []faultproxy.Direction{faultproxy.ToServer, faultproxy.ToClient}[w.dice.below(2)]
		switch w.dice.below(4) {
		case 0:
			proxy.Reset()
		case 1:
			proxy.HalfClose(way)
		case 2:
			proxy.Hold(way)
			w.run.sleep(w.dice.between(10*time.Millisecond, 300*time.Millisecond))
			proxy.Heal()
		default:
			proxy.CutAfter(int64(w.dice.below(20_000)), way)
		}
		w.run.count("broken connections", 1)
		w.run.sleep(w.dice.between(10*time.Millisecond, 150*time.Millisecond))
	}
}

// slowDatabase has each packet between a replica and its database take a while.
func (w *wires) slowDatabase() {
	proxy := w.database[w.dice.below(2)]
	proxy.Delay(w.dice.between(5*time.Millisecond, 40*time.Millisecond))
	w.run.sleep(2 * time.Second)
	w.heal(proxy)
}

// set changes a setting, for the next start.
func (s *server) set(name, value string) {
	s.env = append(slices.DeleteFunc(slices.Clone(s.env), func(entry string) bool { return strings.HasPrefix(entry, name+"=") }), name+"="+value)
}

// tools are the commands of executions that run below a server.
func (s *server) tools() (found []string) {
	for _, p := range harness.Below(s.running().PID()) {
		if strings.HasPrefix(p.Command, "./"+effectName+" ") {
			found = append(found, p.Command)
		}
	}
	return found
}
