//go:build linux

package main

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"

	"signoff/test/harness"
)

// result is what one go of a block found: a line of the results file.
type result struct {
	Block      string           `json:"block"`
	Seed       int64            `json:"seed"`
	Commit     string           `json:"commit"`
	Machine    string           `json:"machine"`
	Time       time.Time        `json:"time"`
	Seconds    float64          `json:"seconds"`
	Cycles     int              `json:"cycles"`
	Operations int              `json:"operations"`
	Succeeded  int              `json:"succeeded"`
	Checks     int              `json:"checks"`
	Counts     map[string]int   `json:"counts,omitempty"`
	WorstMs    map[string]int64 `json:"worstMs,omitempty"`
	Violations []string         `json:"violations"`
}

// enough reports whether enough operations succeeded for the absence of violations to mean something.
func (r result) enough() bool { return r.Operations > 0 && r.Succeeded*5 >= r.Operations*4 }

// well reports whether the result counts towards a goal.
func (r result) well() bool { return len(r.Violations) == 0 && r.enough() }

// results is the results file, as far as it is about this commit.
type results struct {
	commit  string
	machine string

	mu    sync.Mutex
	file  *harness.Results[result]
	lines []result
	fresh int // how many of them this process has added, at the end
}

func openResults(path, commit, machine string) (*results, error) {
	file, lines, err := harness.OpenResults[result](path)
	lines = slices.DeleteFunc(lines, func(line result) bool { return line.Commit != commit })
	return &results{commit: commit, machine: machine, file: file, lines: lines}, err
}

// add writes a line down.
func (r *results) add(line result) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	line.Commit, line.Machine = r.commit, r.machine
	line.Violations = append([]string{}, line.Violations...) // an empty list, and not null
	r.lines = append(r.lines, line)
	r.fresh++
	return r.file.Add(line)
}

// reached is the number of cycles of a block on this commit that ended well.
func (r *results) reached(block string) (cycles int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, line := range r.lines {
		if line.Block == block && line.well() {
			cycles += line.Cycles
		}
	}
	return cycles
}

// commit names what is tested. A tree with changes is marked, so that nobody takes its figures for those of the commit.
func commit() string {
	name, clean := harness.Commit()
	if !clean {
		name = cmp.Or(name, "unknown") + "+changes"
	}
	return name
}

// machine describes the machine by what matters for the figures.
func machine() string {
	var name syscall.Utsname
	var info syscall.Sysinfo_t
	_, _ = syscall.Uname(&name), syscall.Sysinfo(&info)
	release := make([]byte, 0, len(name.Release))
	for _, c := range name.Release {
		if c == 0 {
			break
		}
		release = append(release, byte(c))
	}
	gigabytes := (info.Totalram*uint64(info.Unit) + 1<<29) >> 30
	return fmt.Sprintf("%s/%s, %d cores, %d GB, kernel %s", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), gigabytes, release)
}
