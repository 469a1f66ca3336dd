// Testreport reads what `go test -json` prints and says what a person wants to know: each failure with its output,
// the slowest packages, and, alone on the last line, how many tests ran.
//
//	go test -json ./... | go run ./scripts/testreport [what else failed …]
//
// Tests and subtests count alike. A test that never ended (a panic, a timeout, a kill) and a package that failed
// without a failing test (it did not build, its TestMain failed) count as failed: nothing disappears.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
)

func main() {
	r := newReport()
	if err := r.read(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "testreport:", err)
		os.Exit(1)
	}
	elsewhere := os.Args[1:]
	r.summary(os.Stdout, elsewhere)
	if r.failed > 0 || r.total() == 0 || len(elsewhere) > 0 {
		os.Exit(1)
	}
}

// event is a line of `go test -json`; see `go doc test2json`.
type event struct {
	Action      string
	Package     string
	ImportPath  string // instead of Package, on build output
	Test        string
	Elapsed     float64
	Output      string
	FailedBuild string
}

type testID struct{ pkg, test string }

type pkgTime struct {
	name    string
	elapsed float64
}

type report struct {
	passed, failed, skipped int

	running map[testID]bool
	output  map[testID][]string // of tests that may still fail; of packages under an empty test name
	builds  map[string][]string // compiler output by import path
	red     map[string]bool     // packages with a failure that is already counted
	times   []pkgTime
}

func newReport() *report {
	return &report{
		running: map[testID]bool{},
		output:  map[testID][]string{},
		builds:  map[string][]string{},
		red:     map[string]bool{},
	}
}

func (r *report) total() int { return r.passed + r.failed + r.skipped }

// read takes in all events and writes failures and finished packages to out as they come.
func (r *report) read(in io.Reader, out io.Writer) error {
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadString('\n')
		if trimmed := strings.TrimSpace(line); trimmed != "" {
			var e event
			if !strings.HasPrefix(trimmed, "{") || json.Unmarshal([]byte(trimmed), &e) != nil {
				fmt.Fprintln(out, trimmed) // the go command itself speaks
			} else {
				r.take(e, out)
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (r *report) take(e event, out io.Writer) {
	id := testID{e.Package, e.Test}
	switch e.Action {
	case "build-output":
		r.builds[e.ImportPath] = append(r.builds[e.ImportPath], e.Output)
	case "output":
		r.output[id] = append(r.output[id], e.Output)
	case "run":
		r.running[id] = true
	case "pass", "skip", "fail":
		if e.Test == "" {
			r.endPackage(e, out)
			return
		}
		delete(r.running, id)
		switch e.Action {
		case "pass":
			r.passed++
		case "skip":
			r.skipped++
		case "fail":
			r.failed++
			r.red[e.Package] = true
			fmt.Fprintf(out, "\n── FAIL %s %s (%s)\n", e.Package, e.Test, seconds(e.Elapsed))
			r.print(out, r.output[id])
		}
		delete(r.output, id)
	}
}

// endPackage books what a package leaves behind: tests without an end, and failures that belong to no test.
func (r *report) endPackage(e event, out io.Writer) {
	var unfinished []string
	for id := range r.running {
		if id.pkg == e.Package {
			unfinished = append(unfinished, id.test)
		}
	}
	slices.Sort(unfinished)
	for _, test := range unfinished {
		id := testID{e.Package, test}
		r.failed++
		r.red[e.Package] = true
		fmt.Fprintf(out, "\n── FAIL %s %s (never ended)\n", e.Package, test)
		r.print(out, r.output[id])
		delete(r.running, id)
		delete(r.output, id)
	}
	own := testID{pkg: e.Package}
	switch {
	case e.Action == "fail" && !r.red[e.Package]:
		r.failed++
		fmt.Fprintf(out, "\n── FAIL %s (the package, not one of its tests)\n", e.Package)
		r.print(out, r.builds[e.FailedBuild])
		r.print(out, r.output[own])
	case e.Action == "fail":
		// Its failing tests have spoken. What the package said besides may hold the cause: a data race, a panic.
		r.print(out, r.output[own])
	case e.Action == "pass":
		fmt.Fprintf(out, "ok    %s (%s)\n", e.Package, seconds(e.Elapsed))
	}
	delete(r.output, own)
	if e.Elapsed > 0 {
		r.times = append(r.times, pkgTime{e.Package, e.Elapsed})
	}
}

// print leaves out the lines that only say that a test runs.
func (r *report) print(out io.Writer, lines []string) {
	for _, line := range strings.SplitAfter(strings.Join(lines, ""), "\n") {
		text := strings.TrimSpace(line)
		if text == "" || text == "FAIL" || text == "PASS" || strings.HasPrefix(text, "=== ") {
			continue
		}
		fmt.Fprintln(out, "   ", strings.TrimRight(line, "\n"))
	}
}

func (r *report) summary(out io.Writer, elsewhere []string) {
	slices.SortFunc(r.times, func(a, b pkgTime) int {
		if a.elapsed != b.elapsed {
			if a.elapsed > b.elapsed {
				return -1
			}
			return 1
		}
		return strings.Compare(a.name, b.name)
	})
	if len(r.times) > 0 {
		fmt.Fprintln(out, "\nSlowest packages:")
		for _, t := range r.times[:min(5, len(r.times))] {
			fmt.Fprintf(out, "%8s  %s\n", seconds(t.elapsed), t.name)
		}
	}
	if len(elsewhere) > 0 {
		fmt.Fprintf(out, "\nFailed besides the tests, see above: %s\n", strings.Join(elsewhere, ", "))
	}
	fmt.Fprintf(out, "\n%d passed, %d failed, %d skipped\n", r.passed, r.failed, r.skipped)
}

func seconds(s float64) string {
	return time.Duration(s * float64(time.Second)).Round(10 * time.Millisecond).String()
}
