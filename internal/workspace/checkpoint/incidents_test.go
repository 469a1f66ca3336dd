package checkpoint

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestARollbackHarmsNoneOfThese: what rollbacks of other products have destroyed. The workspace is a folder of a user's repository, in which somebody works. An
// execution changes a tracked file, and somebody else has changed another meanwhile; the execution's change is taken back.
//
//   - `reset --hard` and `clean -fd` took 1 GB of untracked data (Copilot CLI #1675), and a restore nearly everything (Gemini CLI #13331).
//   - Other folders of a monorepo were overwritten (opencode #3176).
//   - The user's index was clobbered (Codex #8214), and unknown refs and 102 GB of objects were left in the user's repository (Codex #29388, #28241).
func TestARollbackHarmsNoneOfThese(t *testing.T) {
	folder := t.TempDir()
	workspace := filepath.Join(folder, "mono/service")
	put(t, workspace, "main.go", "package main\n", 0o644)
	put(t, workspace, "other.go", "package main\n", 0o644)
	put(t, folder, "mono/library/library.go", "package library\n", 0o644)
	put(t, workspace, ".gitignore", "*.db\n/dist\n", 0o644)
	git := func(args ...string) {
		t.Helper()
		run := exec.Command("git", append([]string{"-C", filepath.Join(folder, "mono"), "-c", "user.name=a", "-c", "user.email=a@b"}, args...)...)
		if out, err := run.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	git("init")
	git("add", ".")
	git("commit", "-m", "one")
	put(t, workspace, "staged.go", "package main // staged\n", 0o644)
	git("add", ".")
	put(t, workspace, "untracked/notes", "weeks of work", 0o600)
	put(t, workspace, "ignored.db", "rows", 0o644)
	put(t, workspace, "dist/made", "x", 0o644)
	put(t, workspace, "node_modules/a/index.js", "x", 0o644)
	put(t, workspace, "nested/.git/HEAD", "ref: refs/heads/main\n", 0o644)
	put(t, workspace, "nested/file", "x", 0o644)
	put(t, folder, "mono/library/untracked", "x", 0o644)

	r, err := OpenRepository(plain{}, filepath.Join(folder, "repository"))
	must(t, err)
	s := seriesIn(r, workspace, "e1")
	first := take(t, s)
	before := disk(t, filepath.Join(folder, "mono"))
	put(t, workspace, "main.go", "package broken\n", 0o644)
	put(t, workspace, "made by the execution", "x", 0o644)
	take(t, s)
	put(t, workspace, "untracked/more", "of somebody, unseen by any checkpoint", 0o644)
	put(t, workspace, "other.go", "package main // of somebody\n", 0o644)
	put(t, folder, "mono/library/library.go", "package library // of somebody\n", 0o644)

	plan, err := r.Plan(t.Context(), s.last, first.ID, nil)
	must(t, err)
	_, kept, err := r.Restore(t.Context(), plan, token, placesIn(workspace))
	must(t, err)
	if len(kept) > 0 {
		t.Errorf("kept: %+v", kept)
	}
	want := map[string]string{
		"service/untracked/more": "-rw-r--r-- of somebody, unseen by any checkpoint", "service/other.go": "-rw-r--r-- package main // of somebody\n",
		"library/library.go": "-rw-r--r-- package library // of somebody\n",
	}
	if diff := cmp.Diff(want, changed(before, disk(t, filepath.Join(folder, "mono")))); diff != "" {
		t.Errorf("what differs from the time before the execution: want (-), got (+):\n%s", diff)
	}
}

// failing is a git that cannot run, or that fails.
type failing struct{ err error }

func (f failing) Run(context.Context, Command, io.Reader, io.Writer) error { return f.err }

// TestACheckpointThatWasNotMadeIsAnError: it is neither silently missing (Cline PR #12831) nor silently empty, for want of a user.name for instance (arbos #390), so
// that a rollback to it would clean everything away.
func TestACheckpointThatWasNotMadeIsAnError(t *testing.T) {
	for name, broken := range map[string]error{
		"git is missing":      exec.ErrNotFound,
		"git fails":           &ExitError{Code: 128, Stderr: "fatal: empty ident name not allowed"},
		"git says nothing":    nil,
		"the sandbox is gone": os.ErrPermission,
	} {
		t.Run(name, func(t *testing.T) {
			s, workspace := series(t)
			s.repository.runner = failing{broken}
			put(t, workspace, "file", "x", 0o644)
			if point, err := s.Take(t.Context(), ours); err == nil || broken != nil && !errors.Is(err, broken) {
				t.Errorf("the first: %+v, %v", point, err)
			}
			s.repository.runner = plain{}
			first := take(t, s)
			s.repository.runner = failing{broken}
			put(t, workspace, "file", "y", 0o644)
			if point, err := s.Take(t.Context(), ours); err == nil {
				t.Errorf("the second: %+v, %v", point, err)
			}
			if point, err := s.TakePaths(t.Context(), []string{"file"}, ours); err == nil {
				t.Errorf("the second, of a path: %+v, %v", point, err)
			}
			s.repository.runner = plain{}
			next := take(t, s)
			if len(next.Changes) != 1 || s.last == first.ID {
				t.Errorf("the next one: %+v", next)
			}
			if diff := cmp.Diff(disk(t, workspace), held(t, s, next)); diff != "" {
				t.Errorf("want (-), got (+):\n%s", diff)
			}
		})
	}
}
