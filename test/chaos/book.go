package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// result is what came of one go of a block: a line of the results file.
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

// enough tells whether so many operations succeeded that the absence of violations means something.
func (r result) enough() bool { return r.Operations > 0 && r.Succeeded*5 >= r.Operations*4 }

// well is a line that counts towards a goal.
func (r result) well() bool { return len(r.Violations) == 0 && r.enough() }

// book is the results file. What stands in it of this commit counts as reached.
type book struct {
	mu      sync.Mutex
	file    *os.File
	commit  string
	machine string
	results []result // of this commit
	fresh   int      // how many of them this process has added, at the end
}

func openBook(path, commit, machine string) (*book, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return nil, err
	}
	b := &book{commit: commit, machine: machine}
	if err := b.read(path); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	b.file = file
	return b, err
}

func (b *book) read(path string) error {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var line result
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			continue // the last line of a campaign that was killed
		}
		if line.Commit == b.commit {
			b.results = append(b.results, line)
		}
	}
	return lines.Err()
}

// add writes a line down. It is on disk when add returns.
func (b *book) add(line result) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	line.Commit, line.Machine = b.commit, b.machine
	if line.Violations == nil {
		line.Violations = []string{}
	}
	encoded, err := json.Marshal(line)
	if err != nil {
		return err
	}
	b.results = append(b.results, line)
	b.fresh++
	if _, err := b.file.Write(append(encoded, '\n')); err != nil {
		return err
	}
	return b.file.Sync()
}

// reached is the number of cycles of a block on this commit that ended well.
func (b *book) reached(block string) (cycles int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, line := range b.results {
		if line.Block == block && line.well() {
			cycles += line.Cycles
		}
	}
	return cycles
}

func (b *book) close() { _ = b.file.Close() }

// commit names what is tested. What is not committed is marked, so that nobody takes its figures for those of the commit.
func commit() string {
	head, err := exec.Command("git", "rev-parse", "--short=12", "HEAD").Output()
	if err != nil {
		return "unknown"
	}
	name := strings.TrimSpace(string(head))
	changed, err := exec.Command("git", "status", "--porcelain", "--untracked-files=no").Output()
	if err != nil || len(changed) > 0 {
		name += "+changes"
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
