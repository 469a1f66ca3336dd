package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// token names the rollbacks of tests.
const token = "TOKEN"

// placesIn are those of a folder in which nothing is hidden or guarded.
func placesIn(folder string) Places {
	return func(path string) (*os.Root, string, error) {
		root, err := os.OpenRoot(filepath.Join(folder, filepath.Dir(path)))
		return root, filepath.Base(path), err
	}
}

func file(content string, mode fs.FileMode) Entry {
	return Entry{Mode: mode, UID: uint32(os.Getuid()), GID: uint32(os.Getgid()), Object: ObjectOf([]byte(content))}
}

func link(target string) Entry { return file(target, fs.ModeSymlink|0o777) }

func folder(mode fs.FileMode) Entry {
	return Entry{Mode: fs.ModeDir | mode, UID: uint32(os.Getuid()), GID: uint32(os.Getgid())}
}

// TestAStepTakesBackWhatIsExpectedAndNothingElse.
func TestAStepTakesBackWhatIsExpectedAndNothingElse(t *testing.T) {
	const is = "what is there"
	for name, test := range map[string]struct {
		prepare func(t *testing.T, path string)
		step    Step
		content string
		want    KeptReason
		after   map[string]string // nil: as before
	}{
		"a file":             {step: Step{Before: file(is, 0o644), After: file("was", 0o600)}, content: "was", after: map[string]string{"x": "-rw------- was"}},
		"an executable":      {step: Step{Before: file(is, 0o644), After: file("was", 0o750)}, content: "was", after: map[string]string{"x": "-rwxr-x--- was"}},
		"a mode":             {step: Step{Before: file(is, 0o644), After: file(is, 0o640)}, after: map[string]string{"x": "-rw-r----- " + is}},
		"a new file":         {step: Step{Before: file(is, 0o644)}, after: map[string]string{}},
		"a file as a link":   {step: Step{Before: file(is, 0o644), After: link("to")}, content: "to", after: map[string]string{"x": (fs.ModeSymlink | 0o777).String() + " to"}},
		"another content":    {step: Step{Before: file("else", 0o644), After: file("was", 0o644)}, content: "was", want: ContentConflict},
		"another mode":       {step: Step{Before: file(is, 0o600), After: file("was", 0o644)}, content: "was", want: ContentConflict},
		"another's deletion": {step: Step{Before: file("else", 0o644)}, want: ContentConflict},
		"occupied":           {step: Step{After: file("was", 0o644)}, content: "was", want: ContentConflict},
		"a second name": {
			prepare: func(t *testing.T, path string) { must(t, os.Link(path, path+"2")) },
			step:    Step{Before: file(is, 0o644), After: file("was", 0o644)}, content: "was", want: SecondName,
		},
		"open for writing": {
			prepare: func(t *testing.T, path string) {
				opened, err := os.OpenFile(path, os.O_WRONLY, 0)
				must(t, err)
				t.Cleanup(func() { opened.Close() })
			},
			step: Step{Before: file(is, 0o644), After: file("was", 0o644)}, content: "was", want: InUse,
		},
		"open for writing, to be deleted": {
			prepare: func(t *testing.T, path string) {
				opened, err := os.OpenFile(path, os.O_WRONLY, 0)
				must(t, err)
				t.Cleanup(func() { opened.Close() })
			},
			step: Step{Before: file(is, 0o644)}, want: InUse,
		},
		"a deleted file": {
			prepare: func(t *testing.T, path string) { must(t, os.Remove(path)) },
			step:    Step{After: file("was", 0o600)}, content: "was", after: map[string]string{"x": "-rw------- was"},
		},
		"a link": {
			prepare: func(t *testing.T, path string) { must(t, os.Remove(path)); must(t, os.Symlink("now", path)) },
			step:    Step{Before: link("now"), After: file("was", 0o644)}, content: "was", after: map[string]string{"x": "-rw-r--r-- was"},
		},
		"an empty folder": {
			prepare: func(t *testing.T, path string) { must(t, os.Remove(path)); must(t, os.Mkdir(path, 0o755)) },
			step:    Step{Before: folder(0o755)}, after: map[string]string{},
		},
		"a folder that holds something": {
			prepare: func(t *testing.T, path string) { must(t, os.Remove(path)); put(t, path, "of somebody", "x", 0o644) },
			step:    Step{Before: folder(0o755)}, want: ContentConflict,
		},
		"a folder's mode": {
			prepare: func(t *testing.T, path string) { must(t, os.Remove(path)); must(t, os.Mkdir(path, 0o755)) },
			step:    Step{Before: folder(0o755), After: folder(0o700)}, after: map[string]string{"x": "drwx------ "},
		},
		"a deleted folder": {
			prepare: func(t *testing.T, path string) { must(t, os.Remove(path)) },
			step:    Step{After: folder(0o711)}, after: map[string]string{"x": "drwx--x--x "},
		},
	} {
		t.Run(name, func(t *testing.T) {
			workspace := t.TempDir()
			put(t, workspace, "x", is, 0o644)
			if test.prepare != nil {
				test.prepare(t, filepath.Join(workspace, "x"))
			}
			before := disk(t, workspace)
			test.step.Path = "x"
			done, conflict, err := apply(t.Context(), placesIn(workspace), test.step, token, strings.NewReader(test.content))
			if conflict != test.want || err != nil || done != (test.want == NoConflict) {
				t.Errorf("%v, %q, %v; want %q", done, conflict, err, test.want)
			}
			want := test.after
			if want == nil {
				want = before
			}
			if diff := cmp.Diff(want, disk(t, workspace)); diff != "" {
				t.Errorf("want (-), got (+):\n%s", diff)
			}
		})
	}
}

