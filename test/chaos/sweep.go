//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"signoff/internal/failpoint"
)

// sweep has a server die at every name of package failpoint, on SQLite and on Postgres, while the reference scenario runs: the load,
// and the walks beside it. A lane is a world whose server dies at one name, starts again to die at the next, and so on; each start is
// the recovery from the death before. In the end it starts unarmed, everything comes to its end, and nothing is lost, doubled or half.
//
// What happens once in the life of a data folder, the schema and the first token, has a new world for each name.
func sweep(r *run) {
	folder, err := os.MkdirTemp(r.stage.folder, "sweep-")
	r.must(err)
	defer os.RemoveAll(folder)
	scenarios := newScenarios(reference)
	defer scenarios.close()
	s := &scene{run: r, folder: folder, stage: r.stage}
	r.stage = &stage{folder: s.stage.folder, verbose: s.stage.verbose, binary: s.build("signoff", "signoff/cmd/server", "-tags", "failpoints")}
	agent := s.build("agent", "signoff/internal/acp/acptest/agent")
	s.config = scenarios.config(r, folder, object{"scripted": object{"command": agent, "home": "private"}})
	births, rest := s.names()
	half := len(rest) / 2
	r.sideBySide(
		func() { s.lane("sqlite-1", false, rest[:half]) },
		func() { s.lane("sqlite-2", false, rest[half:]) },
		func() { s.lane("postgres-1", true, rest[:half]) },
		func() { s.lane("postgres-2", true, rest[half:]) },
		func() { s.births(births) },
	)
	s.reachedEnough(2 * (len(births) + len(rest)))
}

// missed is the name in a report for a failpoint that no try reached. On a busy machine one or two of two hundred are: the server had other
// things to do before it was killed all the same. More, and the sweep has gone through less than it says.
const missed, mayMiss = "names that were not reached", 50

// fewNames may be missed in the short form, too: what a busy machine does not come to differs from run to run.
const fewNames = 4

// idle is the name in a report for a missed failpoint whose server ended in order, with nothing to hand off. One server may have nothing in all its
// tries. A sweep has four such deaths: a server that never hands off would pass as few among many.
const idle, mayIdle = "servers with nothing to hand off", 1

func (s *scene) reachedEnough(names int) {
	s.run.mu.Lock()
	n, idled := s.run.counts[missed], s.run.counts[idle]
	s.run.mu.Unlock()
	s.run.expect(n <= max(fewNames, names/mayMiss), "the scenario did not come to %d of %d names", n, names)
	s.run.expect(idled <= mayIdle, "%d stopping servers handed nothing off", idled)
}

// scene is shared by the lanes of a sweep.
type scene struct {
	run    *run
	stage  *stage // of the campaign; the run has one with another binary
	folder string
	config string
}

func (s *scene) build(name, of string, flags ...string) string {
	path := filepath.Join(s.folder, name)
	command := exec.Command("go", append(append([]string{"build", "-trimpath", "-o", path}, flags...), of)...)
	command.Env = append(command.Environ(), "CGO_ENABLED=0")
	if output, err := command.CombinedOutput(); err != nil {
		s.run.must(fmt.Errorf("cannot build %s: %w\n%s", of, err, output))
	}
	return path
}

// names are all names in an order of this seed, no more than the given cycles: those of a first start, and the rest. The short form has some of
// them, other ones for each seed, and always those of delegation, where two logs change at once.
func (s *scene) names() (births, rest []failpoint.Name) {
	all := failpoint.All()
	d := s.run.dice.own()
	for i := range all {
		j := d.below(i + 1)
		all[i], all[j] = all[j], all[i]
	}
	slices.SortStableFunc(all, func(a, b failpoint.Name) int { return first(a) - first(b) })
	for _, name := range all[:min(len(all), max(1, s.run.cycles/2))] {
		if area, _, _ := strings.Cut(name.Event(), "."); area == "migrate" || area == "keys" {
			births = append(births, name)
		} else {
			rest = append(rest, name)
		}
	}
	return births, rest
}

