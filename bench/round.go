package main

import (
	"context"
	"fmt"
	"os"
	"time"
)

// shortScale is what the short form divides large numbers by.
const shortScale = 4

// campaign measures what the journal lacks.
type campaign struct {
	stage   *stage
	journal *journal
	short   bool
}

// measure takes the missing rounds of one figure. A contender lives through all of them, unless each measurement needs processes of its own.
func (c *campaign) measure(ctx context.Context, f figure) error {
	live := map[string]*target{}
	defer func() {
		for _, t := range live {
			if err := t.stop(); err != nil {
				fmt.Fprintln(os.Stderr, "bench:", err)
			}
		}
	}()
	for round := range f.roundsOf(c.short) {
		if c.journal.has(f, round) {
			continue
		}
		for i := range f.contenders {
			contender := f.contenders[(i+round)%len(f.contenders)]
			if err := c.turn(ctx, f, round, contender, live); err != nil {
				return fmt.Errorf("%s of %s, round %d: %w", f.name, contender, round+1, err)
			}
		}
	}
	return nil
}

// turn is one measurement of one contender.
func (c *campaign) turn(ctx context.Context, f figure, round int, contender string, live map[string]*target) (err error) {
	if err := ctx.Err(); err != nil {
		return err
	}
	t := live[contender]
	if t == nil {
		if t, err = c.stage.start(contender, f.isolated); err != nil {
			return err
		}
		live[contender] = t
	}
	at := place{target: t, stage: c.stage, scale: 1}
	if c.short {
		at.scale = shortScale
	}
	begun := time.Now()
	values, err := f.measure(ctx, at)
	wire.CloseIdleConnections() // a connection of one measurement must not cost the next one its memory
	if f.anew || err != nil {
		delete(live, contender)
		if stopped := t.stop(); err == nil {
			err = stopped
		}
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "%-12s round %d of %d  %-8s %5.1f s  %v\n", f.name, round+1, f.roundsOf(c.short), contender, time.Since(begun).Seconds(), values)
	return c.journal.add(f, round, contender, values)
}
