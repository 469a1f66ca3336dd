//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"
)

// director decides which block runs when.
type director struct {
	options options
	stage   *stage
	results *results
	blocks  []block
	begun   time.Time
	mu      sync.Mutex
	seeds   int64
	running map[string]int // cycles that are on their way
	failed  error          // the results cannot be written
}

// short runs every block once: those that measure times alone, the others side by side.
func (d *director) short(ctx context.Context) {
	waiting := make(chan block, len(d.blocks))
	for _, b := range d.blocks {
		if !b.alone {
			waiting <- b
		}
	}
	close(waiting)
	d.lanes(func() {
		for b := range waiting {
			d.play(ctx, b, b.short)
		}
	})
	for _, b := range d.blocks {
		if b.alone {
			d.play(ctx, b, b.short)
		}
	}
}

// long runs, until the time is up, whatever is furthest from its goal on this commit. So a campaign that was stopped goes on
// where it ended. What measures times comes first, once, while nothing else runs.
func (d *director) long(ctx context.Context) {
	until := d.begun.Add(time.Duration(d.options.minutes * float64(time.Minute)))
	for _, b := range d.blocks {
		if b.alone && time.Now().Before(until) {
			d.play(ctx, b, b.long)
		}
	}
	d.lanes(func() {
		for ctx.Err() == nil && time.Now().Before(until) {
			b, found := d.next()
			if !found {
				return
			}
			d.play(ctx, b, b.long)
		}
	})
}

// lanes runs a loop as often as blocks may run side by side.
func (d *director) lanes(loop func()) {
	var lanes sync.WaitGroup
	for range d.options.beside {
		lanes.Go(loop)
	}
	lanes.Wait()
}

// next is the block that is furthest from its goal, counting the cycles that are running.
func (d *director) next() (furthest block, found bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	least := 0.0
	for _, b := range d.blocks {
		if b.alone {
			continue
		}
		share := float64(d.results.reached(b.name)+d.running[b.name]) / float64(b.goal)
		if !found || share < least {
			furthest, least, found = b, share, true
		}
	}
	return furthest, found
}

// play runs a block with a new seed, or the given one, and writes its result down.
func (d *director) play(ctx context.Context, b block, cycles int) {
	if ctx.Err() != nil {
		return
	}
	if d.options.cycles > 0 {
		cycles = d.options.cycles
	}
	r := newRun(ctx, d.stage, b, d.seed(), cycles)
	r.long = d.options.form == "long"
	d.onItsWay(b.name, cycles)
	defer d.onItsWay(b.name, -cycles)
	fmt.Fprintf(os.Stderr, "== %s: %d cycles, seed %d\n", b.name, cycles, r.seed)
	line := r.play()
	if ctx.Err() != nil {
		return // an interrupted run proves nothing
	}
	fmt.Fprintf(os.Stderr, "   %s: %s\n", b.name, line)
	if err := d.results.add(line); err != nil {
		d.mu.Lock()
		d.failed = errors.Join(d.failed, err)
		d.mu.Unlock()
	}
}

func (d *director) onItsWay(name string, cycles int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.running == nil {
		d.running = map[string]int{}
	}
	d.running[name] += cycles
}

func (d *director) seed() int64 {
	if d.options.seed != 0 {
		return d.options.seed
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.seeds++
	return d.begun.UnixMicro()%1_000_000_000*100 + d.seeds%100
}

func (r result) String() string {
	text := fmt.Sprintf("%d cycles, %d operations (%.1f %% succeeded), %d checks, %d violations, %.1f s", r.Cycles, r.Operations,
		100*float64(r.Succeeded)/max(1, float64(r.Operations)), r.Checks, len(r.Violations), r.Seconds)
	for _, what := range slices.Sorted(maps.Keys(r.Counts)) {
		text += fmt.Sprintf("; %s %d", what, r.Counts[what])
	}
	for _, what := range slices.Sorted(maps.Keys(r.WorstMs)) {
		text += fmt.Sprintf("; worst %s %d ms", what, r.WorstMs[what])
	}
	return text
}

// sum prints the results of this process and of the commit. It fails if a promise was broken, or if too little succeeded to prove anything.
func (d *director) sum(w io.Writer) error {
	fresh := d.results.lines[len(d.results.lines)-d.results.fresh:]
	d.table(w)
	var operations, cycles, checks, succeeded int
	var wrong []string
	for _, line := range fresh {
		operations, succeeded = operations+line.Operations, succeeded+line.Succeeded
		cycles, checks = cycles+line.Cycles, checks+line.Checks
		again := fmt.Sprintf("-seed %d -block %s", line.Seed, line.Block)
		if len(line.Violations) > 0 {
			wrong = append(wrong, fmt.Sprintf("%s: %d violations, the first: %s", again, len(line.Violations), line.Violations[0]))
		}
		if !line.enough() {
			wrong = append(wrong, fmt.Sprintf("%s: only %d of %d operations succeeded", again, line.Succeeded, line.Operations))
		}
	}
	fmt.Fprintf(w, "chaos: %d operations (%d succeeded), %d cycles, %d checks, %d failures, %s\n", operations, succeeded, cycles, checks,
		len(wrong), time.Since(d.begun).Round(time.Second))
	if len(fresh) == 0 {
		wrong = append(wrong, "no block has come to its end")
	}
	if len(wrong) > 0 {
		return errors.Join(d.failed, errors.New(strings.Join(wrong, "\n")))
	}
	return d.failed
}

// table shows the results of this commit, also those of earlier runs.
func (d *director) table(w io.Writer) {
	fmt.Fprintf(w, "commit %s on %s\n", d.results.commit, d.results.machine)
	columns := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(columns, "block\tcycle\treached\tgoal\toperations\tsucceeded\tchecks\tgiven up\tfailed goes")
	for _, b := range d.blocks {
		var operations, succeeded, checks, lost, failed int
		for _, line := range d.results.lines {
			if line.Block != b.name {
				continue
			}
			operations, succeeded, checks = operations+line.Operations, succeeded+line.Succeeded, checks+line.Checks
			lost += line.Counts[givenUp]
			if !line.well() {
				failed++
			}
		}
		fmt.Fprintf(columns, "%s\t%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\n", b.name, b.cycle, d.results.reached(b.name), b.goal, operations, succeeded, checks, lost, failed)
	}
	_ = columns.Flush()
}