// TestNothingOfOthersIsLost: somebody writes to the file all the while, in each way in which programs write. Whatever they have written last is there in the end, in its
// place or, if it came in the moment of an exchange, beside it.
func TestNothingOfOthersIsLost(t *testing.T) {
	workspace := t.TempDir()
	path := filepath.Join(workspace, "x")
	expected, taken := file("expected", 0o644), file("taken back", 0o644)
	stop, done := make(chan struct{}), make(chan string)
	write := func(n int, text string) error {
		switch n {
		case 0: // as an editor that writes another file and renames it
			must(t, os.WriteFile(path+".new", []byte(text), 0o644))
			return os.Rename(path+".new", path)
		case 1: // as a shell with >
			return os.WriteFile(path, []byte(text), 0o644)
		default: // as a program that has had the file open for a while
			opened, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
			if err != nil {
				return err
			}
			defer opened.Close()
			return errors.Join(opened.Truncate(0), func() error { _, err := opened.WriteAt([]byte(text), 0); return err }())
		}
	}
	go func() {
		last := ""
		for i := 0; ; i++ {
			select {
			case <-stop:
				done <- last
				return
			default:
			}
			last = fmt.Sprintf("of somebody %d", i)
			if rand.IntN(3) > 0 { // often it is what the restorer expects
				last = "expected"
			}
			if err := write(rand.IntN(3), last); err != nil && !errors.Is(err, syscall.ENOENT) {
				t.Error(err)
			}
		}
	}()
	applied := 0
	for i := range 5000 {
		_, conflict, err := apply(t.Context(), placesIn(workspace), Step{Path: "x", Before: expected, After: taken}, fmt.Sprint(token, i), strings.NewReader("taken back"))
		if err != nil {
			t.Fatal(err)
		}
		if conflict == NoConflict {
			applied++
		}
	}
	close(stop)
	last := <-done
	if applied == 0 {
		t.Error("nothing was taken back")
	}
	found := map[string]bool{}
	for name, content := range disk(t, workspace) {
		_, text, _ := strings.Cut(content, " ")
		found[text] = true
		if strings.HasPrefix(name, ".signoff-") {
			t.Logf("%s: %s", name, text)
		}
	}
	if !found[last] && (last != "expected" || !found["taken back"]) {
		t.Errorf("%q is gone; there are %v", last, found)
	}
}

// TestAFileGoesBackWithItsFolders: a rollback that names one file makes the folders that are gone, and leaves what else they held.
func TestAFileGoesBackWithItsFolders(t *testing.T) {
	s, workspace := series(t)
	put(t, workspace, "one/two/a", "a\n", 0o644)
	put(t, workspace, "one/two/b", "b\n", 0o644)
	must(t, os.Chmod(filepath.Join(workspace, "one"), 0o700))
	first := take(t, s)
	must(t, os.RemoveAll(filepath.Join(workspace, "one")))
	last := take(t, s)
	plan, err := s.repository.Plan(t.Context(), last.ID, first.ID, []string{"one/two/a"})
	must(t, err)
	_, kept, err := s.repository.Restore(t.Context(), plan, token, placesIn(workspace))
	must(t, err)
	want := map[string]string{"one": "drwx------ ", "one/two": "drwxr-xr-x ", "one/two/a": "-rw-r--r-- a\n"}
	if diff := cmp.Diff(want, disk(t, workspace)); diff != "" {
		t.Errorf("want (-) and got (+) differ; kept %v:\n%s", kept, diff)
	}
}

