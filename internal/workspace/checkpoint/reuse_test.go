package checkpoint

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// later is a clock by which everything that is there now has been there for long.
func later() time.Time { return time.Now().Add(time.Minute) }

// TestTheIndexIsWrittenNowAndThen: a call does not wait for the index of a whole folder where little has changed, and the next execution reads that little again.
func TestTheIndexIsWrittenNowAndThen(t *testing.T) {
	_, r, workspace := storeWith(t, plain{})
	for n := range mostUnsavedFiles {
		put(t, workspace, fmt.Sprint("f", n), "one\n", 0o644)
	}
	written := func() string {
		content, err := os.ReadFile(filepath.Join(r.folder, indexFile))
		must(t, err)
		return string(content)
	}
	s := seriesIn(r, workspace, "e0")
	s.now = later
	take(t, s)
	first := written()
	put(t, workspace, "f0", "another\n", 0o644)
	take(t, s)
	if written() != first {
		t.Error("the index is written after one file has changed")
	}
	next := seriesIn(r, workspace, "e1")
	next.now = later
	point := take(t, next)
	if point.Read != int64(len("another\n")) {
		t.Errorf("the next execution has read %d bytes", point.Read)
	}
	if diff := cmp.Diff(disk(t, workspace), held(t, next, point)); diff != "" {
		t.Errorf("the folder (-) and the checkpoint (+) differ:\n%s", diff)
	}
	second := written()
	for n := range mostUnsavedFiles {
		put(t, workspace, fmt.Sprint("f", n), fmt.Sprint("now ", n, "\n"), 0o644)
	}
	take(t, next)
	if written() == second {
		t.Error("the index is not written after many files have changed")
	}
}

// TestAnUnchangedFolderStartsNoGit: each further execution begins with the checkpoint with which the first one has begun, also where a .gitignore says what is
// covered.
func TestAnUnchangedFolderStartsNoGit(t *testing.T) {
	_, r, workspace := storeWith(t, plain{})
	starts := 0
	r.runner = counting{plain{}, &starts}
	put(t, workspace, ".gitignore", "*.log\n/dist/\n", 0o644)
	put(t, workspace, "src/.gitignore", "!keep.log\n", 0o644)
	put(t, workspace, "src/a", "one\n", 0o600)
	put(t, workspace, "dist/a", "made of it\n", 0o644)
	put(t, workspace, "src/build/b", "two\n", 0o644)
	put(t, workspace, "large.log", strings.Repeat("x", 2<<20), 0o644)
	put(t, workspace, "src/keep.log", strings.Repeat("x", 2<<20), 0o644)
	must(t, os.Mkdir(filepath.Join(workspace, "empty"), 0o700))
	must(t, os.Symlink("src", filepath.Join(workspace, "link")))
	begin := func(name string) (s *Series, point Checkpoint, started int) {
		t.Helper()
		s = seriesIn(r, workspace, name)
		s.now = later
		before := starts
		point = take(t, s)
		return s, point, starts - before
	}
	_, first, _ := begin("e0")
	for n := range 3 {
		name := fmt.Sprint("e", n+1)
		s, point, started := begin(name)
		if started != 0 || point.Read != 0 {
			t.Errorf("%s: git was started %d times, and %d bytes were read", name, started, point.Read)
		}
		first.Read = 0
		if diff := cmp.Diff(first, point); diff != "" {
			t.Errorf("%s: the first checkpoint (-) and this one (+) differ:\n%s", name, diff)
		}
		if last, err := r.Last(t.Context(), name); err != nil || last != s.last {
			t.Errorf("%s: the last is %q, %v", name, last, err)
		}
	}
	want := disk(t, workspace, "large.log", "dist")
	s, point, _ := begin("e4")
	if diff := cmp.Diff(want, held(t, s, point)); diff != "" {
		t.Errorf("the folder (-) and the checkpoint (+) differ:\n%s", diff)
	}
	whole(t, r)

	t.Run("files that were written just now are read again, once", func(t *testing.T) {
		put(t, workspace, "src/a", "one\n", 0o600)
		put(t, workspace, ".gitignore", "*.log\n/dist/\n", 0o644)
		for n, expected := range []bool{true, false} {
			s, point, _ := begin(fmt.Sprint("again", n))
			if (point.Read != 0) != expected || point.ID != first.ID {
				t.Errorf("%d: %+v", n, point)
			}
			if diff := cmp.Diff(want, held(t, s, point)); diff != "" {
				t.Errorf("%d: the folder (-) and the checkpoint (+) differ:\n%s", n, diff)
			}
		}
		if _, _, started := begin("again"); started != 0 {
			t.Errorf("git was started %d times", started)
		}
	})
	for name, change := range map[string]func(){
		"a mode":                     func() { must(t, os.Chmod(filepath.Join(workspace, "src/a"), 0o640)) },
		"a content":                  func() { put(t, workspace, "src/a", "two\n", 0o600) },
		"a new empty folder":         func() { must(t, os.Mkdir(filepath.Join(workspace, "other"), 0o755)) },
		"a folder that is gone":      func() { must(t, os.Remove(filepath.Join(workspace, "empty"))) },
		"a file that is gone":        func() { must(t, os.Remove(filepath.Join(workspace, "src/build/b"))) },
		"a path that is not covered": func() { put(t, workspace, "small.log", strings.Repeat("x", 2<<20), 0o644) },
		"a .gitignore":               func() { put(t, workspace, ".gitignore", "*.log\n", 0o644) },
	} {
		t.Run(name, func(t *testing.T) {
			_, before, _ := begin("before " + name[:1])
			change()
			if _, point, started := begin("changed"); point.ID == before.ID || started == 0 {
				t.Errorf("the checkpoint before the change was taken")
			}
		})
	}
}

