package checkpoint

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// plain runs git without isolation: what git does with a repository is the same.
type plain struct{}

func (plain) Run(ctx context.Context, command Command, in io.Reader, out io.Writer) error {
	return runBare(prepare(ctx, command, in, out))
}

// prepare makes the process of a command, without isolation.
func prepare(ctx context.Context, command Command, in io.Reader, out io.Writer) *exec.Cmd {
	run := exec.CommandContext(ctx, command.Argv[0], command.Argv[1:]...)
	run.Env = append(command.Env, "PATH="+os.Getenv("PATH"), "HOME=/nowhere", "GIT_DIR="+command.Repository)
	run.Dir, run.Stdin, run.Stdout = command.Repository, in, out
	if command.Workspace != "" {
		run.Dir, run.Env = command.Workspace, append(run.Env, "GIT_WORK_TREE="+command.Workspace)
	}
	return run
}

func runBare(run *exec.Cmd) error {
	var stderr bytes.Buffer
	run.Stderr = &stderr
	err := run.Run()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return &ExitError{Code: exit.ExitCode(), Stderr: stderr.String()}
	}
	return err
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// series is one over an empty workspace.
func series(t *testing.T) (s *Series, workspace string) {
	t.Helper()
	folder := t.TempDir()
	workspace = filepath.Join(folder, "workspace")
	must(t, os.Mkdir(workspace, 0o755))
	r, err := OpenRepository(plain{}, filepath.Join(folder, "repository"))
	must(t, err)
	return NewSeries(Config{Repository: r, Workspace: workspace, Name: "e1", Limits: DefaultLimits}), workspace
}

func ours(string, Difference) By { return Ours }

func take(t *testing.T, s *Series) Checkpoint {
	t.Helper()
	point, err := s.Take(t.Context(), ours)
	must(t, err)
	return point
}

func put(t *testing.T, workspace, path, content string, mode fs.FileMode) {
	t.Helper()
	name := filepath.Join(workspace, path)
	must(t, os.MkdirAll(filepath.Dir(name), 0o755))
	must(t, os.WriteFile(name, []byte(content), mode))
	must(t, os.Chmod(name, mode))
}

// held is what a checkpoint holds, by path: the mode, and the content or the target.
func held(t *testing.T, s *Series, point Checkpoint) map[string]string {
	t.Helper()
	l, err := s.repository.listing(t.Context(), point.ID)
	must(t, err)
	all, paths, objects := map[string]string{}, []string(nil), []string(nil)
	for path, one := range l.entries {
		all[path] = one.Mode.String() + one.ACLs.shown() + " "
		if one.Object != "" {
			paths, objects = append(paths, path), append(objects, one.Object)
		}
	}
	must(t, s.repository.Contents(t.Context(), objects, func(_ string, _ int64, content io.Reader) error {
		text, err := io.ReadAll(content)
		all[paths[0]] += string(text)
		paths = paths[1:]
		return err
	}))
	return all
}

// disk is the same of the folder itself.
func disk(t *testing.T, workspace string, without ...string) map[string]string {
	t.Helper()
	all := map[string]string{}
	must(t, filepath.WalkDir(workspace, func(name string, entry fs.DirEntry, err error) error {
		must(t, err)
		path, err := filepath.Rel(workspace, name)
		must(t, err)
		for _, one := range without {
			if path == one {
				if entry.IsDir() {
					return filepath.SkipDir
				}
				return nil
			}
		}
		info, err := entry.Info()
		must(t, err)
		switch {
		case path == ".":
		case entry.IsDir():
			all[path] = info.Mode().String() + shownACLs(t, name) + " "
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(name)
			must(t, err)
			all[path] = (fs.ModeSymlink | 0o777).String() + " " + target
		default:
			content, err := os.ReadFile(name)
			must(t, err)
			all[path] = info.Mode().String() + shownACLs(t, name) + " " + string(content)
		}
		return nil
	}))
	return all
}