// TestAStepThatFailsIsNotCounted: a rollback that stops in its middle says which paths it has restored. Those it did not come to are in no list, and a file that
// was made a folder is in it once.
func TestAStepThatFailsIsNotCounted(t *testing.T) {
	s, workspace := series(t)
	for _, name := range []string{"a", "b", "c"} {
		put(t, workspace, name, "before\n", 0o644)
	}
	put(t, workspace, "changes places", "a file\n", 0o644)
	first := take(t, s)
	for _, name := range []string{"a", "b", "c"} {
		put(t, workspace, name, "after\n", 0o644)
	}
	must(t, os.Remove(filepath.Join(workspace, "changes places")))
	put(t, workspace, "changes places/now", "a folder\n", 0o644)
	last := take(t, s)
	plan, err := s.repository.Plan(t.Context(), last.ID, first.ID, nil)
	must(t, err)
	ctx, fail := context.WithCancelCause(t.Context())
	places := func(path string) (*os.Root, string, error) {
		if path == "b" {
			fail(syscall.ENOSPC)
		}
		return placesIn(workspace)(path)
	}
	put(t, workspace, "a", "by a person\n", 0o644)
	done, kept, err := s.repository.Restore(ctx, plan, token, places)
	if !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("it ended with %v", err)
	}
	var paths []string
	for _, step := range done {
		paths = append(paths, step.Path)
	}
	want := []string{"changes places/now", "changes places"}
	if content, err := os.ReadFile(filepath.Join(workspace, "b")); err == nil && string(content) == "before\n" { // or git was stopped before it had printed all of b
		want = append(want, "b")
	}
	if diff := cmp.Diff(want, paths); diff != "" {
		t.Errorf("done: want (-), got (+):\n%s", diff)
	}
	if diff := cmp.Diff([]Kept{{"a", ContentConflict}}, kept); diff != "" {
		t.Errorf("kept: want (-), got (+):\n%s", diff)
	}
}

// TestAPreviewShowsWhatTheDiskRulesOut: a file with a second name, one that nobody may change, and what lies below such a path, are kept before anything is written.
func TestAPreviewShowsWhatTheDiskRulesOut(t *testing.T) {
	s, workspace := series(t)
	put(t, workspace, "plain", "before\n", 0o644)
	put(t, workspace, "linked", "before\n", 0o644)
	put(t, workspace, "fixed", "before\n", 0o644)
	put(t, workspace, "folder/file", "before\n", 0o644)
	first := take(t, s)
	put(t, workspace, "plain", "after\n", 0o644)
	put(t, workspace, "linked", "after\n", 0o644)
	put(t, workspace, "fixed", "after\n", 0o644)
	must(t, os.RemoveAll(filepath.Join(workspace, "folder")))
	put(t, workspace, "folder", "a file\n", 0o644)
	put(t, workspace, "made/linked", "after\n", 0o644)
	last := take(t, s)
	for name, second := range map[string]string{"linked": "2", "folder": "3", "made/linked": "4"} {
		must(t, os.Link(filepath.Join(workspace, name), workspace+second))
	}
	want := []Kept{{"folder", SecondName}, {"folder/file", NotReachable}, {"linked", SecondName}, {"made/linked", SecondName}}
	steps := []string{"fixed", "plain"}
	if unfix, can := fix(filepath.Join(workspace, "fixed")); can {
		defer unfix()
		want, steps = slices.Insert(want, 0, Kept{"fixed", NotPermitted}), steps[1:]
	}
	plan, err := s.repository.Plan(t.Context(), last.ID, first.ID, nil)
	must(t, err)
	plan.Foresee(placesIn(workspace))
	if diff := cmp.Diff(want, plan.Kept); diff != "" {
		t.Errorf("kept: want (-), got (+):\n%s", diff)
	}
	var planned []string
	for _, step := range plan.Steps {
		planned = append(planned, step.Path)
	}
	if diff := cmp.Diff(steps, planned); diff != "" {
		t.Errorf("steps: want (-), got (+):\n%s", diff)
	}
	_, kept, err := s.repository.Restore(t.Context(), plan, token, placesIn(workspace))
	if diff := cmp.Diff(want, kept); diff != "" || err != nil {
		t.Errorf("%v; kept in the end: want (-), got (+):\n%s", err, diff)
	}
}

