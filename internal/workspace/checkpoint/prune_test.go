package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// storeWith is a store with the repository of one workspace.
func storeWith(t *testing.T, runner Runner) (store *Store, r *Repository, workspace string) {
	t.Helper()
	folder := t.TempDir()
	workspace = filepath.Join(folder, "workspace")
	must(t, os.Mkdir(workspace, 0o755))
	store, err := NewStore(runner, filepath.Join(folder, "checkpoints"), DefaultBounds)
	must(t, err)
	r, err = store.Repository(workspace)
	must(t, err)
	return store, r, workspace
}

func seriesIn(r *Repository, workspace, name string) *Series {
	return NewSeries(Config{Repository: r, Workspace: workspace, Name: name, Limits: DefaultLimits})
}

// keeping keeps some series.
func keeping(names ...string) func(context.Context, string) (bool, error) {
	return func(_ context.Context, name string) (bool, error) {
		for _, one := range names {
			if one == name {
				return true, nil
			}
		}
		return false, nil
	}
}

// age makes all files below a folder that old.
func age(t *testing.T, folder string, by time.Duration) {
	t.Helper()
	then := time.Now().Add(-by)
	must(t, filepath.WalkDir(folder, func(path string, _ os.DirEntry, err error) error {
		must(t, err)
		return os.Chtimes(path, then, then)
	}))
}

// whole fails unless git finds every object that a ref needs.
func whole(t *testing.T, r *Repository) {
	t.Helper()
	_, err := r.run(t.Context(), nil, "", "git", "fsck", "--full", "--strict", "--no-dangling")
	must(t, err)
}

func has(t *testing.T, r *Repository, content string) bool {
	t.Helper()
	_, err := r.run(t.Context(), nil, "", "git", "cat-file", "-e", ObjectOf([]byte(content)))
	return err == nil
}

// TestPruningRemovesWhatNoSeriesHolds, loose and in packs, and nothing else.
func TestPruningRemovesWhatNoSeriesHolds(t *testing.T) {
	store, r, workspace := storeWith(t, plain{})
	for i := range 30 { // more than git leaves loose
		put(t, workspace, fmt.Sprintf("many/%d", i), fmt.Sprintf("many %d", i), 0o644)
	}
	put(t, workspace, "file", "of both", 0o644)
	kept := seriesIn(r, workspace, "kept")
	var want []map[string]string
	var points []Checkpoint
	note := func() {
		points, want = append(points, take(t, kept)), append(want, disk(t, workspace))
	}
	note()
	gone := seriesIn(r, workspace, "gone")
	for i := range 30 {
		put(t, workspace, fmt.Sprintf("many/%d", i), fmt.Sprintf("other %d", i), 0o644)
	}
	put(t, workspace, "file", "in a pack", 0o600)
	take(t, gone)
	must(t, store.Prune(t.Context(), keeping("kept", "gone")))
	put(t, workspace, "file", "loose", 0o600)
	take(t, gone)
	for i := range 30 {
		put(t, workspace, fmt.Sprintf("many/%d", i), fmt.Sprintf("many %d", i), 0o644)
	}
	put(t, workspace, "file", "kept", 0o644)
	note()
	take(t, gone)
	if !has(t, r, "in a pack") || !has(t, r, "loose") {
		t.Fatal("a content of a series that is kept is gone")
	}
	must(t, store.Prune(t.Context(), keeping("kept")))
	if has(t, r, "in a pack") {
		t.Error("a content in a pack is still there")
	}
	if r.loadIndex().tree != "" {
		t.Error("there is still an index that names a tree of no checkpoint")
	}
	age(t, filepath.Join(r.folder, "objects"), 2*time.Hour) // what is loose and young may be on its way to a series
	must(t, store.Prune(t.Context(), keeping("kept")))
	if has(t, r, "loose") {
		t.Error("a loose content is still there")
	}
	whole(t, r)
	for i, point := range points {
		if diff := cmp.Diff(want[i], held(t, kept, point)); diff != "" {
			t.Errorf("checkpoint %d: want (-), got (+):\n%s", i, diff)
		}
	}
	for _, s := range []*Series{kept, seriesIn(r, workspace, "next")} {
		put(t, workspace, "file", "next of "+s.ref, 0o644)
		if diff := cmp.Diff(disk(t, workspace), held(t, s, take(t, s))); diff != "" {
			t.Errorf("the checkpoint after it: want (-), got (+):\n%s", diff)
		}
	}
}

