package folders

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"signoff/internal/domain"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func opened(t *testing.T) *Folders {
	t.Helper()
	f, err := Open(Config{Base: filepath.Join(t.TempDir(), "base")})
	must(t, err)
	return f
}

// executionOf is an execution that is so old.
func executionOf(t *testing.T, age time.Duration, own domain.OwnFolder) domain.Execution {
	t.Helper()
	id := uuid.Must(uuid.NewV7())
	at := time.Now().Add(-age).UnixMilli()
	for i := range 6 {
		id[i] = byte(at >> (8 * (5 - i)))
	}
	return domain.Execution{ID: domain.ExecutionID(id.String()), Request: domain.Request{OwnFolder: &own}}
}

var newFolder = domain.OwnFolder{Mode: domain.WorkspaceNew}

func (f *Folders) names(t *testing.T) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(f.base)
	must(t, err)
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

func TestMake(t *testing.T) {
	f := opened(t)
	e := executionOf(t, 0, newFolder)
	must(t, f.Make(t.Context(), e))
	folder := f.Directory(e.ID, newFolder)
	if info, err := os.Stat(folder); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v %v", info, err)
	}
	must(t, os.WriteFile(filepath.Join(folder, "a"), []byte("1"), 0o600))
	e.Turn = 1
	must(t, f.Make(t.Context(), e)) // again, after a restart
	if _, err := os.Stat(filepath.Join(folder, "a")); err != nil {
		t.Error(err)
	}
	must(t, f.Remove(e.ID))
	must(t, f.Remove(e.ID))
	if err := f.Make(t.Context(), e); domain.CodeOf(err) != domain.CodeEnvironmentUnavailable {
		t.Errorf("a folder that is lost: %v", err)
	}
	for _, id := range []domain.ExecutionID{"../x", "", ".", "a/b"} {
		evil := e
		evil.ID, evil.Turn = id, 0
		if f.Make(t.Context(), evil) == nil || f.Remove(id) == nil {
			t.Errorf("%q is an id", id)
		}
	}
	if names := f.names(t); len(names) != 0 {
		t.Errorf("%q is left", names)
	}
}

// A folder goes with all that its execution has left in it, and nothing goes to which a link leads.
func TestRemoveFollowsNoLink(t *testing.T) {
	f := opened(t)
	e := executionOf(t, 0, newFolder)
	must(t, f.Make(t.Context(), e))
	folder, outside := f.Directory(e.ID, newFolder), t.TempDir()
	must(t, os.WriteFile(filepath.Join(outside, "stays"), nil, 0o600))
	must(t, os.MkdirAll(filepath.Join(folder, "closed", "in"), 0o700))
	must(t, os.Symlink(outside, filepath.Join(folder, "closed", "in", "link")))
	must(t, os.Symlink(f.base, filepath.Join(folder, "up")))
	must(t, os.Chmod(filepath.Join(folder, "closed", "in"), 0o500))
	must(t, os.Chmod(filepath.Join(folder, "closed"), 0))
	must(t, f.Remove(e.ID))
	if _, err := os.Stat(filepath.Join(outside, "stays")); err != nil || len(f.names(t)) != 0 {
		t.Errorf("%v, %q", err, f.names(t))
	}

	must(t, os.Symlink(outside, filepath.Join(f.base, string(e.ID)))) // somebody has put a link in the place of the folder
	must(t, f.Remove(e.ID))
	if _, err := os.Stat(filepath.Join(outside, "stays")); err != nil || len(f.names(t)) != 0 {
		t.Errorf("%v, %q", err, f.names(t))
	}
}

// executions are what the database knows.
type executions struct {
	states map[domain.ExecutionID]domain.OwnFolderState
	works  []string
	err    error
}

func (e executions) OwnFolders(context.Context, []domain.ExecutionID) (map[domain.ExecutionID]domain.OwnFolderState, error) {
	return e.states, e.err
}

func (e executions) WorksIn(_ context.Context, folder string) (bool, error) {
	return slices.Contains(e.works, folder), nil
}

func TestSweep(t *testing.T) {
	f := opened(t)
	known := executions{states: map[domain.ExecutionID]domain.OwnFolderState{}}
	var kept []string
	stays := func(e domain.Execution) { kept = append(kept, string(e.ID)) }
	folder := func(age time.Duration) domain.Execution {
		e := executionOf(t, age, newFolder)
		must(t, f.Make(t.Context(), e))
		return e
	}
	stays(folder(0)) // its deletion is under way
	folder(2 * strayAge)
	used := folder(2 * strayAge)
	known.works = append(known.works, f.Directory(used.ID, newFolder))
	stays(used)
	for _, state := range []domain.OwnFolderState{{}, {Keep: true}, {Ended: true, Keep: true}} {
		e := folder(2 * strayAge)
		known.states[e.ID] = state
		stays(e)
	}
	known.states[folder(0).ID] = domain.OwnFolderState{Ended: true}
	for _, name := range []string{makingPrefix + "old", makingPrefix + "young", removedPrefix + "x", "other"} {
		must(t, os.MkdirAll(filepath.Join(f.base, name, "in"), 0o700))
	}
	must(t, os.Chtimes(filepath.Join(f.base, makingPrefix+"old"), time.Time{}, time.Now().Add(-2*strayAge)))
	kept = append(kept, makingPrefix+"young", "other")

	unknown := errors.New("the database is away")
	known.err = unknown
	before := len(f.names(t))
	if err := f.Sweep(t.Context(), known); !errors.Is(err, unknown) || len(f.names(t)) != before-2 {
		t.Errorf("without the database: %v, %q", err, f.names(t))
	}
	known.err = nil
	must(t, f.Sweep(t.Context(), known))
	slices.Sort(kept)
	if diff := cmp.Diff(kept, f.names(t)); diff != "" {
		t.Error(diff)
	}
}
