package checkpoint

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
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
