package checkpoint

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestACheckpointThatHasNoRoomIsRefused, before anything is written: the events of executions may lie on the same disk.
func TestACheckpointThatHasNoRoomIsRefused(t *testing.T) {
	const gib = 1 << 30
	for name, test := range map[string]struct {
		free, size int64
		bounds     Bounds
		want       error
	}{
		"room for all":                  {free: 50 * gib, size: 100 * gib, bounds: DefaultBounds},
		"a large disk keeps 1 GiB":      {free: gib, size: 1000 * gib, bounds: DefaultBounds},
		"below 1 GiB":                   {free: gib - 1, size: 1000 * gib, bounds: DefaultBounds, want: ErrDiskFull},
		"a small disk keeps a 20th":     {free: gib / 20, size: gib, bounds: DefaultBounds},
		"below a twentieth":             {free: gib/20 - 1, size: gib, bounds: DefaultBounds, want: ErrDiskFull},
		"the workspace has its share":   {free: 50 * gib, size: 100 * gib, bounds: Bounds{Workspace: 1, All: gib}, want: ErrWorkspaceFull},
		"all workspaces have their own": {free: 50 * gib, size: 100 * gib, bounds: Bounds{Workspace: gib, All: 1}, want: ErrStoreFull},
	} {
		t.Run(name, func(t *testing.T) {
			workspace := t.TempDir()
			put(t, workspace, "file", "x", 0o644)
			store, err := NewStore(plain{}, filepath.Join(t.TempDir(), "checkpoints"), test.bounds)
			must(t, err)
			store.free = func(string) (int64, int64, error) { return test.free, test.size, nil }
			r, err := store.Repository(workspace)
			must(t, err)
			s := NewSeries(Config{Repository: r, Workspace: workspace, Name: "e1", Limits: DefaultLimits})
			if _, err = s.Take(t.Context(), ours); !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
			refs, err := r.run(t.Context(), nil, "", "git", "for-each-ref")
			must(t, err)
			if (len(refs) == 0) != (test.want != nil) {
				t.Errorf("the repository has %q", refs)
			}
		})
	}
}

// TestTheRoomIsCountedNowAndThen: not before each checkpoint, but always before one is refused for what this server has written.
func TestTheRoomIsCountedNowAndThen(t *testing.T) {
	store, r, workspace := storeWith(t, plain{})
	store.bounds = Bounds{Workspace: 100 << 10, All: 200 << 10}
	now := time.Now()
	store.now = func() time.Time { return now }
	s := seriesIn(r, workspace, "e1")
	write := func(content string) error {
		t.Helper()
		put(t, workspace, "file", content, 0o644)
		_, err := s.Take(t.Context(), ours)
		return err
	}
	must(t, write("first"))
	must(t, write(strings.Repeat("packs well", 50_000)))
	must(t, write("what was written is small"))
	other := filepath.Join(store.folder, "0123456789abcdef")
	put(t, other, workspaceFile, "/elsewhere\n", 0o600)
	put(t, other, "of another server", strings.Repeat("x", 200<<10), 0o600)
	must(t, write("nobody has counted again"))
	now = now.Add(recount)
	if err := write("now somebody has"); !errors.Is(err, ErrStoreFull) {
		t.Errorf("got %v", err)
	}
	must(t, os.RemoveAll(other))
	must(t, store.Prune(t.Context(), keeping("e1")))
	must(t, write("after a pruning there is room"))
}

// TestACheckpointStopsWhereRoomEnds, in its middle. What it has left goes with the next pruning.
func TestACheckpointStopsWhereRoomEnds(t *testing.T) {
	store, r, workspace := storeWith(t, plain{})
	put(t, workspace, "file", "x", 0o644)
	s := seriesIn(r, workspace, "e1")
	first := take(t, s)
	must(t, store.Prune(t.Context(), keeping("e1")))
	noise := make([]byte, 3<<20)
	rand.NewChaCha8([32]byte{}).Read(noise) //nolint:errcheck // it has no errors
	for i := range roomEvery/len(noise) + 2 {
		noise[0] = byte(i)
		put(t, workspace, fmt.Sprint(i), string(noise), 0o644)
	}
	looks := 0
	store.free = func(string) (int64, int64, error) {
		looks++
		return int64(2-looks) << 40, 1 << 40, nil
	}
	if _, err := s.Take(t.Context(), ours); !errors.Is(err, ErrDiskFull) || s.last != first.ID {
		t.Errorf("got %v, and the last checkpoint is %s", err, s.last)
	}
	must(t, store.Prune(t.Context(), keeping("e1")))
	if usage, err := store.Usage(); err != nil || usage[0].Bytes > 1<<20 {
		t.Errorf("the repository has %+v, %v", usage, err)
	}
	store.free = freeOn
	take(t, s)
}

func TestUsageNamesTheWorkspaces(t *testing.T) {
	store, err := NewStore(plain{}, filepath.Join(t.TempDir(), "checkpoints"), DefaultBounds)
	must(t, err)
	workspace := t.TempDir()
	put(t, workspace, "file", strings.Repeat("x", 1000), 0o644)
	for range 2 { // it is the same repository each time
		r, err := store.Repository(workspace)
		must(t, err)
		take(t, NewSeries(Config{Repository: r, Workspace: workspace, Name: "e1", Limits: DefaultLimits}))
	}
	usage, err := store.Usage()
	must(t, err)
	if len(usage) != 1 || usage[0].Workspace != workspace || usage[0].Bytes == 0 {
		t.Errorf("got %+v", usage)
	}
}