func first(name failpoint.Name) int {
	if area, _, _ := strings.Cut(name.Event(), "."); area == "delegate" {
		return 0
	}
	return 1
}

// setup is a world of this scene.
func (s *scene) setup(name string, postgres bool) setup {
	made := setup{name: name, live: 6, env: map[string]string{
		"SIGNOFF_LEASE_SECONDS": "1", "SIGNOFF_CONFIG": s.config,
	}}
	if postgres {
		var err error
		made.database, err = s.stage.postgres.database()
		s.run.must(err)
	}
	return made
}

const armed, reachedLog = "SIGNOFF_TEST_FAILPOINT", "SIGNOFF_TEST_FAILPOINT_LOG"

// orderly are the names that a stopping server reaches.
var orderly = []failpoint.Name{
	failpoint.BeforeDrain, failpoint.AfterDrain, failpoint.BeforeHandOff, failpoint.BeforeSessionRelease,
	failpoint.BeforeRelease, failpoint.AfterRelease,
}

// handingOff are those of them that only a server with live executions reaches. On a busy machine all of them may have ended before the stop: it has
// happened once.
var handingOff = []failpoint.Name{failpoint.BeforeHandOff, failpoint.BeforeSessionRelease}

// unreached are names that the scenario does not come to on purpose, each with the reason.
var unreached = map[failpoint.Name]string{
	failpoint.BeforeReleaseExecution: "a server releases a single execution only where it owns one that it cannot drive: the answer to its claim was lost",
	failpoint.AfterReleaseExecution:  "as the one before",
	failpoint.BeforeMCPCall:          "the executions of this campaign use no MCP server; TestKills of test/mcp goes through both",
	failpoint.AfterMCPCall:           "as the one before",
}

// ofPostgres are the names that SQLite does not reach: it writes the text of an agent step by step.
var ofPostgres = []failpoint.Name{failpoint.BeforePlainCommit, failpoint.AfterPlainCommit}

// lane goes through some names with one server.
func (s *scene) lane(name string, postgres bool, names []failpoint.Name) {
	w := newStillWorld(s.run, s.setup(name, postgres))
	defer w.close()
	w.startAll()
	d := s.run.dice.own()
	w.load.start()
	walks := w.walkAll()
	defer walks.abandon()
	server := w.servers[0]
	w.load.awaitLive(3)
	s.run.must(server.kill())
	for _, name := range names {
		if !postgres && slices.Contains(ofPostgres, name) {
			continue
		}
		for n := range depths(name) {
			w.diesAt(name, n+1, d)
			s.run.cycled()
		}
	}
	server.set(armed, "")
	server.start()
	walks.enough.Store(true)
	w.load.settle(comeBack)
	walks.settle(comeBack)
	w.check()
}

const (
	// reachedWithin is how long the scenario may take to come to a name. On the way of a server that is told to stop the drain comes
	// first, which takes five seconds.
	reachedWithin = 20 * time.Second
	// passedWithin is how long it may take to pass it as often as is wanted.
	passedWithin = 6 * time.Second
	// often is how many times some names are passed in a second. They die at any of the first so many.
	often = 40
)

// depths is the number of executions of a tree that pass a name one after the other: the root delegates, and so does its child.
func depths(name failpoint.Name) int {
	if area, _, _ := strings.Cut(name.Event(), "."); area == "delegate" {
		return 2
	}
	return 1
}

// diesAt starts the server with a name and has it die there when it comes to it for the nth time.
func (w *world) diesAt(name failpoint.Name, n int, d *dice) {
	s := w.servers[0]
	log := filepath.Join(s.home, "reached")
	_ = os.Remove(log)
	again, after := 2, 5
	if area, _, _ := strings.Cut(name.Event(), "."); area == "store" || area == "log" {
		n += d.below(often)
	}
	s.set(reachedLog, log)
	s.set(armed, fmt.Sprintf("%s:%d", name, n))
	w.run.logf("%s dies at %s:%d", s.name, name, n)
	w.live(name, log, d, false)
	for {
		switch {
		case s.gaveUp() && after > 0: // says nothing about the name, and takes none of its tries
			after--
		case !s.gaveUp() && !w.reached(name, log) && again > 0:
			again--
		default:
			w.died(name, log)
			return
		}
		w.run.count("second tries", 1)
		_ = s.kill() // it may have ended by itself
		w.live(name, log, d, true)
	}
}

