package workspace

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"signoff/internal/domain"
)

// nothingIsLeft looks for staged files and second names everywhere.
func nothingIsLeft(t *testing.T, root string) {
	t.Helper()
	must(t, filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if strings.HasPrefix(filepath.Base(path), ".signoff-") {
			t.Errorf("left behind: %s", path)
		}
		return err
	}))
}

// snapshot is every file, link and folder of a workspace, with what is in it.
func snapshot(t *testing.T, root string) string {
	t.Helper()
	var lines strings.Builder
	must(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		fmt.Fprintf(&lines, "%s %s", path, entry.Type())
		if entry.Type().IsRegular() {
			content, err := os.ReadFile(path)
			must(t, err)
			info, err := entry.Info()
			must(t, err)
			fmt.Fprintf(&lines, " %s %q", info.Mode(), content)
		}
		lines.WriteByte('\n')
		return err
	}))
	return lines.String()
}

func put(path, content string) domain.FileChange {
	return domain.FileChange{Path: path, Content: []byte(content)}
}

func create(path, content string) domain.FileChange {
	return domain.FileChange{Path: path, Content: []byte(content), Expect: domain.NoFile}
}

func edit(path, before, content string) domain.FileChange {
	return domain.FileChange{Path: path, Content: []byte(content), Expect: domain.SameFile, Before: []byte(before)}
}

// replace is a change by somebody who has viewed a content, or none.
func replace(t *testing.T, path, viewed, content string) domain.FileChange {
	t.Helper()
	change := domain.FileChange{Path: path, Content: []byte(content), Expect: domain.ViewedFile}
	if viewed != "" {
		hash, err := domain.HashContent(strings.NewReader(viewed))
		must(t, err)
		change.Viewed = hash
	}
	return change
}

func remove(path, before string) domain.FileChange {
	return domain.FileChange{Path: path, Delete: true, Expect: domain.SameFile, Before: []byte(before)}
}

func TestChangesOfSeveralFiles(t *testing.T) {
	w, root := tree(t)
	must(t, os.Chmod(filepath.Join(root, "sub/deep.txt"), 0o751))
	must(t, os.WriteFile(filepath.Join(root, "old.txt"), []byte("old"), 0o600))
	must(t, w.Change(root, []domain.FileChange{
		create("a/b/one.txt", "1"), create("a/b/two.txt", "2"), edit("sub/deep.txt", "deep", "deeper"), remove("old.txt", "old"), put("note.txt", ""),
		replace(t, "never.txt", "", "3"), replace(t, "gone.txt", "what was there", "4"),
	}, always))
	must(t, w.Change(root, []domain.FileChange{replace(t, "never.txt", "3", "5")}, always))
	for path, want := range map[string]string{
		"a/b/one.txt": "1", "a/b/two.txt": "2", "sub/deep.txt": "deeper", "note.txt": "", "never.txt": "5", "gone.txt": "4",
	} {
		if content, err := os.ReadFile(filepath.Join(root, path)); err != nil || string(content) != want {
			t.Errorf("%s: %q, %v", path, content, err)
		}
	}
	if _, err := os.Lstat(filepath.Join(root, "old.txt")); !os.IsNotExist(err) {
		t.Errorf("what was deleted: %v", err)
	}
	if info, err := os.Stat(filepath.Join(root, "sub/deep.txt")); err != nil || info.Mode().Perm() != 0o751 {
		t.Errorf("the mode of what was there: %v, %v", info.Mode(), err)
	}
	if info, err := os.Stat(filepath.Join(root, "a/b/one.txt")); err != nil || info.Mode().Perm()&^0o644 != 0 {
		t.Errorf("the mode of what is new: %v, %v", info.Mode(), err)
	}
	nothingIsLeft(t, root)
}

