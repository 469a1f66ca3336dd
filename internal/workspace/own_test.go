package workspace

import (
	"os"
	"path/filepath"
	"testing"

	"signoff/internal/domain"
)

// The own folders of executions lie in a folder that is hidden from all. Each execution sees its own alone, and no request names one.
func TestOwnFolders(t *testing.T) {
	_, root := tree(t)
	base := filepath.Join(root, "data", "workspaces")
	for _, folder := range []string{"one/sub", "one/.git/hooks", "other"} {
		must(t, os.MkdirAll(filepath.Join(base, folder), 0o755))
	}
	must(t, os.WriteFile(filepath.Join(base, "other", "theirs"), nil, 0o600))
	must(t, os.Symlink(filepath.Join(base, "other"), filepath.Join(base, "one", "link")))
	w, err := New(root, filepath.Join(root, "data"))
	must(t, err)
	w.Guard(Guards{Names: []string{".envrc"}, Git: []string{"hooks"}})
	w.Own(base)
	one, other := filepath.Join(base, "one"), filepath.Join(base, "other")
	for _, directory := range []string{one, one + "/sub", base, "data/workspaces/one", filepath.Join(root, "data")} {
		if got, err := w.Resolve(directory); err == nil {
			t.Errorf("a request works in %s", got)
		}
	}
	if got, err := w.Resolve(one+"/sub", one+"/sub"); err != nil || got != one+"/sub" {
		t.Errorf("who continues there: %s, %v", got, err)
	}
	if got, err := w.Resolve(other, one); err == nil {
		t.Errorf("who continues elsewhere works in %s", got)
	}
	if !w.Holds(one) || !w.Holds(one+"/sub") || w.Holds(base) || w.InDefault(one) || w.RootOf(one) != "" {
		t.Error("an own folder is taken for another one")
	}
	must(t, w.Change(one, []domain.FileChange{put("sub/made", "x")}, always))
	if entries, err := w.List(one, "sub"); err != nil || len(entries) != 1 {
		t.Errorf("%v %v", entries, err)
	}
	for _, path := range []string{".git/hooks/post-commit", ".git/config", ".envrc", "link/x", "../other/x"} {
		if err := w.Change(one, []domain.FileChange{put(path, "x")}, always); domain.CodeOf(err) != domain.CodePathOutsideWorkspace {
			t.Errorf("%s: %v", path, err)
		}
	}
	for directory, path := range map[string]string{one: "link/theirs", one + "/sub": "../../other/theirs", root: "data/workspaces/other/theirs"} {
		if _, err := w.Open(directory, path); domain.CodeOf(err) != domain.CodePathOutsideWorkspace {
			t.Errorf("%s in %s: %v", path, directory, err)
		}
	}
}
