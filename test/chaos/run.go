//go:build linux

package main

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// block is one kind of fault under load.
type block struct {
	name  string
	cycle string // what one cycle is, for the table
	short int    // cycles in the short form
	long  int    // cycles of one go in the long form
	goal  int    // cycles on one commit
	alone bool   // it measures times, so nothing may run beside it
	run   func(r *run)
}

// run is one run of a block: its seed, and its results so far.
type run struct {
	block  block
	stage  *stage
	ctx    context.Context
	end    context.CancelCauseFunc // ends it, with everything that its parts wait for
	seed   int64
	cycles int  // wanted
	long   bool // the long form

	dice       dice
	done       atomic.Int64 // cycles
	operations atomic.Int64
	succeeded  atomic.Int64
	checks     atomic.Int64

	mu         sync.Mutex
	counts     map[string]int
	worst      map[string]time.Duration
	violations []string
	worlds     []*world
}

func newRun(ctx context.Context, s *stage, b block, seed int64, cycles int) *run {
	r := &run{block: b, stage: s, seed: seed, cycles: cycles, counts: map[string]int{}, worst: map[string]time.Duration{},
		dice: dice{random: rand.New(rand.NewPCG(uint64(seed), 0))}}
	r.ctx, r.end = context.WithCancelCause(ctx)
	return r
}

// dice are the random numbers of a run, for many goroutines. Which of them throws next is up to the scheduler: a seed repeats
// the plan of the faults and the mix of the load, not the interleaving.
type dice struct {
	mu     sync.Mutex
	random *rand.Rand
}

// below is a number from 0 to n-1.
func (d *dice) below(n int) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.random.IntN(n)
}

// between is a duration from least on, and shorter than most.
func (d *dice) between(least, most time.Duration) time.Duration {
	return least + time.Duration(d.below(int((most-least)/time.Microsecond)))*time.Microsecond
}

// own are separate dice: their throws do not depend on other goroutines.
func (d *dice) own() *dice {
	d.mu.Lock()
	defer d.mu.Unlock()
	return &dice{random: rand.New(rand.NewPCG(d.random.Uint64(), d.random.Uint64()))}
}

// mostViolations are kept of one run.
const mostViolations = 100

// violate records that something is not as promised. The run goes on, to find more. What was cut short breaks no promise.
func (r *run) violate(format string, arguments ...any) {
	text := fmt.Sprintf(format, arguments...)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ctx.Err() != nil || len(r.violations) == mostViolations {
		return // one cause breaks a promise at every event; nobody reads them all
	}
	r.violations = append(r.violations, text)
	fmt.Fprintf(os.Stderr, "VIOLATION %s (seed %d): %s\n", r.block.name, r.seed, text)
}

// expect counts a check, and a violation where it does not hold.
func (r *run) expect(holds bool, format string, arguments ...any) {
	r.checks.Add(1)
	if !holds {
		r.violate(format, arguments...)
	}
}

// operation counts what a client wanted, and whether it got it. That is no promise each time, but four of five must.
func (r *run) operation(succeeded bool) {
	r.operations.Add(1)
	if succeeded {
		r.succeeded.Add(1)
	}
}

// count adds to a number of the report.
func (r *run) count(what string, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts[what] += n
}

// took keeps the worst of a duration for the report.
func (r *run) took(what string, d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.worst[what] = max(r.worst[what], d)
}

// skip reports that this machine does not allow a fault.
func (r *run) skip(what string, why error) {
	fmt.Fprintf(os.Stderr, "   %s: left out on this machine: %s: %v\n", r.block.name, what, why)
	r.count("left out: "+what, 1)
	r.operation(true)
}

func (r *run) cycled() { r.done.Add(1) }

func (r *run) logf(format string, arguments ...any) {
	if r.stage.verbose {
		fmt.Fprintf(os.Stderr, "%s %s: %s\n", time.Now().Format("15:04:05.000"), r.block.name, fmt.Sprintf(format, arguments...))
	}
}

// broken is how a run ends that cannot go on.
type broken struct{ err error }

// must ends the run where the campaign itself cannot go on.
func (r *run) must(err error) {
	if err != nil {
		r.breakOff(err)
		panic(broken{err})
	}
}

// breakOff ends the run for all its parts. That is a violation, too: nobody knows what it would have found. Once a server did not
// come back, and the others of its world asked it again and again, for an hour.
func (r *run) breakOff(err error) {
	r.violate("the run broke off: %v", err)
	r.end(err)
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, w := range r.worlds {
		w.dumpStacks()
	}
}

// sleep ends the run when the campaign is interrupted.
func (r *run) sleep(d time.Duration) {
	select {
	case <-time.After(d):
	case <-r.ctx.Done():
		panic(broken{context.Cause(r.ctx)})
	}
}

// await asks every few milliseconds until something holds, or the patience is over, and reports whether it holds.
func (r *run) await(patience time.Duration, holds func() bool) bool {
	for end := time.Now().Add(patience); !holds(); r.sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}

// sideBySide runs parts of a block at once, and breaks the run where one of them breaks.
func (r *run) sideBySide(parts ...func()) {
	results := make(chan any, len(parts))
	for _, part := range parts {
		go func() {
			defer func() { results <- recover() }()
			part()
		}()
	}
	var first any
	for range parts {
		if broke := <-results; broke != nil && first == nil {
			first = broke
		}
	}
	if first != nil {
		panic(first)
	}
}

// goAtMost is when a run is ended; the longest takes twenty minutes. A hanging run must not hold up the checks after it.
const goAtMost = 25 * time.Minute

// play runs the block to its end and returns its result.
func (r *run) play() result {
	begun := time.Now()
	defer time.AfterFunc(goAtMost, func() { r.breakOff(fmt.Errorf("it has not come to its end within %s", goAtMost)) }).Stop()
	func() {
		defer r.end(nil)
		defer func() {
			broke := recover()
			if _, known := broke.(broken); broke != nil && !known {
				panic(broke)
			}
		}()
		r.block.run(r)
	}()
	r.mu.Lock()
	defer r.mu.Unlock()
	line := result{Block: r.block.name, Seed: r.seed, Cycles: int(r.done.Load()), Operations: int(r.operations.Load()),
		Succeeded: int(r.succeeded.Load()), Checks: int(r.checks.Load()), Counts: maps.Clone(r.counts), WorstMs: map[string]int64{},
		Violations: slices.Clone(r.violations), Seconds: time.Since(begun).Seconds(), Time: begun.UTC()}
	for what, d := range r.worst {
		line.WorstMs[what] = d.Milliseconds()
	}
	return line
}
