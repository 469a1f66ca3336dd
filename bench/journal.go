package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"
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
	file    *os.File
	commit  string
	short   bool
	entries []entry
}

func openJournal(path, commit string, short bool) (*journal, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return nil, err
	}
	b := &journal{commit: commit, short: short}
	if err := b.read(path); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	b.file = file
	return b, err
}

func (b *journal) read(path string) error {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var line entry
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Commit == b.commit && line.Short == b.short { // the last line of a run that was killed is no JSON
			b.entries = append(b.entries, line)
		}
	}
	return nil
}

// add writes a line down at once: what has been measured need not be measured again.
func (b *journal) add(f figure, round int, contender string, values sample) error {
	line := entry{
		Commit: b.commit, Short: b.short, Figure: f.name, Round: round, Contender: contender, Time: time.Now().UTC(), Values: values,
	}
	encoded, err := json.Marshal(line)
	if err != nil {
		return err
	}
	b.entries = append(b.entries, line)
	_, err = b.file.Write(append(encoded, '\n'))
	return err
}

// values is what a round found of a figure.
func (b *journal) values(f figure, round int, contender string) sample {
	for _, line := range b.entries {
		if line.Figure == f.name && line.Round == round && line.Contender == contender {
			return line.Values
		}
	}
	return nil
}

// has reports whether a round of a figure is there in full. A round of which a part is missing is measured anew: its ratios would be those of two times.
func (b *journal) has(f figure, round int) bool {
	for _, contender := range f.contenders {
		if b.values(f, round, contender) == nil {
			return false
		}
	}
	return true
}

// found is what the rounds found of a row, and of its ratio to the hub; of what was not measured there are no rounds.
func (b *journal) found(f figure, r row, contender string) (value, ratio finding) {
	var values, ratios []float64
	for round := range rounds(f, b.short) {
		of, floor := b.values(f, round, contender), b.values(f, round, hub)
		if !b.has(f, round) {
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
