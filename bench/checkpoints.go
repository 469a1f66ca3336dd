package main

import (
	"context"
	"io/fs"
	"path/filepath"
	"time"

	"signoff/internal/domain"
)

// checkpointFigure is what checkpoints of a folder with many small files cost, and how long calls wait for them. The hub takes its own
// ([hubCheckpoints]) at the same moments. No database holds a checkpoint, so one engine stands for both.
//
// The short form has a sixteenth of the files. There the starts of programs count for more, and every ratio is nearer to 1.
func checkpointFigure() figure {
	return figure{
		name: "checkpoints", about: "checkpoints of 100,000 files; the hub reads, compresses and stores them, too", contenders: []string{hub, sqlite},
		isolated: true, anew: true, measure: checkpoints, rounds: 3,
		rows: []row{
			{key: "first", title: "first checkpoint of 100,000 files", unit: "ms", reach: ofSQLite(2), stand: ofSQLite(1.3)},
			{key: "bytes", title: "its bytes on disk over those of the files", plain: true, reach: ofSQLite(3), stand: ofSQLite(0.65)},
			{key: "unchanged", title: "decision → tool start p50, behind a checkpoint, nothing changed", unit: "ms", reach: ofSQLite(2), stand: ofSQLite(1.4)},
			{key: "unchanged", title: "the same in time", unit: "ms", plain: true, reach: ofSQLite(1000), calm: true},
			{key: "changed", title: "decision → tool start p50, behind a checkpoint, one file changed", unit: "ms", reach: ofSQLite(3), stand: ofSQLite(1.6)},
			{key: "changed", title: "the same in time", unit: "ms", plain: true, reach: ofSQLite(1000), calm: true},
			{key: "write", title: "what a checkpoint adds to a call of a file tool p50", unit: "ms", plain: true, reach: ofSQLite(10), calm: true},
			{key: "record", title: "decision → checkpoint of what a file tool wrote p50", unit: "ms", reach: ofSQLite(3), stand: ofSQLite(1.6)},
		},
	}
}

func ofSQLite(goal float64) map[string]float64 { return map[string]float64{sqlite: goal} }

// Calls with a checkpoint before them and after them, and calls without.
const (
	with    = domain.CheckpointsRequired
	without = domain.CheckpointsOff
)

// checkpoints measures the first one, and then what calls of later executions wait for.
func checkpoints(ctx context.Context, at place) (sample, error) {
	share := at.scale * at.scale // the short form has no time for a quarter
	tree := at.stage.tree
	if err := tree.fill(100_000 / share); err != nil {
		return nil, err
	}
	found, err := at.firstCheckpoint(ctx)
	if err != nil {
		return nil, err
	}
	var unchanged, changed, written, bare []timing
	for range max(1, 5/share) {
		for _, next := range []struct {
			into *[]timing
			call call
		}{
			{&unchanged, call{script: asking, checkpoints: with}},
			{&changed, call{script: asking, checkpoints: with, meanwhile: tree.edit}},
			{&written, call{script: script{write: tree.newFile()}, checkpoints: with}},
			{&bare, call{script: script{write: tree.newFile()}, checkpoints: without}},
		} {
			took, err := at.carryOut(ctx, next.call)
			if err != nil {
				return nil, err
			}
			*next.into = append(*next.into, took)
		}
	}
	run, record := func(t timing) time.Duration { return t.run }, func(t timing) time.Duration { return t.record }
	found["unchanged"], found["changed"] = middle(unchanged, run), middle(changed, run)
	found["write"], found["record"] = middle(written, run)-middle(bare, run), middle(written, record)
	return found, nil
}

// firstCheckpoint measures the first one of all. The bytes are counted at once: a server that has run for five minutes packs them anew.
func (at place) firstCheckpoint(ctx context.Context) (sample, error) {
	took, err := at.carryOut(ctx, call{script: asking, checkpoints: with})
	if err != nil {
		return nil, err
	}
	found := sample{"first": milliseconds(took.first)}
	if at.name == hub { // nobody can read what it has stored
		return found, nil
	}
	bytes, err := bytesBelow(filepath.Join(at.folder, "data", "checkpoints"))
	found["bytes"] = float64(bytes) / float64(at.stage.tree.bytes)
	return found, err
}

// middle is the median of one part, in milliseconds.
func middle(all []timing, part func(timing) time.Duration) float64 {
	var times []float64
	for _, one := range all {
		times = append(times, milliseconds(part(one)))
	}
	return between(times, 0.5)
}

// bytesBelow sums the sizes of the files below a folder.
func bytesBelow(folder string) (sum int64, err error) {
	err = filepath.WalkDir(folder, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			sum += info.Size()
		}
		return err
	})
	return sum, err
}