// TestOnlyAFirstCheckpointIsTakenOver: a later one would hold the earlier ones of an execution that is deleted.
func TestOnlyAFirstCheckpointIsTakenOver(t *testing.T) {
	store, r, workspace := storeWith(t, plain{})
	put(t, workspace, "file", "secret", 0o644)
	deleted := seriesIn(r, workspace, "deleted")
	take(t, deleted)
	put(t, workspace, "file", "public", 0o644)
	second := take(t, deleted)
	next := seriesIn(r, workspace, "next")
	if point := take(t, next); point.ID == second.ID {
		t.Error("the second checkpoint of another execution was taken over")
	}
	must(t, store.Prune(t.Context(), keeping("next")))
	age(t, filepath.Join(r.folder, "objects"), 2*time.Hour)
	must(t, os.RemoveAll(filepath.Join(r.folder, prunedFile)))
	must(t, store.Prune(t.Context(), keeping("next")))
	if has(t, r, "secret") || !has(t, r, "public") {
		t.Error("a pruning has kept the content of an execution that is deleted, or removed that of another")
	}

	t.Run("and none that a pruning has removed", func(t *testing.T) {
		put(t, workspace, "file", "kept", 0o644)
		take(t, seriesIn(r, workspace, "kept"))
		put(t, workspace, "file", "new", 0o644)
		take(t, seriesIn(r, workspace, "gone"))
		waiting := seriesIn(r, workspace, "waiting")
		must(t, waiting.load(t.Context()))
		must(t, store.Prune(t.Context(), keeping("kept")))
		for _, s := range []*Series{waiting, seriesIn(r, workspace, "after")} {
			if diff := cmp.Diff(disk(t, workspace), held(t, s, take(t, s))); diff != "" {
				t.Errorf("the folder (-) and the checkpoint (+) differ:\n%s", diff)
			}
		}
		whole(t, r)
	})
}

