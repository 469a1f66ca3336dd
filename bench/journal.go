package main

import (
	"slices"
	"time"

	"signoff/test/harness"
)

// entry is what one measurement found: a line of the results file.
type entry struct {
	Commit    string    `json:"commit"`
	Short     bool      `json:"short,omitempty"`
	Figure    string    `json:"figure"`
	Round     int       `json:"round"`
	Contender string    `json:"contender"`
	Time      time.Time `json:"time"`
	Values    sample    `json:"values"`
}

// journal is the results file, as far as it is about what is measured now.
type journal struct {
	file    *harness.Results[entry]
	commit  string
	short   bool
	entries []entry
}

func openJournal(path, commit string, short bool) (*journal, error) {
	file, all, err := harness.OpenResults[entry](path)
	other := func(e entry) bool { return e.Commit != commit || e.Short != short }
	return &journal{file: file, commit: commit, short: short, entries: slices.DeleteFunc(all, other)}, err
}

// add writes a measurement down at once: it need not be repeated.
func (j *journal) add(f figure, round int, contender string, values sample) error {
	line := entry{
		Commit: j.commit, Short: j.short, Figure: f.name, Round: round, Contender: contender, Time: time.Now().UTC(), Values: values,
	}
	j.entries = append(j.entries, line)
	return j.file.Add(line)
}

// values is what a round found of a figure.
func (j *journal) values(f figure, round int, contender string) sample {
	for _, line := range j.entries {
		if line.Figure == f.name && line.Round == round && line.Contender == contender {
			return line.Values
		}
	}
	return nil
}

// has reports whether a round of a figure is complete. An incomplete round is measured again: its ratios would compare two times.
func (j *journal) has(f figure, round int) bool {
	for _, contender := range f.contenders {
		if j.values(f, round, contender) == nil {
			return false
		}
	}
	return true
}

// found summarizes the rounds of a row, and of its ratio to the hub. Without a measurement there are no rounds.
func (j *journal) found(f figure, r row, contender string) (value, ratio finding) {
	var values, ratios []float64
	for round := range f.roundsOf(j.short) {
		of, floor := j.values(f, round, contender), j.values(f, round, hub)
		if !j.has(f, round) {
			continue
		}
		if v, measured := of[r.key]; measured {
			values = append(values, v)
			if base := floor[r.key]; base > 0 {
				ratios = append(ratios, v/base)
			}
		}
	}
	return found(values), found(ratios)
}
