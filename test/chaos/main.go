//go:build linux

package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"signoff/test/harness"
)

func main() {
	if filepath.Base(os.Args[0]) == effectName {
		os.Exit(effect(os.Args[1:]))
	}
	os.Exit(campaign(os.Args[1:]))
}

// options are the flags.
type options struct {
	blocks  string
	seed    int64
	form    string
	minutes float64
	results string
	binary  string
	beside  int
	cycles  int
	verbose bool
}

func campaign(arguments []string) int {
	o := options{}
	flags := flag.NewFlagSet("chaos", flag.ExitOnError)
	flags.StringVar(&o.blocks, "block", "", "the blocks to run, separated by commas; without it all: "+strings.Join(blockNames(), ", "))
	flags.Int64Var(&o.seed, "seed", 0, "replay a block with this seed")
	flags.StringVar(&o.form, "form", "short", "short: every block once; long: for -minutes, whatever is furthest from its goal")
	flags.Float64Var(&o.minutes, "minutes", 30, "how long the long form runs")
	flags.StringVar(&o.results, "results", ".chaos/results.jsonl", "the file that gets a line for each block")
	flags.StringVar(&o.binary, "signoff", "", "the server to run; without it, it is built")
	flags.IntVar(&o.beside, "beside", 3, "how many blocks run side by side")
	flags.IntVar(&o.cycles, "cycles", 0, "so many cycles in place of a block's own number")
	flags.BoolVar(&o.verbose, "v", false, "log each step")
	_ = flags.Parse(arguments)

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := o.run(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, "chaos:", err)
		return 1
	}
	return 0
}

func (o options) run(ctx context.Context) error {
	chosen, err := choose(o.blocks)
	if err != nil {
		return err
	}
	stage, err := newStage(o)
	if err != nil {
		return err
	}
	defer stage.close()
	results, err := openResults(o.results, commit(), machine())
	if err != nil {
		return err
	}
	defer results.file.Close()
	campaign := &director{options: o, stage: stage, results: results, blocks: chosen, begun: time.Now()}
	if o.form == "long" {
		campaign.long(ctx)
	} else {
		campaign.short(ctx)
	}
	return campaign.sum(os.Stdout)
}

// stage is shared by all blocks: the server's binary, and one Postgres for those that do not restart it.
type stage struct {
	folder   string
	binary   string
	verbose  bool
	postgres lazyCluster
}

func newStage(o options) (*stage, error) {
	folder, err := os.MkdirTemp("", "signoff-chaos-")
	if err != nil {
		return nil, err
	}
	s := &stage{folder: folder, binary: o.binary, verbose: o.verbose}
	if s.binary != "" {
		s.binary, err = filepath.Abs(s.binary)
		return s, err
	}
	s.binary = filepath.Join(folder, "signoff")
	return s, harness.Build(s.binary)
}

// knows reports whether the server has a setting: an older one is tested without settings that it would refuse. A test holds the page that lists them against the code.
func (s *stage) knows(setting string) bool {
	page, err := os.ReadFile(filepath.Join("docs", "configuration.md"))
	return err == nil && strings.Contains(string(page), "`"+setting+"`")
}

// settings are the section of every server. Executions take no checkpoints, unless their request wants them: each of them costs starts of git.
func (s *stage) settings() object {
	if !s.knows("defaultCheckpoints") {
		return object{}
	}
	return object{"defaultCheckpoints": "off"}
}

func (s *stage) close() {
	if err := s.postgres.stop(); err != nil {
		fmt.Fprintln(os.Stderr, "chaos:", err)
	}
	_ = os.Remove(filepath.Join(s.folder, "signoff"))
	_ = os.Remove(s.folder) // stays where a world with a violation was left in it
}
