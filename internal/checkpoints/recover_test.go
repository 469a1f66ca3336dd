package checkpoints

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"signoff/internal/domain"
	"signoff/internal/workspace"
)

// TestARecoveredRollbackTellsOfAll: a driver dies when it has restored one file and exchanged another one. The next driver clears away what lies beside it, does the rest, and
// lists everything. Where something runs in the folder meanwhile, it clears away all the same and says how far the rollback has come.
func TestARecoveredRollbackTellsOfAll(t *testing.T) {
	checks(t, "1")
	for name, test := range map[string]struct {
		busy     bool
		restored []string
		disk     map[string]string
	}{
		"nothing runs": {false, []string{"a", "b", "c"}, map[string]string{"a": "before a", "b": "before b", "c": "before c"}},
		"another runs": {true, []string{"a", "b"}, map[string]string{"a": "before a", "b": "before b", "c": "after c"}},
	} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				f := newFolder(t, rt)
				write := func(name, content string) {
					if err := os.WriteFile(filepath.Join(f.path, name), []byte(content), 0o644); err != nil {
						t.Fatal(err)
					}
				}
				names := []string{"a", "b", "c"}
				for _, name := range names {
					write(name, "before "+name)
				}
				first := f.agent("e1")
				first.must(first.BeginTurn(t.Context()))
				first.must(first.BeforeCall(t.Context(), "c1"))
				for _, name := range names {
					write(name, "after "+name)
				}
				first.must(first.AfterCall(t.Context(), "c1"))
				first.settle()
				whole, err := HistoryOf(first.log).Whole()
				first.must(err)
				first.Close()

				journal := Journal{To: 1, From: whole.To.Trees, Token: "TOKEN"}
				aside := workspace.StagedNameOf(journal.Token, "b", "")
				write("a", "before a")
				write("b", "before b")
				write(aside, "after b")

				if test.busy {
					other := f.agent("e2")
					defer other.Close()
					other.must(other.BeforeCall(t.Context(), "c"))
				}
				next := &agent{folder: f, name: "e1"}
				next.Keeper = f.service.Keep(Execution{
					ID: "e1", Mode: domain.CheckpointsRequired, Folders: []string{f.path}, Trees: whole.To.Trees, Recovered: true,
				}, func(_ context.Context, event domain.CheckpointCreated) error {
					for _, change := range event.Folders[0].Changes {
						if change.Path == aside {
							t.Errorf("the checkpoint %s has %s", event.Moment, aside)
						}
					}
					return nil
				})
				defer next.Close()
				var kept Journal
				result, err := next.Rollback(t.Context(), Rollback{To: whole.From}, "", &journal, func(_ context.Context, journal Journal) error {
					kept = journal
					return nil
				})
				next.must(err)
				if diff := cmp.Diff(test.restored, result.Folders[0].Restored); diff != "" || result.Folders[0].KeptCount > 0 {
					t.Errorf("%+v: want (-), got (+):\n%s", result, diff)
				}
				if isBusy := result.Error != nil && result.Error.Code == domain.CodeBusy; isBusy != test.busy || kept.Token != journal.Token {
					t.Errorf("it ended with %+v, and the journal is %+v", result.Error, kept)
				}
				if _, err := os.Lstat(filepath.Join(f.path, aside)); !os.IsNotExist(err) {
					t.Errorf("%s lies there still: %v", aside, err)
				}
				for name, want := range test.disk {
					if content, err := os.ReadFile(filepath.Join(f.path, name)); string(content) != want {
						t.Errorf("%s is %q, %v", name, content, err)
					}
				}
			})
		})
	}
}
