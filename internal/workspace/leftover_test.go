package workspace

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"signoff/internal/domain"
)

// killed leaves a workspace as a server does that is killed in the middle of a change: the file has its second name, and
// the staged file has not taken the first one.
func killed(t *testing.T, root, path string) {
	t.Helper()
	w, err := New(root)
	must(t, err)
	set := &changeSet{workspace: w, directory: root}
	set.root, err = openRoot(root)
	must(t, err)
	defer set.root.Close()
	defer set.close()
	must(t, set.stage(put(path, "never")))
	must(t, set.files[0].keep())
	if info, err := os.Stat(filepath.Join(root, path)); err != nil || !linked(info) {
		t.Fatalf("%s has no second name: %v", path, err)
	}
}

func TestAKilledChangeLocksNoFileOut(t *testing.T) {
	for name, use := range map[string]func(w *Workspace, root string) error{
		"read": func(w *Workspace, root string) error {
			_, err := content(w, root, "sub/deep.txt")
			return err
		},
		"read by a link": func(w *Workspace, root string) error {
			_, err := content(w, root, "to-deep")
			return err
		},
		"change": func(w *Workspace, root string) error {
			return w.Change(root, []domain.FileChange{edit("sub/deep.txt", "deep", "deep")}, always)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, root := tree(t)
			must(t, os.Symlink("sub/deep.txt", filepath.Join(root, "to-deep")))
			killed(t, root, "sub/deep.txt")
			killed(t, root, "note.txt")
			if err := use(w, root); err != nil {
				t.Error(err)
			}
			if info, err := os.Stat(filepath.Join(root, "sub/deep.txt")); err != nil || linked(info) {
				t.Errorf("the second name is still there, %v", err)
			}
			if got, err := content(w, root, "sub/deep.txt"); err != nil || got != "deep" {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}

// TestOtherSecondNamesStay: a link that a change has not made may lead anywhere, and what another change needs is not swept away.
func TestOtherSecondNamesStay(t *testing.T) {
	w, root := tree(t)
	must(t, os.Link(filepath.Join(root, "hard"), filepath.Join(root, leftoverPrefix+"planted")))
	must(t, os.WriteFile(filepath.Join(root, leftoverPrefix+"staged"), []byte("of another change"), 0o600))
	if _, err := content(w, root, "hard"); domain.CodeOf(err) != domain.CodePathOutsideWorkspace {
		t.Errorf("read: %v", err)
	}
	if err := w.Change(root, []domain.FileChange{put("hard", "x")}, always); domain.CodeOf(err) != domain.CodePathOutsideWorkspace {
		t.Errorf("changed: %v", err)
	}
	if _, err := os.Lstat(filepath.Join(root, leftoverPrefix+"staged")); err != nil {
		t.Errorf("the staged file of another change: %v", err)
	}
	if secret, err := os.ReadFile(filepath.Join(root, "../secret.txt")); err != nil || string(secret) != "SECRET" {
		t.Errorf("the other name holds %q, %v", secret, err)
	}
}

func content(w *Workspace, root, path string) (string, error) {
	file, err := w.Open(root, path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	text, err := io.ReadAll(file)
	return string(text), err
}

// TestReadOnlyFilesStay: a rename would replace them all the same.
func TestReadOnlyFilesStay(t *testing.T) {
	w, root := tree(t)
	must(t, os.Chmod(filepath.Join(root, "note.txt"), 0o444))
	before := snapshot(t, root)
	for name, change := range map[string]domain.FileChange{
		"replaced": put("note.txt", "x"), "edited": edit("note.txt", "a note", "x"), "deleted": remove("note.txt", "a note"),
	} {
		err := w.Change(root, []domain.FileChange{put("sub/deep.txt", "x"), change}, always)
		if domain.CodeOf(err) != domain.CodeToolFailed || domain.FailureOf(err).Message != "note.txt is read-only: not even its owner may write it." {
			t.Errorf("%s: %v", name, err)
		}
	}
	if after := snapshot(t, root); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
}