// TestACheckpointHasTheExactBytesAndModes, whatever a workspace says that git should do with them.
func TestACheckpointHasTheExactBytesAndModes(t *testing.T) {
	s, workspace := series(t)
	marker := filepath.Join(t.TempDir(), "ran")
	put(t, workspace, ".gitattributes", "* text=auto eol=lf ident filter=evil working-tree-encoding=UTF-16\n", 0o644)
	put(t, workspace, ".git/config", "[filter \"evil\"]\n\tclean = touch "+marker+"\n\trequired = true\n[core]\n\tfsmonitor = touch "+marker+"\n", 0o644)
	put(t, workspace, ".git/hooks/reference-transaction", "#!/bin/sh\ntouch "+marker+"\n", 0o755)
	put(t, workspace, ".git/hooks/post-index-change", "#!/bin/sh\ntouch "+marker+"\n", 0o755)
	put(t, workspace, "crlf.txt", "one\r\ntwo\r\n$Id$\r\n", 0o644)
	put(t, workspace, "mixed.txt", "one\r\ntwo\n\x00three\r", 0o664)
	put(t, workspace, "secret", "key", 0o600)
	put(t, workspace, "run", "#!/bin/sh\n", 0o750)
	put(t, workspace, "setuid", "x", 0o755|fs.ModeSetuid)
	put(t, workspace, "closed/file", "x", 0o644)
	put(t, workspace, "empty file", "", 0o444)
	put(t, workspace, "quo\"te\\s\n and lines", "x", 0o644)
	put(t, workspace, " lead", "x", 0o644)
	put(t, workspace, "ünïcode/→", "x", 0o644)
	must(t, os.MkdirAll(filepath.Join(workspace, "empty/inner"), 0o755))
	must(t, os.Chmod(filepath.Join(workspace, "closed"), 0o700))
	must(t, os.Symlink("crlf.txt", filepath.Join(workspace, "in")))
	must(t, os.Symlink("/etc/passwd", filepath.Join(workspace, "out")))
	must(t, os.Symlink("../../nowhere", filepath.Join(workspace, "dangling")))
	must(t, os.Symlink("closed", filepath.Join(workspace, "folder")))

	first := take(t, s)
	if diff := cmp.Diff(disk(t, workspace, ".git"), held(t, s, first)); diff != "" {
		t.Errorf("the folder (-) and the checkpoint (+) differ:\n%s", diff)
	}
	if len(first.NotCovered) != 0 || !first.First {
		t.Errorf("the first checkpoint: %+v", first)
	}
	if _, err := os.Lstat(marker); err == nil {
		t.Error("a program that the workspace names was run")
	}
	if again := take(t, s); again.ID != first.ID || len(again.Changes) != 0 {
		t.Errorf("nothing has changed: %+v", again)
	}
}

// TestAChangeIsToldWithItsLines.
func TestAChangeIsToldWithItsLines(t *testing.T) {
	s, workspace := series(t)
	s.now = func() time.Time { return time.Now().Add(time.Minute) } // what is there now has been there for long
	long := strings.Repeat("a line of a file\n", 20)
	put(t, workspace, "stays", strings.Repeat("x", 10_000), 0o644)
	put(t, workspace, "edited", "one\ntwo\nthree\n", 0o644)
	put(t, workspace, "gone/deep", "one\ntwo\n", 0o644)
	put(t, workspace, "before", long, 0o644)
	put(t, workspace, "opened", "x\n", 0o600)
	put(t, workspace, "made executable", "x\n", 0o644)
	put(t, workspace, "becomes a folder", "1\n", 0o644)
	put(t, workspace, "becomes a file/inner", "2\n", 0o644)
	put(t, workspace, "becomes a link", "x\n", 0o644)
	put(t, workspace, "picture", "\x00\x01", 0o644)
	take(t, s)

	put(t, workspace, "edited", "one\n2\nthree\nfour\n", 0o644)
	must(t, os.RemoveAll(filepath.Join(workspace, "gone")))
	must(t, os.Rename(filepath.Join(workspace, "before"), filepath.Join(workspace, "after")))
	must(t, os.Chmod(filepath.Join(workspace, "opened"), 0o640))
	must(t, os.Chmod(filepath.Join(workspace, "made executable"), 0o755))
	for _, name := range []string{"becomes a folder", "becomes a file", "becomes a link"} {
		must(t, os.RemoveAll(filepath.Join(workspace, name)))
	}
	put(t, workspace, "becomes a folder/inner", "3\n", 0o644)
	put(t, workspace, "becomes a file", "4\n", 0o644)
	must(t, os.Symlink("x", filepath.Join(workspace, "becomes a link")))
	put(t, workspace, "picture", "\x00\x02", 0o644)
	must(t, os.Mkdir(filepath.Join(workspace, "empty"), 0o755))
	put(t, workspace, "new", "a\nb", 0o644)

	second := take(t, s)
	type summary struct {
		Kind                 ChangeKind
		From                 string
		Additions, Deletions int
		Binary               bool
	}
	got := map[string]summary{}
	for _, one := range second.Changes {
		got[one.Path] = summary{one.Kind, one.From, one.Additions, one.Deletions, one.Binary}
	}
	want := map[string]summary{
		"edited": {Kind: Modified, Additions: 2, Deletions: 1}, "gone/deep": {Kind: Deleted, Deletions: 2}, "after": {Kind: Renamed, From: "before"},
		"opened": {Kind: ModeChanged}, "made executable": {Kind: ModeChanged}, "picture": {Kind: Modified, Binary: true},
		"becomes a folder": {Kind: Deleted, Deletions: 1}, "becomes a folder/inner": {Kind: Added, Additions: 1},
		"becomes a file/inner": {Kind: Deleted, Deletions: 1}, "becomes a file": {Kind: Added, Additions: 1},
		"becomes a link": {Kind: TypeChanged, Additions: 1, Deletions: 1}, "empty": {Kind: Added}, "new": {Kind: Added, Additions: 2},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want (-), got (+):\n%s", diff)
	}
	if diff := cmp.Diff(disk(t, workspace), held(t, s, second)); diff != "" {
		t.Errorf("the folder (-) and the checkpoint (+) differ:\n%s", diff)
	}
	if second.Read > 400 {
		t.Errorf("%d bytes were read again", second.Read)
	}
}