// TestATakenOverCheckpointIsLikeOneOfItsOwn: executions come and go in a folder. What they list, compare and plan to take back is the same in a repository in
// which no execution takes over the first checkpoint of another.
func TestATakenOverCheckpointIsLikeOneOfItsOwn(t *testing.T) {
	var takenOver atomic.Int64
	rapid.Check(t, func(rt *rapid.T) {
		folder, err := os.MkdirTemp(t.TempDir(), "")
		must(t, err)
		workspace := filepath.Join(folder, "workspace")
		must(t, os.Mkdir(workspace, 0o755))
		var repositories [2]*Repository
		for i := range repositories {
			repositories[i], err = OpenRepository(plain{}, filepath.Join(folder, fmt.Sprint("repository", i)))
			must(t, err)
		}
		by := func(path string, _ Difference) By { return []By{Ours, Uncertain, Others}[len(path)%3] }
		var all [2]*Series
		var points [2][]Checkpoint // of the last execution
		executions := rapid.IntRange(2, 3).Draw(rt, "executions")
		for n := range executions {
			for range rapid.IntRange(0, 2).Draw(rt, "steps between") {
				disturb(rt, workspace)
			}
			known := repositories[1].loadIndex()
			if known.first = (root{}); known.tree != "" {
				must(t, repositories[1].saveIndex(known))
			}
			for i, r := range repositories {
				all[i] = NewSeries(Config{Repository: r, Workspace: workspace, Name: fmt.Sprint("e", n), Limits: DefaultLimits})
				all[i].now = later
			}
			known = repositories[0].loadIndex()
			points = [2][]Checkpoint{}
			for m := range rapid.IntRange(1, 2).Draw(rt, "checkpoints") {
				if m > 0 {
					for range rapid.IntRange(0, 4).Draw(rt, "steps") {
						disturb(rt, workspace)
					}
				}
				for i, s := range all {
					point, err := s.Take(t.Context(), by)
					must(t, err)
					points[i] = append(points[i], point)
				}
				if points[0][m].ID == known.first.commit {
					takenOver.Add(1)
				}
				want, got := points[1][m], points[0][m]
				want.ID, got.ID, want.Read, got.Read = "", "", 0, 0
				if diff := cmp.Diff(want, got); diff != "" {
					rt.Fatalf("checkpoint %d of %d: on its own (-) and taken over (+) differ:\n%s", m, n, diff)
				}
			}
		}
		last := len(points[0]) - 1
		if diff := cmp.Diff(disk(t, workspace), held(t, all[0], points[0][last])); diff != "" {
			rt.Fatalf("the folder (-) and the last checkpoint (+) differ:\n%s", diff)
		}
		from := rapid.IntRange(0, last).Draw(rt, "from")
		var changes [2][]Change
		var plans [2]Plan
		for i, r := range repositories {
			changes[i], err = r.Changes(t.Context(), points[i][from].ID, points[i][last].ID)
			must(t, err)
			plans[i], err = r.Plan(t.Context(), points[i][last].ID, points[i][from].ID, nil)
			must(t, err)
			plans[i].From, plans[i].To = "", ""
		}
		if diff := cmp.Diff(changes[1], changes[0]); diff != "" {
			rt.Fatalf("the changes since checkpoint %d differ:\n%s", from, diff)
		}
		if diff := cmp.Diff(plans[1], plans[0]); diff != "" {
			rt.Fatalf("the plans back to checkpoint %d differ:\n%s", from, diff)
		}
	})
	if takenOver.Load() == 0 {
		t.Error("no checkpoint was taken over")
	}
}

// TestVerdictsOfAnIndex: they hold only for the very .gitignore files that it has read.
func TestVerdictsOfAnIndex(t *testing.T) {
	_, r, workspace := storeWith(t, plain{})
	put(t, workspace, ".gitignore", "/build/\n", 0o644)
	put(t, workspace, "build/a", "x", 0o644)
	first := seriesIn(r, workspace, "e1")
	first.now = later
	take(t, first)
	if verdicts := r.loadIndex().verdicts; !maps.Equal(verdicts, map[string]bool{"build/": true}) {
		t.Fatalf("the index has the verdicts %v", verdicts)
	}
	put(t, workspace, ".gitignore", "/other/\n", 0o644)
	next := seriesIn(r, workspace, "e2")
	next.now = later
	if diff := cmp.Diff(disk(t, workspace), held(t, next, take(t, next))); diff != "" {
		t.Errorf("the folder (-) and the checkpoint (+) differ:\n%s", diff)
	}
}