// gaveUp reports whether the server ended by itself: its first renewal or its last calls took too long on a busy machine.
func (s *server) gaveUp() bool { return s.isGone() && s.running().End().ExitCode() == 1 }

// reached reports whether the armed server came to its name. Some names lie on the way back from a death in some moment, and the
// death before this one may have been in another.
func (w *world) reached(name failpoint.Name, log string) bool {
	content, _ := os.ReadFile(log)
	_, excused := unreached[name]
	return excused || slices.Contains(strings.Fields(string(content)), string(name))
}

// live is the life of an armed server. Who is told to stop in its first moments may have nothing to hand over on a busy machine: working
// waits until it has.
func (w *world) live(name failpoint.Name, log string, d *dice, working bool) {
	s := w.servers[0]
	w.run.must(s.launch())
	// Many die before they are ready. The others have their time from then on: how long a start takes is up to the machine.
	if s.ready(60*time.Second) == nil && slices.Contains(orderly, name) {
		if working {
			w.load.awaitProgress()
		}
		w.run.sleep(d.between(100*time.Millisecond, 600*time.Millisecond))
		_ = s.signal(syscall.SIGTERM) // it may have died meanwhile
	}
	begun, look := time.Now(), time.NewTicker(100*time.Millisecond)
	defer look.Stop()
	for took := time.Duration(0); took < passedWithin || took < reachedWithin && !w.reached(name, log); took = time.Since(begun) {
		select {
		case <-s.running().Exited():
			return
		case <-look.C:
		case <-w.run.ctx.Done():
			return
		}
	}
}

// died looks how the server ended. One that passes a name too seldom for the wanted count is killed elsewhere, and so is one whose
// name the scenario is not expected to come to. One that had nothing to hand over, in none of its tries, has missed the name.
func (w *world) died(name failpoint.Name, log string) {
	s := w.servers[0]
	passed := w.reached(name, log)
	switch {
	case s.isGone() && s.running().End().Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL && passed:
		w.run.count("deaths", 1)
	case s.isGone() && s.running().End().Success() && slices.Contains(handingOff, name) && !passed:
		w.run.count(idle, 1)
		w.miss(name)
	case s.isGone():
		w.run.violate("%s: the server that was to die at %s ended with %s", w.name, name, s.running().End())
	case passed:
		w.run.count("deaths elsewhere", 1)
		_ = s.kill()
	default:
		w.miss(name)
		_ = s.kill() // it may have died meanwhile
	}
	w.run.logf("%s has died at %s", s.name, name)
}

// miss counts a name that no try came to.
func (w *world) miss(name failpoint.Name) {
	w.run.count(missed, 1)
	fmt.Fprintf(os.Stderr, "%s: the scenario did not come to %s\n", w.name, name)
}

func (s *server) isGone() bool { return !s.running().Running() }

// births has first starts die, on both engines, and looks whether the second one makes a whole server of what is there.
func (s *scene) births(names []failpoint.Name) {
	d := s.run.dice.own()
	for _, name := range names {
		for _, postgres := range []bool{false, true} {
			s.birth(name, postgres, d)
			s.run.cycled()
		}
	}
}

func (s *scene) birth(name failpoint.Name, postgres bool, d *dice) {
	w := newStillWorld(s.run, s.setup(fmt.Sprintf("birth-%s-%v", name, postgres), postgres))
	defer w.close()
	w.diesAt(name, 1, d)
	w.servers[0].set(armed, "")
	w.startAll()
	w.load.enough.Store(true) // each slot creates one
	for range 2 {
		own := d.own()
		w.load.slots.Go(func() { w.load.one(own) })
	}
	w.load.settle(120 * time.Second)
	w.check()
}
