package checkpoints

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"

	"signoff/internal/domain"
	"signoff/internal/workspace/checkpoint"
)

// TestACheckpointIsFoundByItsStore: the name of the machine that took a checkpoint only explains why the store lacks it. Containers change their names, and replicas share a store.
func TestACheckpointIsFoundByItsStore(t *testing.T) {
	checks(t, "1")
	rapid.Check(t, func(rt *rapid.T) {
		f := newFolder(t, rt)
		f.service.host = "one"
		a := f.agent("e1")
		a.must(a.BeginTurn(t.Context()))
		a.must(a.BeforeCall(t.Context(), "c"))
		a.must(os.WriteFile(filepath.Join(f.path, "a"), []byte("a"), 0o644))
		a.must(a.AfterCall(t.Context(), "c"))
		a.settle()
		a.Close()
		f.service.host = "two"
		history := HistoryOf(a.log)
		back := Rollback{To: history[0]}
		plan, err := f.service.Preview(t.Context(), "e1", history, false, back)
		a.must(err)
		finish := func(hash string) (domain.RollbackResult, error) {
			row := domain.Rollback{Execution: "e1", Request: domain.RollbackRequest{To: 1, Hash: hash}}
			return f.service.Finish(t.Context(), row, history, back, nil, func(context.Context, Journal) error { return nil })
		}
		if _, err := finish("another"); domain.CodeOf(err) != domain.CodePreviewOutdated {
			t.Errorf("another hash: %v", err)
		}
		result, err := finish(plan.Hash)
		a.must(err)
		if result.Error != nil || result.Folders[0].RestoredCount != 1 {
			t.Errorf("the rollback has done %+v", result)
		}

		f.service.store, err = checkpoint.NewStore(&f.git, t.TempDir(), checkpoint.DefaultBounds)
		a.must(err)
		for host, code := range map[string]domain.Code{"one": domain.CodeNoCheckpoints, "two": domain.CodeCheckpointElsewhere} {
			f.service.host = host
			if _, err := f.service.Preview(t.Context(), "e1", history, false, back); domain.CodeOf(err) != code {
				t.Errorf("a preview on %s without the repository: %v", host, err)
			}
			if _, err := f.service.Diff(t.Context(), Range{history[0], history[1]}, func(text string) string { return text }); domain.CodeOf(err) != code {
				t.Errorf("a diff on %s without the repository: %v", host, err)
			}
		}
		other := f.agent("e2") // there is a repository of the folder now, without these checkpoints
		other.must(other.BeginTurn(t.Context()))
		other.settle()
		other.Close()
		f.service.host = "two"
		if _, err := f.service.Preview(t.Context(), "e1", history, false, back); domain.CodeOf(err) != domain.CodeCheckpointElsewhere {
			t.Errorf("a preview without the checkpoint: %v", err)
		}
	})
}

// TestTheContentOfASecretFileIsNotShown: under its name, under a name that it has got, and as a copy.
func TestTheContentOfASecretFileIsNotShown(t *testing.T) {
	checks(t, "1")
	rapid.Check(t, func(rt *rapid.T) {
		f := newFolder(t, rt)
		f.service.secret = func(path string, _ []byte) bool { return filepath.Base(path) == ".env" }
		lines := "ONE=1\nTWO=2\nTHREE=3\nFOUR=4\nFIVE=5\n"
		secret, renamed := filepath.Join(f.path, ".env"), filepath.Join(f.path, "config.txt")
		a := f.agent("e1")
		defer a.Close()
		a.must(os.WriteFile(secret, []byte(lines), 0o644))
		a.must(a.BeginTurn(t.Context()))
		a.must(a.BeforeCall(t.Context(), "c"))
		a.must(os.WriteFile(secret, []byte(lines+"SIX=6\n"), 0o644))
		a.must(os.Rename(secret, renamed))
		a.must(os.WriteFile(filepath.Join(f.path, "copy"), []byte(lines+"SIX=6\n"), 0o644))
		a.must(a.AfterCall(t.Context(), "c"))
		a.settle()
		history := HistoryOf(a.log)
		found, err := f.service.Diff(t.Context(), Range{history[0], history[1]}, func(text string) string { return text })
		a.must(err)
		files := found.Folders[0].Files
		if len(files) != 2 || files[0].From != ".env" && files[1].From != ".env" {
			t.Errorf("the diff is %+v", files)
		}
		for _, file := range files {
			if file.Without != OmittedSecret || file.Unified != "" {
				t.Errorf("the diff of %s is shown: %+v", file.Path, file)
			}
		}
	})
}