// TestPruningRemovesARepositoryWithoutSeries. The next checkpoint makes it again, and one that has been read before begins anew.
func TestPruningRemovesARepositoryWithoutSeries(t *testing.T) {
	store, r, workspace := storeWith(t, plain{})
	put(t, workspace, "file", "x", 0o644)
	put(t, store.folder, "of somebody/file", "x", 0o644)
	take(t, seriesIn(r, workspace, "e1"))
	waiting := seriesIn(r, workspace, "e2")
	must(t, waiting.load(t.Context()))
	must(t, os.Mkdir(r.folder+removedSuffix, 0o700))
	must(t, store.Prune(t.Context(), keeping()))
	names := namesIn(store.folder)
	if !cmp.Equal(names, []string{"of somebody"}) {
		t.Errorf("there are still %q", names)
	}
	if diff := cmp.Diff(disk(t, workspace), held(t, waiting, take(t, waiting))); diff != "" {
		t.Errorf("want (-), got (+):\n%s", diff)
	}
	if usage, err := store.Usage(); err != nil || len(usage) != 1 || usage[0].Workspace != workspace {
		t.Errorf("the workspace has no name: %+v, %v", usage, err)
	}
	t.Run("while a checkpoint is taken", func(t *testing.T) {
		release, err := r.use(t.Context())
		must(t, err)
		must(t, store.Prune(t.Context(), keeping()))
		if got, err := r.Last(t.Context(), "e2"); got != waiting.last || err != nil {
			t.Errorf("the last is %q, %v", got, err)
		}
		release()
	})
	t.Run("a keep that fails", func(t *testing.T) {
		failed := errors.New("the database is away")
		if err := store.Prune(t.Context(), func(context.Context, string) (bool, error) { return false, failed }); !errors.Is(err, failed) {
			t.Errorf("got %v", err)
		}
		if got, err := r.Last(t.Context(), "e2"); got != waiting.last || err != nil {
			t.Errorf("the last is %q, %v", got, err)
		}
	})
}

// TestPruningRemovesLeftoversOfTheDead, when they are a day old.
func TestPruningRemovesLeftoversOfTheDead(t *testing.T) {
	store, r, workspace := storeWith(t, plain{})
	put(t, workspace, "file", "x", 0o644)
	take(t, seriesIn(r, workspace, "e1"))
	left := []string{
		"fast_import_crash_17", "objects/pack/tmp_pack_abc", "objects/17/tmp_obj_abc", "objects/pack/.tmp-1-pack-abc.pack", ".new-123",
		"refs/executions/e1.lock", "packed-refs.lock", "objects/pack/pack-dead.keep",
	}
	for _, name := range left {
		put(t, r.folder, name, "x", 0o600)
	}
	gone := func() (all []string) {
		for _, name := range left {
			if _, err := os.Lstat(filepath.Join(r.folder, name)); err != nil {
				all = append(all, name)
			}
		}
		return all
	}
	must(t, store.Prune(t.Context(), keeping("e1")))
	if got := gone(); len(got) > 0 {
		t.Errorf("%q were young", got)
	}
	store.now = func() time.Time { return time.Now().Add(prunedEvery + time.Hour) }
	must(t, store.Prune(t.Context(), keeping("e1")))
	if got := gone(); len(got) != len(left) {
		t.Errorf("only %q are gone of %q", got, left)
	}
	whole(t, r)
}

// TestPacksStayFew, without a pruning.
func TestPacksStayFew(t *testing.T) {
	_, r, workspace := storeWith(t, plain{})
	s := seriesIn(r, workspace, "e1")
	most := 0
	first := Checkpoint{}
	var want map[string]string
	for n := range maxPacks + 10 {
		for i := range 25 { // more than git leaves loose
			put(t, workspace, fmt.Sprint(i), fmt.Sprintf("%d of %d", i, n), 0o644)
		}
		point := take(t, s)
		if n == 0 {
			first, want = point, disk(t, workspace)
		}
		packs, err := filepath.Glob(filepath.Join(r.folder, "objects/pack/*.pack"))
		must(t, err)
		most = max(most, len(packs))
	}
	packs, err := filepath.Glob(filepath.Join(r.folder, "objects/pack/*.pack"))
	must(t, err)
	if most > maxPacks+1 || len(packs) > 15 {
		t.Errorf("there were %d packs, and are %d", most, len(packs))
	}
	whole(t, r)
	if diff := cmp.Diff(want, held(t, s, first)); diff != "" {
		t.Errorf("the first checkpoint: want (-), got (+):\n%s", diff)
	}
}