// TestWhatIsNotCoveredIsListed, with its reason, and is no part of the checkpoint.
func TestWhatIsNotCoveredIsListed(t *testing.T) {
	s, workspace := series(t)
	s.limits = Limits{File: 1 << 20, IgnoredFile: 1 << 10, IgnoredFiles: 2}
	large := strings.Repeat("x", 2<<10)
	put(t, workspace, ".gitignore", "*.log\n!keep.log\n/build/\n/vendor/*\n", 0o644)
	put(t, workspace, "deep/.gitignore", "private\n!*.log\n", 0o644)
	put(t, workspace, "huge", "", 0o644)
	must(t, os.Truncate(filepath.Join(workspace, "huge"), 200<<20))
	put(t, workspace, "large", large, 0o644)
	put(t, workspace, "large.log", large, 0o644)
	put(t, workspace, "keep.log", large, 0o644)
	put(t, workspace, "deep/large.log", large, 0o644)
	put(t, workspace, "deep/private", large, 0o644)
	put(t, workspace, "small.log", "x", 0o644)
	put(t, workspace, "node_modules/a/index.js", "x", 0o644)
	put(t, workspace, "deep/node_modules/a/index.js", "x", 0o644)
	put(t, workspace, "build/out", "x", 0o644)
	put(t, workspace, "deep/build/out", "x", 0o644)
	put(t, workspace, "nested/.git/HEAD", "ref: refs/heads/main\n", 0o644)
	put(t, workspace, "nested/file", "x", 0o644)
	put(t, workspace, "submodule/.git", "gitdir: ../.git/modules/submodule\n", 0o644)
	put(t, workspace, "submodule/file", "x", 0o644)
	put(t, workspace, "data/token", "secret", 0o600)
	must(t, syscall.Mkfifo(filepath.Join(workspace, "pipe"), 0o644))
	must(t, os.WriteFile(filepath.Join(workspace, "not text \xff"), nil, 0o644))
	s.hidden = []string{"data"}

	point := take(t, s)
	got := map[string]Reason{}
	for _, one := range point.NotCovered {
		got[one.Path] = one.Reason
	}
	if diff := cmp.Diff(map[string]Reason{
		"huge": TooLarge, "large.log": IgnoredTooLarge, "deep/private": IgnoredTooLarge, "node_modules": Generated, "deep/node_modules": Generated,
		"build": Generated, "nested": NestedRepository, "submodule": NestedRepository, "data": Hidden, "pipe": Special, "not text \uFFFD": NotText,
	}, got); diff != "" {
		t.Errorf("want (-), got (+):\n%s", diff)
	}
	want := disk(t, workspace, "huge", "large.log", "deep/private", "node_modules", "deep/node_modules", "build", "nested", "submodule", "data", "pipe", "not text \xff")
	if diff := cmp.Diff(want, held(t, s, point)); diff != "" {
		t.Errorf("the folder (-) and the checkpoint (+) differ:\n%s", diff)
	}
	l, err := s.repository.listing(t.Context(), point.ID)
	must(t, err)
	if diff := cmp.Diff(point.NotCovered, l.notCovered); diff != "" {
		t.Errorf("the checkpoint (-) and what was read back (+) differ:\n%s", diff)
	}
}