// TestChangesAreAllOrNone has a good change before each that fails, and one behind it.
func TestChangesAreAllOrNone(t *testing.T) {
	var many []domain.FileChange
	for i := range maxChanges {
		many = append(many, create(fmt.Sprintf("many/%d", i), ""))
	}
	for name, test := range map[string]struct {
		changes []domain.FileChange
		code    domain.Code
	}{
		"outside":             {[]domain.FileChange{put("../secret.txt", "x")}, domain.CodePathOutsideWorkspace},
		"hidden":              {[]domain.FileChange{create("data/new/x", "x")}, domain.CodePathOutsideWorkspace},
		"hidden, deleted":     {[]domain.FileChange{remove("data/token", "SECRET")}, domain.CodePathOutsideWorkspace},
		"hook":                {[]domain.FileChange{create(".git/hooks/pre-commit", "x")}, domain.CodePathOutsideWorkspace},
		"hard link":           {[]domain.FileChange{edit("hard", "SECRET", "x")}, domain.CodePathOutsideWorkspace},
		"hard link, deleted":  {[]domain.FileChange{remove("hard", "SECRET")}, domain.CodePathOutsideWorkspace},
		"link, deleted":       {[]domain.FileChange{{Path: "inside", Delete: true}}, domain.CodeToolFailed},
		"folder":              {[]domain.FileChange{put("sub", "x")}, domain.CodeToolFailed},
		"folder, deleted":     {[]domain.FileChange{{Path: "sub", Delete: true}}, domain.CodeToolFailed},
		"pipe":                {[]domain.FileChange{put("pipe", "x")}, domain.CodeToolFailed},
		"file as folder":      {[]domain.FileChange{put("note.txt/x", "x")}, domain.CodeToolFailed},
		"long name":           {[]domain.FileChange{put("new/folders/"+strings.Repeat("x", 300), "x")}, domain.CodeToolFailed},
		"other content":       {[]domain.FileChange{edit("sub/deep.txt", "shallow", "x")}, domain.CodeConflict},
		"longer content":      {[]domain.FileChange{edit("sub/deep.txt", "dee", "x")}, domain.CodeConflict},
		"gone":                {[]domain.FileChange{edit("new/missing", "", "x")}, domain.CodeConflict},
		"gone, deleted":       {[]domain.FileChange{remove("missing", "")}, domain.CodeConflict},
		"there already":       {[]domain.FileChange{create("sub/deep.txt", "x")}, domain.CodeConflict},
		"never viewed":        {[]domain.FileChange{replace(t, "sub/deep.txt", "", "x")}, domain.CodeConflict},
		"other than viewed":   {[]domain.FileChange{replace(t, "sub/deep.txt", "shallow", "x")}, domain.CodeConflict},
		"viewed, a pipe now":  {[]domain.FileChange{replace(t, "pipe", "deep", "x")}, domain.CodeToolFailed},
		"twice":               {[]domain.FileChange{put("sub/deep.txt", "x"), put("sub/up/sub/deep.txt", "y")}, domain.CodeToolFailed},
		"too many":            {many, domain.CodeToolFailed},
		"new file and folder": {[]domain.FileChange{create("both", "x"), create("both/below", "y")}, domain.CodeToolFailed},
		"new folder and file": {[]domain.FileChange{create("both/below", "y"), create("both", "x")}, domain.CodeToolFailed},
	} {
		t.Run(name, func(t *testing.T) {
			w, root := tree(t)
			before := snapshot(t, filepath.Dir(root))
			changes := append([]domain.FileChange{edit("note.txt", "a note", "changed"), create("a/b/new.txt", "new")}, test.changes...)
			err := w.Change(root, append(changes, create("c/last.txt", "last")), always)
			if domain.CodeOf(err) != test.code {
				t.Errorf("got %v, want %s", err, test.code)
			}
			if after := snapshot(t, filepath.Dir(root)); after != before {
				t.Errorf("before:\n%s\nafter:\n%s", before, after)
			}
		})
	}
}

// TestChangesThatFailInTheMiddle are undone also where all was well when it was looked at: the name of the last file is
// that of a folder by the time when its staged file is to take it.
func TestChangesThatFailInTheMiddle(t *testing.T) {
	w, root := tree(t)
	must(t, os.WriteFile(filepath.Join(root, "old.txt"), []byte("old"), 0o600))
	before := snapshot(t, root)
	set := &changeSet{workspace: w, directory: root}
	var err error
	set.root, err = openRoot(root)
	must(t, err)
	defer set.root.Close()
	defer set.close()
	for _, change := range []domain.FileChange{put("note.txt", "x"), remove("old.txt", "old"), create("a/new.txt", "x"), create("b", "x")} {
		must(t, set.stage(change))
	}
	must(t, os.Mkdir(filepath.Join(root, "b"), 0o755))
	for i, file := range set.files {
		if err := file.put(); (err != nil) != (i == 3) {
			t.Fatalf("%s: %v", file.Path, err)
		}
	}
	must(t, set.undo())
	must(t, os.Remove(filepath.Join(root, "b")))
	if after := snapshot(t, root); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
}

