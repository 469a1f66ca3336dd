package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// phases are the moments at which a script given on the command line may have steps. The names of all but the first
// and the last are answers: the steps run before the answer, those `after` it behind it.
var phases = []string{
	"start", "initialize", "authenticate", "new", "load", "resume", "prompt", "mode", "config", "model", "eof",
}

// script holds the steps by phase.
type script struct{ before, after map[string][]*step }

func newScript() *script { return &script{before: map[string][]*step{}, after: map[string][]*step{}} }

func (s *script) String() string { return "" } // for the flag package

// Set reads a script from a file, or from the value itself where no file has that name. It may be given repeatedly.
func (s *script) Set(value string) error {
	if content, err := os.ReadFile(value); err == nil {
		value = string(content)
	}
	for line := range strings.Lines(value) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if err := s.add(line); err != nil {
			return err
		}
	}
	return nil
}

// add reads a line such as `new: crash 3` or `after load: say more`.
func (s *script) add(line string) error {
	phase, text, _ := strings.Cut(line, ":")
	phase, after := strings.CutPrefix(strings.TrimSpace(phase), "after ")
	if !slices.Contains(phases, phase) {
		return fmt.Errorf("%q does not begin with a phase, one of %s", line, strings.Join(phases, ", "))
	}
	parsed, err := parse(text)
	if err != nil {
		return err
	}
	list := s.before
	if after {
		list = s.after
	}
	list[phase] = append(list[phase], parsed)
	return nil
}
