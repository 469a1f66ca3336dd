package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"signoff/test/harness"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// run is the benchmark, or one of the programs that it starts from its own file.
func run(ctx context.Context, arguments []string) error {
	if len(arguments) > 0 {
		switch arguments[0] {
		case "model":
			return serveModel(ctx, os.Stdout)
		case hub:
			return serveHub(ctx, os.Stdout, arguments[1], slices.Contains(arguments, withIsolation))
		case "agent":
			return serveAgent(os.Stdin, os.Stdout)
		}
	}
	o, err := parse(arguments)
	if err != nil {
		return err
	}
	return o.run(ctx)
}

// options are what the command line says.
type options struct {
	short   bool
	only    string
	results string
	binary  string
	print   bool
}

func parse(arguments []string) (o options, err error) {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.BoolVar(&o.short, "short", false, "a few rounds of the figures that break most easily, the best of them against half of each goal")
	flags.StringVar(&o.only, "only", "", "the figures to measure, separated by commas: "+strings.Join(names(figures()), ", "))
	flags.StringVar(&o.results, "results", ".bench/results.jsonl", "the file that gets a line for each measurement; what it has of this commit is not measured again")
	flags.StringVar(&o.binary, "signoff", "bin/signoff", "the server")
	flags.BoolVar(&o.print, "print", false, "print the table of what has been measured, and measure nothing")
	if err := flags.Parse(arguments); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("there is no command %q", flags.Arg(0))
	}
	return o, nil
}

func (o options) run(ctx context.Context) error {
	chosen, err := o.choose()
	if err != nil {
		return err
	}
	journal, err := openJournal(o.results, commit(), o.short)
	if err != nil {
		return err
	}
	defer journal.file.Close()
	begun := time.Now()
	if !o.print {
		if err := o.measure(ctx, journal, chosen); err != nil {
			return err
		}
	}
	fmt.Printf("\nSignoff at %s, %s, %d cores, %s/%s; %s\n\n", journal.commit, time.Now().UTC().Format(time.DateOnly), runtime.NumCPU(), runtime.GOOS, runtime.GOARCH,
		time.Since(begun).Round(time.Second))
	if missed := table(os.Stdout, journal.judge(chosen)); missed > 0 {
		return fmt.Errorf("%d goals are missed by more than the run's own spread allows", missed)
	}
	return nil
}

func (o options) measure(ctx context.Context, journal *journal, chosen []figure) (err error) {
	stage, err := newStage(o.binary)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stage.close()) }()
	c := &campaign{stage: stage, journal: journal, short: o.short}
	for _, f := range chosen {
		if err := c.measure(ctx, f); err != nil {
			return err
		}
	}
	return nil
}

// figures is the order in which they are measured.
func figures() []figure {
	return slices.Concat(speedFigures(), turnFigures(), decisionFigures(), []figure{replayFigure()}, followerFigures(),
		[]figure{waitingFigure(), startFigure(), agentFigure(), checkpointFigure()})
}

// guarded are the figures of the short form.
var guarded = []string{"full64", "paced", "turns", "create", "decision", "replay", "waiting", "start", "acp", "checkpoints"}

func (o options) choose() ([]figure, error) {
	all := figures()
	wanted := names(all)
	switch {
	case o.only != "":
		wanted = strings.Split(o.only, ",")
	case o.short:
		wanted = guarded
	}
	for _, name := range wanted {
		if !slices.Contains(names(all), name) {
			return nil, fmt.Errorf("there is no figure %q; there are %s", name, strings.Join(names(all), ", "))
		}
	}
	chosen := slices.DeleteFunc(all, func(f figure) bool { return !slices.Contains(wanted, f.name) })
	if o.short {
		for i, f := range chosen {
			chosen[i].contenders = slices.DeleteFunc(slices.Clone(f.contenders), f.isIdle) // figures share their lists
		}
	}
	return chosen, nil
}

func names(all []figure) (names []string) {
	for _, f := range all {
		names = append(names, f.name)
	}
	return names
}

// commit is what is measured. A tree with changes gets a name of its own each time, because nobody knows later which changes they were.
func commit() string {
	name, clean := harness.Commit()
	if !clean {
		name = cmp.Or(name, "unknown") + " with changes at " + time.Now().UTC().Format(time.RFC3339)
	}
	return name
}