// TestChangeBelowAFolderThatIsSwapped: the folder was looked at, and is a link to where git keeps its hooks now.
func TestChangeBelowAFolderThatIsSwapped(t *testing.T) {
	w, root := tree(t)
	set := &changeSet{workspace: w, directory: root}
	folder, err := os.OpenRoot(filepath.Join(root, "sub"))
	must(t, err)
	defer folder.Close()
	must(t, os.Rename(filepath.Join(root, "sub"), filepath.Join(root, "away")))
	must(t, os.Symlink(".git/hooks", filepath.Join(root, "sub")))
	if _, err := set.judge(folder, "sub", "pre-commit", "sub/pre-commit"); domain.CodeOf(err) != domain.CodePathOutsideWorkspace {
		t.Errorf("got %v", err)
	}
}

func TestReadOnlyFolder(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may write everywhere")
	}
	w, root := tree(t)
	sub := filepath.Join(root, "sub")
	must(t, os.Chmod(sub, 0o555))
	defer os.Chmod(sub, 0o755)
	before := snapshot(t, root)
	err := w.Change(root, []domain.FileChange{put("note.txt", "x"), edit("sub/deep.txt", "deep", "x")}, always)
	if domain.CodeOf(err) != domain.CodeToolFailed || domain.FailureOf(err).Message != "sub/deep.txt may not be written." {
		t.Errorf("got %v", err)
	}
	if after := snapshot(t, root); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
}

// TestOneOfManyEditsWins: all of them edit what they have read, at once; readers see one whole content or another.
func TestOneOfManyEditsWins(t *testing.T) {
	w, root := tree(t)
	var won atomic.Int32
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			err := w.Change(root, []domain.FileChange{edit("note.txt", "a note", fmt.Sprintf("edit %d", i)), put(fmt.Sprintf("new%d/x", i), "x")}, always)
			switch {
			case err == nil:
				won.Add(1)
			case domain.CodeOf(err) != domain.CodeConflict:
				t.Error(err)
			}
		})
		group.Go(func() {
			file, err := w.Open(root, "note.txt")
			if err != nil {
				t.Error(err)
				return
			}
			defer file.Close()
			if content, err := io.ReadAll(file); err != nil || len(content) != len("a note") {
				t.Errorf("read %q, %v", content, err)
			}
		})
	}
	group.Wait()
	if won.Load() != 1 {
		t.Errorf("%d edits won", won.Load())
	}
	nothingIsLeft(t, root)
	if folders, err := filepath.Glob(filepath.Join(root, "new*")); err != nil || len(folders) != 1 {
		t.Errorf("the folders are %v, %v", folders, err)
	}
}

// always lets a change go on.
func always() error { return nil }

// A change that is stopped between two files leaves none of them.
func TestAChangeStopsWhenItMayNotGoOn(t *testing.T) {
	root := t.TempDir()
	w, err := New(root)
	must(t, err)
	asked := 0
	over := errors.New("over")
	err = w.Change(root, []domain.FileChange{put("one", "1"), put("two", "2")}, func() error {
		if asked++; asked == 2 {
			return over
		}
		return nil
	})
	if left, _ := os.ReadDir(root); !errors.Is(err, over) || len(left) > 0 {
		t.Errorf("%v, and there is %v", err, left)
	}
}

// What somebody writes after the look at a file, and before the change, is seen as well.
func TestAFileThatChangesMeanwhileIsNotReplaced(t *testing.T) {
	for name, change := range map[string]domain.FileChange{
		"edited": edit("note.txt", "a note", "x"), "deleted": remove("note.txt", "a note"), "viewed": replace(t, "note.txt", "a note", "x"), "created": create("new.txt", "x"),
		"never viewed": replace(t, "new.txt", "", "x"),
	} {
		t.Run(name, func(t *testing.T) {
			w, root := tree(t)
			path := filepath.Join(root, change.Path)
			err := w.Change(root, []domain.FileChange{change}, func() error { return os.WriteFile(path, []byte("theirs"), 0o600) })
			if content, _ := os.ReadFile(path); domain.CodeOf(err) != domain.CodeConflict || string(content) != "theirs" {
				t.Errorf("%q, %v", content, err)
			}
			nothingIsLeft(t, root)
		})
	}
}
