package workspace

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"signoff/internal/domain"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// tree is a workspace with the server's data inside and a secret beside it.
func tree(t *testing.T) (w *Workspace, root string) {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	root = filepath.Join(base, "root")
	for _, folder := range []string{root, filepath.Join(root, "data"), filepath.Join(root, "sub"), filepath.Join(root, ".git"), filepath.Join(root, ".git/hooks"), filepath.Join(base, "root-evil")} {
		must(t, os.Mkdir(folder, 0o755))
	}
	for path, content := range map[string]string{
		"root/note.txt": "a note", "root/sub/deep.txt": "deep", "root/data/token": "SECRET", "secret.txt": "SECRET", "root-evil/secret.txt": "SECRET",
	} {
		must(t, os.WriteFile(filepath.Join(base, path), []byte(content), 0o600))
	}
	for link, target := range map[string]string{
		"root/inside": "note.txt", "root/outside": "../secret.txt", "root/absolute": filepath.Join(base, "secret.txt"),
		"root/to-data": "data", "root/to-token": "data/token", "root/sub/up": "..", "root/to-evil": "../root-evil",
	} {
		must(t, os.Symlink(target, filepath.Join(base, link)))
	}
	must(t, syscall.Mkfifo(filepath.Join(root, "pipe"), 0o600))
	must(t, os.Link(filepath.Join(base, "secret.txt"), filepath.Join(root, "hard")))
	w, err = New(root, filepath.Join(root, "data"))
	must(t, err)
	return w, root
}

func TestOpenFile(t *testing.T) {
	w, root := tree(t)
	for path, want := range map[string]struct {
		content string
		code    domain.Code
	}{
		"note.txt":                      {content: "a note"},
		"./sub/../note.txt":             {content: "a note"},
		"inside":                        {content: "a note"},
		"sub/deep.txt":                  {content: "deep"},
		filepath.Join(root, "note.txt"): {content: "a note"},
		"../secret.txt":                 {code: domain.CodePathOutsideWorkspace},
		"sub/../../secret.txt":          {code: domain.CodePathOutsideWorkspace},
		"outside":                       {code: domain.CodePathOutsideWorkspace},
		"absolute":                      {code: domain.CodePathOutsideWorkspace},
		"to-evil/secret.txt":            {code: domain.CodePathOutsideWorkspace},
		filepath.Join(root+"-evil", "secret.txt"): {code: domain.CodePathOutsideWorkspace},
		"/etc/passwd":            {code: domain.CodePathOutsideWorkspace},
		"data/token":             {code: domain.CodePathOutsideWorkspace},
		"to-data/token":          {code: domain.CodePathOutsideWorkspace},
		"to-token":               {code: domain.CodePathOutsideWorkspace},
		"missing.txt":            {code: domain.CodeToolFailed},
		"sub":                    {code: domain.CodeToolFailed},
		"pipe":                   {code: domain.CodeToolFailed},
		"hard":                   {code: domain.CodePathOutsideWorkspace},
		"..%2fsecret.txt":        {code: domain.CodeToolFailed},
		".../secret.txt":         {code: domain.CodeToolFailed},
		strings.Repeat("x", 300): {code: domain.CodeToolFailed},
		"":                       {code: domain.CodePathOutsideWorkspace},
		"note.txt\x00":           {code: domain.CodeToolFailed},
	} {
		file, err := w.Open(root, path)
		if err != nil {
			if domain.CodeOf(err) != want.code {
				t.Errorf("%q: %v, want %s", path, err, want.code)
			}
			continue
		}
		content, err := io.ReadAll(file)
		must(t, err)
		must(t, file.Close())
		if want.code != "" || string(content) != want.content {
			t.Errorf("%q gives %q, want %+v", path, content, want)
		}
	}
}

func TestOpenFileAfterTheDirectoryWasReplaced(t *testing.T) {
	w, root := tree(t)
	directory := filepath.Join(root, "sub")
	must(t, os.Rename(directory, directory+".old"))
	must(t, os.Symlink("../root-evil", directory))
	if _, err := w.Open(directory, "secret.txt"); domain.CodeOf(err) != domain.CodePathOutsideWorkspace {
		t.Errorf("got %v", err)
	}
}

func TestResolve(t *testing.T) {
	w, root := tree(t)
	for directory, want := range map[string]string{
		"": root, ".": root, "sub": filepath.Join(root, "sub"), filepath.Join(root, "sub"): filepath.Join(root, "sub"), "sub/up": root,
		"..": "", "/": "", "/etc": "", "to-evil": "", root + "-evil": "", "missing": "", "note.txt": "", "data": "", "to-data": "", ".git": "", ".git/hooks": "",
	} {
		got, err := w.Resolve(directory)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q is %q, %v; want %q", directory, got, err, want)
		}
		if err != nil && domain.CodeOf(err) != domain.CodeInvalid {
			t.Errorf("%q: %v", directory, err)
		}
	}
}

