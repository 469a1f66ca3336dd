package workspace

import (
	"os"
	"path/filepath"
	"testing"

	"signoff/internal/domain"
)

// TestPlaceIsWhereAFileMayBeChanged: whoever changes files by a folder that was opened is held to the boundary of [Workspace.Change].
func TestPlaceIsWhereAFileMayBeChanged(t *testing.T) {
	w, root := tree(t)
	w.Guard(Guards{Names: []string{".envrc"}})
	for path, want := range map[string]domain.Code{
		"note.txt": "", "new": "", "sub/deep.txt": "", filepath.Join(root, "sub/new"): "",
		"../secret.txt": domain.CodePathOutsideWorkspace, "data/token": domain.CodePathOutsideWorkspace, "to-data/token": domain.CodePathOutsideWorkspace,
		"to-evil/secret.txt": domain.CodePathOutsideWorkspace, ".git/config": domain.CodePathOutsideWorkspace, "sub/.envrc": domain.CodePathOutsideWorkspace,
		"missing/new": domain.CodeToolFailed,
	} {
		folder, name, err := w.Place(root, path)
		if (err != nil || want != "") && domain.CodeOf(err) != want {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
		if err != nil {
			continue
		}
		there, err := folder.Stat(".")
		must(t, err)
		expected, err := os.Stat(filepath.Dir(filepath.Join(root, "sub", "..", trimmed(root, path))))
		must(t, err)
		if !os.SameFile(there, expected) || name != filepath.Base(path) {
			t.Errorf("%s: %q in another folder", path, name)
		}
		must(t, folder.Close())
	}
}

func trimmed(root, path string) string {
	if inside, err := filepath.Rel(root, path); err == nil && filepath.IsAbs(path) {
		return inside
	}
	return path
}