// TestCheckpointsArePrunedWhileOthersAreTaken: executions come and go, contents return that no series holds any more, and somebody prunes all the while.
// Every checkpoint of a series that is kept is whole.
func TestCheckpointsArePrunedWhileOthersAreTaken(t *testing.T) {
	store, _, workspace := storeWith(t, plain{})
	var mu sync.Mutex
	live := map[string]bool{}
	setLive := func(name string, is bool) {
		mu.Lock()
		defer mu.Unlock()
		live[name] = is
	}
	fill := func(workspace string) {
		for i := range 25 {
			put(t, workspace, fmt.Sprint(i), fmt.Sprintf("%d of %d", i, rand.IntN(3)), 0o644)
		}
	}
	fill(workspace)
	done := make(chan struct{})
	var takers sync.WaitGroup
	for taker := range 2 {
		takers.Go(func() {
			for n := range 12 {
				name := fmt.Sprintf("e%d-%d", taker, n)
				setLive(name, true)
				r, err := store.Repository(workspace)
				if err != nil {
					t.Error(err)
					return
				}
				s := seriesIn(r, workspace, name)
				for range 3 {
					fill(workspace)
					if _, err := s.Take(context.Background(), ours); err != nil {
						t.Error(err)
						return
					}
				}
				if _, err := r.run(context.Background(), nil, "", "git", "rev-list", "--objects", "--quiet", s.last); err != nil {
					t.Error(err)
				}
				setLive(name, n == 11)
			}
		})
	}
	go func() {
		takers.Wait()
		close(done)
	}()
	keep := func(_ context.Context, name string) (bool, error) {
		mu.Lock()
		defer mu.Unlock()
		return live[name], nil
	}
	prunings := 0
	for isDone := false; !isDone; prunings++ {
		select {
		case <-done:
			isDone = true
		default:
		}
		must(t, store.Prune(t.Context(), keep))
	}
	t.Logf("%d prunings", prunings)
	r, err := store.Repository(workspace)
	must(t, err)
	whole(t, r)
	refs, err := r.run(t.Context(), nil, "", "git", "for-each-ref", "--format=%(refname)", seriesRefs)
	must(t, err)
	if got := strings.Fields(string(refs)); len(got) != 2 {
		t.Errorf("there are %q", got)
	}
}

// killing runs programs that are killed, with all that they have started, after some time.
type killing struct{ after time.Duration }

func (k killing) Run(ctx context.Context, command Command, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, k.after)
	defer cancel()
	run := prepare(ctx, command, in, out)
	run.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	run.Cancel = func() error { return syscall.Kill(-run.Process.Pid, syscall.SIGKILL) }
	return runBare(run)
}

// TestALockOfTheDeadIsRemoved: a git that was killed leaves the lock of its ref. The next checkpoint of the series does not wait for a pruning.
func TestALockOfTheDeadIsRemoved(t *testing.T) {
	_, r, workspace := storeWith(t, plain{})
	s := seriesIn(r, workspace, "e1")
	put(t, workspace, "a", "1", 0o644)
	take(t, s)
	must(t, os.WriteFile(filepath.Join(r.folder, s.ref+".lock"), nil, 0o600))
	put(t, workspace, "a", "2", 0o644)
	if diff := cmp.Diff(disk(t, workspace), held(t, s, take(t, s))); diff != "" {
		t.Errorf("the folder (-) and the checkpoint (+) differ:\n%s", diff)
	}
}

// TestAKilledGitHarmsNothing: git dies at any moment of checkpoints and of a pruning. The series goes on with its last checkpoint, and every earlier one is whole.
func TestAKilledGitHarmsNothing(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		store, r, workspace := storeWith(t, plain{})
		count := rapid.SampledFrom([]int{1, 30}).Draw(rt, "files") // loose, or a pack
		fill := func(text string) {
			for i := range count {
				put(t, workspace, fmt.Sprint(i), fmt.Sprintf("%s %d", text, i), 0o644)
			}
		}
		s, other := seriesIn(r, workspace, "e1"), seriesIn(r, workspace, "e2")
		fill("first")
		first, want := take(t, s), disk(t, workspace)
		fill("of another")
		take(t, other)
		after := time.Duration(rapid.IntRange(0, 60).Draw(rt, "ms")) * time.Millisecond
		r.runner, store.runner = killing{after}, killing{after}
		fill("later")
		switch rapid.IntRange(0, 2).Draw(rt, "what") {
		case 0:
			if _, err := s.Take(t.Context(), ours); err != nil && s.last != first.ID {
				rt.Fatalf("a checkpoint that failed is the last one")
			}
		case 1:
			_, _ = s.TakePaths(t.Context(), []string{"0"}, ours)
		case 2:
			_ = store.Prune(t.Context(), keeping("e1"))
		}
		r.runner, store.runner = plain{}, plain{}
		if diff := cmp.Diff(disk(t, workspace), held(t, s, take(t, s))); diff != "" {
			rt.Fatalf("the folder (-) and the next checkpoint (+) differ:\n%s", diff)
		}
		must(t, store.Prune(t.Context(), keeping("e1")))
		whole(t, r)
		if diff := cmp.Diff(want, held(t, s, first)); diff != "" {
			rt.Fatalf("the first checkpoint: want (-), got (+):\n%s", diff)
		}
	})
}