func TestChangeOneFile(t *testing.T) {
	w, root := tree(t)
	must(t, os.Symlink(".git/hooks", filepath.Join(root, "to-hooks")))
	must(t, os.Chmod(filepath.Join(root, "note.txt"), 0o640))
	for path, place := range map[string]string{ // "" is refused
		"note.txt": "note.txt", "new.txt": "new.txt", "a/b/c/new.txt": "a/b/c/new.txt", "sub/up/by-link.txt": "by-link.txt",
		filepath.Join(root, "absolute.txt"): "absolute.txt", ".gitignore": ".gitignore", "empty.txt": "empty.txt",
		"../secret.txt": "", "/etc/signoff-test": "", "outside": "", "absolute": "", "inside": "", "sub": "", "pipe": "", "": "",
		"hard": "", strings.Repeat("x", 300): "",
		"to-evil/secret.txt": "", "data/token": "", "data/new/x": "", "to-data/token": "", "to-data/new/x": "", "to-token": "",
		".git/config": "", ".git/hooks/pre-commit": "", "to-hooks/pre-commit": "", "to-hooks/new/x": "", "sub/up/.git/config": "",
		"note.txt/below": "", "name\x00": "",
	} {
		content := "written to " + path
		if path == "empty.txt" {
			content = ""
		}
		err := w.Change(root, []domain.FileChange{{Path: path, Content: []byte(content)}}, always)
		if place == "" {
			if code := domain.CodeOf(err); code != domain.CodePathOutsideWorkspace && code != domain.CodeToolFailed {
				t.Errorf("%q: %v", path, err)
			}
			continue
		}
		if got, readErr := os.ReadFile(filepath.Join(root, place)); err != nil || readErr != nil || string(got) != content {
			t.Errorf("%q: %q, %v, %v", path, got, err, readErr)
		}
	}
	if info, err := os.Stat(filepath.Join(root, "note.txt")); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("the mode of what was there: %v, %v", info.Mode(), err)
	}
	for _, none := range []string{"data/new", ".git/hooks/pre-commit", ".git/hooks/new", ".git/config"} {
		if _, err := os.Lstat(filepath.Join(root, none)); err == nil {
			t.Errorf("%s was made", none)
		}
	}
	nothingIsLeft(t, root)
	if token, _ := os.ReadFile(filepath.Join(root, "data/token")); string(token) != "SECRET" {
		t.Errorf("the token is %q", token)
	}
	if secret, _ := os.ReadFile(filepath.Join(root, "../secret.txt")); string(secret) != "SECRET" {
		t.Errorf("the secret is %q", secret)
	}
}

func TestKernelFilesAreOutside(t *testing.T) {
	w, err := New("/")
	must(t, err)
	for _, path := range []string{"/proc/self/environ", "/proc/self/root/etc/hostname", "/proc/version"} {
		if _, err := w.Open("/", path); domain.CodeOf(err) != domain.CodePathOutsideWorkspace {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := w.List("/", "proc"); domain.CodeOf(err) != domain.CodePathOutsideWorkspace {
		t.Errorf("the list: %v", err)
	}
	if err := w.Change("/", []domain.FileChange{{Path: "/proc/self/comm", Content: []byte("x")}}, always); domain.CodeOf(err) != domain.CodePathOutsideWorkspace {
		t.Errorf("the change: %v", err)
	}
}

func TestList(t *testing.T) {
	w, root := tree(t)
	for path, want := range map[string]string{ // names, with a slash for a folder and an @ for a link
		".": ".git/ absolute@ hard inside@ note.txt outside@ pipe sub/ to-data@ to-evil@ to-token@", "sub": "deep.txt up@", root: ".git/ absolute@ hard inside@ note.txt outside@ pipe sub/ to-data@ to-evil@ to-token@",
		"sub/": "deep.txt up@", "sub/up/sub": "deep.txt up@", ".git": "hooks/",
		"..": "pathOutsideWorkspace", "/": "pathOutsideWorkspace", "/etc": "pathOutsideWorkspace", "to-evil": "pathOutsideWorkspace",
		"data": "pathOutsideWorkspace", "to-data": "pathOutsideWorkspace", root + "-evil": "pathOutsideWorkspace",
		"note.txt": "toolFailed", "pipe": "toolFailed", "missing": "toolFailed", "sub\x00": "toolFailed", "": "pathOutsideWorkspace",
	} {
		entries, err := w.List(root, path)
		if err != nil {
			if string(domain.CodeOf(err)) != want {
				t.Errorf("%q: %v, want %s", path, err, want)
			}
			continue
		}
		var names []string
		for _, entry := range entries {
			mark := map[bool]string{entry.IsDir(): "/", entry.Type()&os.ModeSymlink != 0: "@"}[true]
			names = append(names, entry.Name()+mark)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%q has %s, want %s", path, got, want)
		}
	}
}
