package workspace

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"signoff/internal/domain"
)

// roots is a workspace with the root of [tree] and two named ones, beside a folder that is only a mount.
func roots(t *testing.T) (w *Workspace, root, app, mount string) {
	t.Helper()
	_, root = tree(t)
	base := filepath.Dir(root)
	app, mount = filepath.Join(base, "app"), filepath.Join(base, "mount")
	for _, folder := range []string{"app/sub", "app/.git/hooks", "other", "mount/sub", "mount/.git", "mount/inner-data", "root/a:b", "root/app"} {
		must(t, os.MkdirAll(filepath.Join(base, folder), 0o755))
	}
	must(t, os.Symlink(mount, filepath.Join(app, "to-mount")))
	must(t, os.Symlink(filepath.Join(root, "sub"), filepath.Join(app, "to-root")))
	must(t, os.Symlink("/etc", filepath.Join(mount, "to-etc")))
	w, err := NewRoots(map[string]string{"default": root, "app": app, "other": filepath.Join(base, "other")}, filepath.Join(root, "data"), filepath.Join(mount, "inner-data"))
	must(t, err)
	w.Guard(Guards{Names: []string{".envrc"}, Git: []string{"hooks"}})
	return w, root, app, mount
}

func TestResolveInSeveralRoots(t *testing.T) {
	w, root, app, mount := roots(t)
	for directory, want := range map[string]string{
		"": root, "sub": root + "/sub", "default:": root, "default:sub": root + "/sub", "app": root + "/app", "./a:b": root + "/a:b",
		"app:": app, "app:.": app, "app:sub": app + "/sub", app: app, app + "/sub": app + "/sub", "app:to-root": root + "/sub",
		"app:..": "", "app:../root": "", "app:/etc": "", "app:" + app: "", "app:missing": "", "app:.git/hooks": "", app + "/.git": "", "app:to-mount": "",
		"missing:sub": "", "a:b": "", mount: "", "data": "",
	} {
		got, err := w.Resolve(directory)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q is %q, %v; want %q", directory, got, err, want)
		}
		var coded *domain.Error
		if err != nil && (!errors.As(err, &coded) || coded.Code != domain.CodeInvalid || coded.Details[0].Pointer != "/workingDirectory") {
			t.Errorf("%q: %v", directory, err)
		}
	}
	if _, err := w.Resolve("missing:sub"); err == nil || !strings.Contains(err.Error(), "there are: default, app, other.") {
		t.Error(err)
	}
}

// A mount that an environment may write is a working directory, too, but for what is hidden in it and git's own.
func TestResolveInAMount(t *testing.T) {
	w, root, _, mount := roots(t)
	for directory, want := range map[string]string{
		mount: mount, mount + "/sub": mount + "/sub", mount + "/../mount/sub": mount + "/sub", "app:to-mount": mount, "sub": root + "/sub",
		mount + "/to-etc": "", mount + "/.git": "", mount + "/inner-data": "", filepath.Dir(mount): "", mount + "-evil": "", "/etc": "",
	} {
		if got, err := w.Resolve(directory, "/nowhere", mount); got != want || (err == nil) != (want != "") {
			t.Errorf("%q is %q, %v; want %q", directory, got, err, want)
		}
	}
}

func TestEachRootHasItsGuards(t *testing.T) {
	w, root, app, _ := roots(t)
	for _, directory := range []string{root, app, app + "/sub"} {
		for _, path := range []string{".envrc", "new/.git/config", ".git/hooks/pre-commit"} {
			if err := w.Change(directory, []domain.FileChange{put(path, "x")}, always); domain.CodeOf(err) != domain.CodePathOutsideWorkspace {
				t.Errorf("%s in %s: %v", path, directory, err)
			}
		}
		must(t, w.Change(directory, []domain.FileChange{put("made", "x")}, always))
	}
}

func TestRootsThatCannotBe(t *testing.T) {
	_, root := tree(t)
	base := filepath.Dir(root)
	data := filepath.Join(base, "server/data")
	must(t, os.MkdirAll(filepath.Join(data, "deeper"), 0o755))
	must(t, os.Symlink(root, filepath.Join(base, "link")))
	for name, c := range map[string]struct{ name, folder, says string }{
		"missing":               {"app", base + "/none", "not a folder"},
		"a file":                {"app", base + "/secret.txt", "not a folder"},
		"the data folder":       {"app", data, "data folder"},
		"in the data folder":    {"app", data + "/deeper", "data folder"},
		"above the data folder": {"app", base + "/server", "data folder"},
		"the default one":       {"app", root, "lie in one another"},
		"by a link":             {"app", base + "/link", "lie in one another"},
		"in the default one":    {"app", root + "/sub", "lie in one another"},
		"above the default one": {"app", base, "lie in one another"},
		"everything":            {"app", "/", "lie in one another"},
		"a bad name":            {"a b", base + "/root-evil", "cannot be a name"},
		"a path as a name":      {"a/b", base + "/root-evil", "cannot be a name"},
		"a default that is not": {"default", base + "/none", "not a folder"},
	} {
		folders := map[string]string{"default": root}
		folders[c.name] = c.folder
		_, err := NewRoots(folders, data)
		var coded *domain.Error
		if !errors.As(err, &coded) || !strings.Contains(coded.Message, c.says) || coded.Details[0].Pointer != domain.Pointer("workspaces", c.name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