// fix makes a file that nobody may change, where that can be done.
func fix(path string) (unfix func(), can bool) {
	if exec.Command("chattr", "+i", path).Run() != nil {
		return nil, false
	}
	return func() { _ = exec.Command("chattr", "-i", path).Run() }, true
}

// TestTheReasonOfAConflictIsTold.
func TestTheReasonOfAConflictIsTold(t *testing.T) {
	s, workspace := series(t)
	put(t, workspace, "open", "before\n", 0o644)
	put(t, workspace, "other", "before\n", 0o644)
	first := take(t, s)
	put(t, workspace, "open", "after\n", 0o644)
	put(t, workspace, "other", "after\n", 0o644)
	last := take(t, s)
	plan, err := s.repository.Plan(t.Context(), last.ID, first.ID, nil)
	must(t, err)
	opened, err := os.OpenFile(filepath.Join(workspace, "open"), os.O_WRONLY, 0)
	must(t, err)
	defer opened.Close()
	put(t, workspace, "other", "by a person\n", 0o644)
	_, kept, err := s.repository.Restore(t.Context(), plan, token, placesIn(workspace))
	if diff := cmp.Diff([]Kept{{"open", InUse}, {"other", ContentConflict}}, kept); diff != "" || err != nil {
		t.Errorf("%v; want (-), got (+):\n%s", err, diff)
	}
}

// TestAPlanPromisesNothingThatCannotBe: a folder that holds what the last checkpoint does not cover stays, and so does one into which somebody has put a file; then the file that was in
// its place stays away. What was in a folder that somebody has replaced by a file stays away, too. A name that no checkpoint knows is listed.
func TestAPlanPromisesNothingThatCannotBe(t *testing.T) {
	s, workspace := series(t)
	put(t, workspace, "was a file", "x", 0o644)
	put(t, workspace, "was a folder/inside", "x", 0o644)
	s.limits.File = 15
	first := take(t, s)
	put(t, workspace, "new/large", "a text that is long", 0o644)
	put(t, workspace, "large", "a text that is long", 0o644)
	put(t, workspace, "new empty/small", "x", 0o644)
	must(t, os.Remove(filepath.Join(workspace, "was a file")))
	put(t, workspace, "was a file/of the execution", "y", 0o644)
	must(t, os.Remove(filepath.Join(workspace, "was a folder", "inside")))
	take(t, s)
	put(t, workspace, "was a file/of a person", "y", 0o644)
	must(t, os.Remove(filepath.Join(workspace, "was a folder")))
	put(t, workspace, "was a folder", "of a person", 0o644)
	last, err := s.Take(t.Context(), func(string, Difference) By { return Others })
	must(t, err)
	for name, test := range map[string]struct {
		named, steps []string
		kept         []Kept
	}{
		"all": {
			steps: []string{"new empty/small", "was a file/of the execution", "new empty"},
			kept: []Kept{
				{"large", NotCoveredNow}, {"new/large", NotCoveredNow}, {"was a file", ContentConflict}, {"was a file/of a person", ChangedByOthers},
				{"was a folder", ChangedByOthers}, {"was a folder/inside", NotReachable},
			},
		},
		"a name that no checkpoint knows": {named: []string{"unknown", "new empty"}, steps: []string{"new empty/small", "new empty"}, kept: []Kept{{"unknown", NotCoveredBefore}}},
	} {
		t.Run(name, func(t *testing.T) {
			plan, err := s.repository.Plan(t.Context(), last.ID, first.ID, test.named)
			must(t, err)
			steps := []string{}
			for _, step := range plan.Steps {
				steps = append(steps, step.Path)
			}
			if diff := cmp.Diff(test.steps, steps) + cmp.Diff(test.kept, plan.Kept); diff != "" {
				t.Errorf("want (-), got (+):\n%s", diff)
			}
		})
	}
}