// TestAFolderIsReadOnce: neither a second execution nor a restart reads again what has not changed since.
func TestAFolderIsReadOnce(t *testing.T) {
	s, workspace := series(t)
	later := func() time.Time { return time.Now().Add(time.Minute) }
	s.now = later
	put(t, workspace, "a", "one\n", 0o644)
	put(t, workspace, "b", "two\n", 0o644)
	first := take(t, s)
	if first.Read != 8 {
		t.Errorf("the first checkpoint has read %d bytes", first.Read)
	}
	put(t, workspace, "b", "three\n", 0o644)
	for name, last := range map[string]string{"e1": first.ID, "e2": ""} {
		next := NewSeries(Config{Repository: s.repository, Workspace: workspace, Name: name, Last: last, Limits: DefaultLimits})
		next.now = later
		point := take(t, next)
		if point.Read > 6 || point.First != (last == "") || len(point.Changes) != len(last)/64 {
			t.Errorf("%s: %+v", name, point)
		}
		if diff := cmp.Diff(disk(t, workspace), held(t, next, point)); diff != "" {
			t.Errorf("%s: the folder (-) and the checkpoint (+) differ:\n%s", name, diff)
		}
	}
	t.Run("an index that names what is gone", func(t *testing.T) {
		must(t, s.repository.saveIndex(index{tree: first.ID, read: map[string]reading{"a": {object: first.ID}}}))
		next := NewSeries(Config{Repository: s.repository, Workspace: workspace, Name: "e3", Limits: DefaultLimits})
		if diff := cmp.Diff(disk(t, workspace), held(t, next, take(t, next))); diff != "" {
			t.Errorf("the folder (-) and the checkpoint (+) differ:\n%s", diff)
		}
	})
}

// TestAModeThatAnotherExecutionSaw: a restarted execution takes the index from another one, which has seen the mode of a file before it.
func TestAModeThatAnotherExecutionSaw(t *testing.T) {
	s, workspace := series(t)
	put(t, workspace, "run.sh", "true\n", 0o644)
	take(t, s)
	must(t, os.Chmod(filepath.Join(workspace, "run.sh"), 0o755))
	take(t, NewSeries(Config{Repository: s.repository, Workspace: workspace, Name: "e2", Limits: DefaultLimits}))
	restarted := NewSeries(Config{Repository: s.repository, Workspace: workspace, Name: "e1", Last: s.last, Limits: DefaultLimits})
	if diff := cmp.Diff(disk(t, workspace), held(t, restarted, take(t, restarted))); diff != "" {
		t.Errorf("the folder (-) and the checkpoint (+) differ:\n%s", diff)
	}
}

// TestTheUsersRepositoryIsOnlyLookedAt: what moves there is told, and nothing of it is changed, also in the middle of a merge.
func TestTheUsersRepositoryIsOnlyLookedAt(t *testing.T) {
	s, workspace := series(t)
	git := func(args ...string) {
		t.Helper()
		run := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"}, args...)...)
		run.Dir = workspace
		_ = run.Run() // a merge with conflicts ends with 1
	}
	git("init")
	put(t, workspace, "file", "one\n", 0o644)
	git("add", ".")
	git("commit", "-m", "one")
	git("checkout", "-b", "other")
	put(t, workspace, "file", "other\n", 0o644)
	git("commit", "-am", "other")
	git("checkout", "main")
	put(t, workspace, "file", "main\n", 0o644)
	git("commit", "-am", "main")
	if point := take(t, s); point.Moved != nil {
		t.Errorf("before anything moved: %+v", point.Moved)
	}
	git("merge", "other")
	merging := disk(t, filepath.Join(workspace, ".git"))
	point := take(t, s)
	if want := (&Moved{Index: true}); !cmp.Equal(want, point.Moved) {
		t.Errorf("in the middle of a merge: %+v", point.Moved)
	}
	if diff := cmp.Diff(merging, disk(t, filepath.Join(workspace, ".git"))); diff != "" {
		t.Errorf("the user's repository has changed:\n%s", diff)
	}
	git("merge", "--abort")
	git("checkout", "-b", "third", "other")
	git("pack-refs", "--all")
	git("branch", "-D", "main")
	want := &Moved{HeadFrom: "ref: refs/heads/main", HeadTo: "ref: refs/heads/third", Branches: []string{"refs/heads/main", "refs/heads/third"}, Index: true}
	if point := take(t, s); !cmp.Equal(want, point.Moved) {
		t.Errorf("after a checkout: %s", cmp.Diff(want, point.Moved))
	}
}
