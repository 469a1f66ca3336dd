package checkpoint

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// placesIn are those of a folder in which nothing is hidden or guarded.
func placesIn(folder string) Places {
	return func(path string) (*os.Root, string, error) {
		root, err := os.OpenRoot(filepath.Join(folder, filepath.Dir(path)))
		return root, filepath.Base(path), err
	}
}

func file(content string, mode fs.FileMode) Entry {
	return Entry{Mode: mode, UID: uint32(os.Getuid()), GID: uint32(os.Getgid()), Object: objectOf([]byte(content))}
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
		want    Conflict
		after   map[string]string // nil: as before
	}{
		"a file":             {step: Step{Before: file(is, 0o644), After: file("was", 0o600)}, content: "was", after: map[string]string{"x": "-rw------- was"}},
		"an executable":      {step: Step{Before: file(is, 0o644), After: file("was", 0o750)}, content: "was", after: map[string]string{"x": "-rwxr-x--- was"}},
		"a mode":             {step: Step{Before: file(is, 0o644), After: file(is, 0o640)}, after: map[string]string{"x": "-rw-r----- " + is}},
		"a new file":         {step: Step{Before: file(is, 0o644)}, after: map[string]string{}},
		"a file as a link":   {step: Step{Before: file(is, 0o644), After: link("to")}, content: "to", after: map[string]string{"x": (fs.ModeSymlink | 0o777).String() + " to"}},
		"another content":    {step: Step{Before: file("else", 0o644), After: file("was", 0o644)}, content: "was", want: OtherContent},
		"another mode":       {step: Step{Before: file(is, 0o600), After: file("was", 0o644)}, content: "was", want: OtherContent},
		"another's deletion": {step: Step{Before: file("else", 0o644)}, want: OtherContent},
		"occupied":           {step: Step{After: file("was", 0o644)}, content: "was", want: Occupied},
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
			step:    Step{Before: folder(0o755)}, want: Occupied,
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
			conflict, err := apply(t.Context(), placesIn(workspace), test.step, strings.NewReader(test.content))
			if conflict != test.want || err != nil {
				t.Errorf("%q, %v; want %q", conflict, err, test.want)
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
	write := func(n int, token string) error {
		switch n {
		case 0: // as an editor that writes another file and renames it
			must(t, os.WriteFile(path+".new", []byte(token), 0o644))
			return os.Rename(path+".new", path)
		case 1: // as a shell with >
			return os.WriteFile(path, []byte(token), 0o644)
		default: // as a program that has had the file open for a while
			opened, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
			if err != nil {
				return err
			}
			defer opened.Close()
			return errors.Join(opened.Truncate(0), func() error { _, err := opened.WriteAt([]byte(token), 0); return err }())
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
	for range 5000 {
		conflict, err := apply(t.Context(), placesIn(workspace), Step{Path: "x", Before: expected, After: taken}, strings.NewReader("taken back"))
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
