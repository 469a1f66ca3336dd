package folders

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/domain"
)

// tree is what a folder holds: modes, times and contents.
func tree(t *testing.T, folder string) map[string]string {
	t.Helper()
	all := map[string]string{}
	must(t, filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
		must(t, err)
		info, err := os.Lstat(path)
		must(t, err)
		relative, err := filepath.Rel(folder, path)
		must(t, err)
		content := ""
		switch {
		case info.Mode().IsRegular():
			read, err := os.ReadFile(path)
			must(t, err)
			content = string(read)
		case info.Mode()&fs.ModeSymlink != 0:
			content, err = os.Readlink(path)
			must(t, err)
			all[relative] = content
			return nil
		}
		if relative != "." {
			all[relative] = fmt.Sprint(info.Mode(), info.ModTime().Unix(), content)
		}
		return nil
	}))
	return all
}

func TestCopy(t *testing.T) {
	f, from := opened(t), t.TempDir()
	for path, mode := range map[string]fs.FileMode{"plain": 0o644, "private": 0o600, "program": 0o755, ".git/HEAD": 0o644, "node_modules/x/y": 0o444, "data/secret": 0o600, "hide/x": 0o600} {
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(from, path)), 0o755))
		must(t, os.WriteFile(filepath.Join(from, path), []byte(path), 0o600))
		must(t, os.Chmod(filepath.Join(from, path), mode))
		must(t, os.Chtimes(filepath.Join(from, path), time.Time{}, time.Unix(1_000_000_000, 0)))
	}
	must(t, os.Mkdir(filepath.Join(from, "empty"), 0o700))
	must(t, os.Symlink("/etc/passwd", filepath.Join(from, "out")))
	must(t, os.Symlink("plain", filepath.Join(from, "in")))
	must(t, os.Chmod(filepath.Join(from, "node_modules", "x"), 0o500))
	want := tree(t, from)
	for _, left := range []string{"data", "data/secret", "hide", "hide/x"} {
		delete(want, left)
	}
	must(t, syscall.Mkfifo(filepath.Join(from, "pipe"), 0o600))
	must(t, os.Mkdir(filepath.Join(from, "linked"), 0o755))
	want["linked"] = tree(t, from)["linked"]
	must(t, os.Chtimes(filepath.Join(from, "linked"), time.Time{}, time.Unix(1_000_000_000, 0)))
	must(t, os.WriteFile(filepath.Join(from, "linked", ".git"), []byte("gitdir: /elsewhere"), 0o600))
	must(t, os.Chtimes(filepath.Join(from, "linked"), time.Time{}, time.Unix(1_000_000_000, 0)))
	want["linked"] = fmt.Sprint(fs.ModeDir|0o755, 1_000_000_000, "")

	f.hidden, f.bounds = []string{filepath.Join(from, "data")}, CopyBounds{Files: 15, Bytes: 1000}
	e := executionOf(t, 0, domain.OwnFolder{Mode: domain.WorkspaceCopy, From: from, Without: []string{filepath.Join(from, "hide")}})
	must(t, f.Make(t.Context(), e))
	if diff := cmp.Diff(want, tree(t, f.Directory(e.ID, domain.OwnFolder{}))); diff != "" {
		t.Error(diff)
	}
	must(t, f.Remove(e.ID))

	for name, bounds := range map[string]CopyBounds{"files": {Files: 11, Bytes: 1000}, "bytes": {Files: 15, Bytes: 40}} {
		f.bounds = bounds
		if err := f.Make(t.Context(), e); domain.CodeOf(err) != domain.CodeEnvironmentUnavailable || !strings.Contains(err.Error(), "more than") || len(f.names(t)) != 0 {
			t.Errorf("too many %s: %v, %q", name, err, f.names(t))
		}
	}
	f.bounds = CopyBounds{Files: 100, Bytes: 1000}
	must(t, os.WriteFile(filepath.Join(from, ".git", "config"), []byte("[core]\n\tworktree = "+from+"\n"), 0o600))
	if err := f.Make(t.Context(), e); domain.CodeOf(err) != domain.CodeEnvironmentUnavailable || len(f.names(t)) != 0 {
		t.Errorf("a repository that names its work tree: %v, %q", err, f.names(t))
	}
}
