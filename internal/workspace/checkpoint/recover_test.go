package checkpoint

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/workspace"
)

// TestWhatAKilledStepLeavesIsPutInOrder: each state in which a step can die, and what somebody may have written in it. The names of files on their way are gone in the end
// unless they hold what no checkpoint has; and nothing of somebody is lost.
func TestWhatAKilledStepLeavesIsPutInOrder(t *testing.T) {
	const path, is, was, theirs = "x", "what is there", "what was there", "of a person"
	fresh, aside := workspace.StagedNameOf(token, path, ".new"), workspace.StagedNameOf(token, path, "")
	write := func(name, content string, mode fs.FileMode) func(*testing.T, string) {
		return func(t *testing.T, folder string) { put(t, folder, name, content, mode) }
	}
	replaced := Step{Path: path, Before: file(is, 0o644), After: file(was, 0o600)}
	removed := Step{Path: path, Before: file(is, 0o644)}
	created := Step{Path: path, After: file(was, 0o600)}
	made := Step{Path: path, After: folder(0o755)}
	for name, test := range map[string]struct {
		step  Step
		disk  []func(*testing.T, string)
		after map[string]string
		done  bool
		kept  KeptReason
	}{
		"replaced: staging begins":       {step: replaced, disk: w(write(path, is, 0o644), write(fresh, "", 0o600)), after: m(path, "-rw-r--r-- "+is)},
		"replaced: staging":              {step: replaced, disk: w(write(path, is, 0o644), write(fresh, was[:7], 0o600)), after: m(path, "-rw-r--r-- "+is)},
		"replaced: staged":               {step: replaced, disk: w(write(path, is, 0o644), write(fresh, was, 0o600)), after: m(path, "-rw-r--r-- "+is)},
		"replaced: before the exchange":  {step: replaced, disk: w(write(path, is, 0o644), write(aside, was, 0o600)), after: m(path, "-rw-r--r-- "+is)},
		"replaced: exchanged":            {step: replaced, disk: w(write(path, was, 0o600), write(aside, is, 0o644)), after: m(path, "-rw------- "+was), done: true},
		"replaced: deleted":              {step: replaced, disk: w(write(path, was, 0o600)), after: m(path, "-rw------- "+was), done: true},
		"replaced: staging, and written": {step: replaced, disk: w(write(path, theirs, 0o644), write(fresh, was[:7], 0o600)), after: m(path, "-rw-r--r-- "+theirs)},
		"replaced: staging, as it was":   {step: replaced, disk: w(write(path, was, 0o600), write(fresh, was[:7], 0o600)), after: m(path, "-rw------- "+was), done: true},
		"replaced: exchanged, and written before": {
			step: replaced, disk: w(write(path, was, 0o600), write(aside, theirs, 0o644)), after: m(path, "-rw-r--r-- "+theirs), kept: ContentConflict,
		},
		"replaced: exchanged, and emptied before": {
			step: replaced, disk: w(write(path, was, 0o600), write(aside, "", 0o644)), after: m(path, "-rw-r--r-- "), kept: ContentConflict,
		},
		"replaced: exchanged, and open": {
			step: replaced, disk: w(write(path, was, 0o600), write(aside, is, 0o644), openFor(aside)), after: m(path, "-rw-r--r-- "+is), kept: InUse,
		},
		"replaced: exchanged, and written after": {step: replaced, disk: w(write(path, theirs, 0o644), write(aside, is, 0o644)), after: m(path, "-rw-r--r-- "+theirs)},
		"replaced: exchanged, and written before and after": {
			step: replaced, disk: w(write(path, "again "+theirs, 0o644), write(aside, theirs, 0o644)),
			after: m(path, "-rw-r--r-- again "+theirs, aside, "-rw-r--r-- "+theirs), kept: StagedRemains,
		},
		"replaced: exchanged back": {step: replaced, disk: w(write(path, theirs, 0o644), write(aside, was, 0o600)), after: m(path, "-rw-r--r-- "+theirs)},
		"replaced: exchanged back, and ours written": {
			step: replaced, disk: w(write(path, is, 0o644), write(aside, theirs, 0o600)), after: m(path, "-rw-r--r-- "+is, aside, "-rw------- "+theirs), kept: StagedRemains,
		},
		"replaced: staging, and ours written": {
			step: replaced, disk: w(write(path, is, 0o644), write(fresh, theirs, 0o600)), after: m(path, "-rw-r--r-- "+is, fresh, "-rw------- "+theirs), kept: StagedRemains,
		},
		"removed: before":  {step: removed, disk: w(write(path, is, 0o644)), after: m(path, "-rw-r--r-- "+is)},
		"removed: aside":   {step: removed, disk: w(write(aside, is, 0o644)), after: m(), done: true},
		"removed: deleted": {step: removed, after: m(), done: true},
		"removed: aside, and written before": {
			step: removed, disk: w(write(aside, theirs, 0o644)), after: m(path, "-rw-r--r-- "+theirs), kept: ContentConflict,
		},
		"removed: aside, and open":          {step: removed, disk: w(write(aside, is, 0o644), openFor(aside)), after: m(path, "-rw-r--r-- "+is), kept: InUse},
		"removed: aside, and written after": {step: removed, disk: w(write(aside, is, 0o644), write(path, theirs, 0o644)), after: m(path, "-rw-r--r-- "+theirs)},
		"removed: aside, and written before and after": {
			step: removed, disk: w(write(aside, theirs, 0o644), write(path, "again", 0o644)), after: m(path, "-rw-r--r-- again", aside, "-rw-r--r-- "+theirs), kept: StagedRemains,
		},
		"created: staging":              {step: created, disk: w(write(fresh, was[:7], 0o600)), after: m()},
		"created: placed":               {step: created, disk: w(write(path, was, 0o600)), after: m(path, "-rw------- "+was), done: true},
		"created: staging, and written": {step: created, disk: w(write(fresh, was[:7], 0o600), write(path, theirs, 0o644)), after: m(path, "-rw-r--r-- "+theirs)},
		"a file as a folder: made":      {step: removed, disk: w(folderAt(fresh)), after: m(fresh, "drwxr-xr-x "), done: true}, // the step that follows has it
		"folder: made":                  {step: made, disk: w(folderAt(fresh)), after: m()},
		"folder: placed":                {step: made, disk: w(folderAt(path)), after: m(path, "drwxr-xr-x "), done: true},
		"folder: made, and used": {
			step: made, disk: w(folderAt(fresh), write(fresh+"/x", theirs, 0o644)), after: m(fresh, "drwxr-xr-x ", fresh+"/x", "-rw-r--r-- "+theirs), kept: StagedRemains,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, workspace := series(t)
			put(t, workspace, "held", was, 0o644) // so that the repository has the content
			take(t, s)
			must(t, os.Remove(filepath.Join(workspace, "held")))
			for _, prepare := range test.disk {
				prepare(t, workspace)
			}
			done, kept, err := s.repository.Recover(t.Context(), Plan{Steps: []Step{test.step}}, token, placesIn(workspace))
			if diff := cmp.Diff(test.after, disk(t, workspace)); diff != "" || err != nil {
				t.Errorf("%v; want (-), got (+):\n%s", err, diff)
			}
			var want []Kept
			if test.kept != NoConflict {
				want = []Kept{{path, test.kept}}
			}
			if diff := cmp.Diff(want, kept); diff != "" || (len(done) == 1) != test.done {
				t.Errorf("done %v; kept: want (-), got (+):\n%s", done, diff)
			}
		})
	}
}

func w(all ...func(*testing.T, string)) []func(*testing.T, string) { return all }

// m is a map of these keys and values.
func m(pairs ...string) map[string]string {
	all := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		all[pairs[i]] = pairs[i+1]
	}
	return all
}

func folderAt(name string) func(*testing.T, string) {
	return func(t *testing.T, workspace string) { must(t, os.Mkdir(filepath.Join(workspace, name), 0o755)) }
}

func openFor(name string) func(*testing.T, string) {
	return func(t *testing.T, workspace string) {
		opened, err := os.OpenFile(filepath.Join(workspace, name), os.O_WRONLY, 0)
		must(t, err)
		t.Cleanup(func() { opened.Close() })
	}
}

// TestAKilledRollbackIsFinished: a process that goes back is killed at any moment, and the next one finishes what it has begun. Nothing lies about then, and the folder is as
// the checkpoint has it.
func TestAKilledRollbackIsFinished(t *testing.T) {
	if from := os.Getenv("SIGNOFF_TEST_ROLLBACK_FROM"); from != "" {
		goBack(t, from, os.Getenv("SIGNOFF_TEST_ROLLBACK_TO"))
		return
	}
	s, workspace := series(t)
	var wanted [2]Checkpoint
	var held [2]map[string]string
	for i := range wanted {
		must(t, os.RemoveAll(workspace))
		must(t, os.Mkdir(workspace, 0o755))
		for n := range 100 {
			name := fmt.Sprint(n)
			switch n % 5 {
			case 0, 1:
				put(t, workspace, name, strings.Repeat(name, 1000*i+1), 0o644)
			case 2:
				put(t, workspace, name, "the same", []fs.FileMode{0o600, 0o755}[i])
			case 3:
				if i == 0 {
					put(t, workspace, name+"/inside", name, 0o600)
				} else {
					put(t, workspace, name, name, 0o600)
				}
			case 4:
				put(t, workspace, []string{"", "folder/"}[i]+name, name, 0o644)
			}
		}
		wanted[i], held[i] = take(t, s), disk(t, workspace)
	}
	for round := range 8 {
		to := round % 2
		now := take(t, s)
		child := exec.Command(os.Args[0], "-test.run=^TestAKilledRollbackIsFinished$")
		child.Env = append(os.Environ(), "SIGNOFF_TEST_ROLLBACK_FROM="+now.ID, "SIGNOFF_TEST_ROLLBACK_TO="+wanted[to].ID, "SIGNOFF_TEST_ROLLBACK_IN="+workspace)
		out, err := child.StdoutPipe()
		must(t, err)
		must(t, child.Start())
		begun, _ := bufio.NewReader(out).ReadString('\n')
		time.Sleep(rand.N(500 * time.Millisecond))
		must(t, child.Process.Kill())
		_ = child.Wait() // it was killed
		if begun != "begun\n" {
			t.Fatalf("the child says %q", begun)
		}
		plan, err := s.repository.Plan(t.Context(), now.ID, wanted[to].ID, nil)
		must(t, err)
		left, _ := filepath.Glob(filepath.Join(workspace, ".signoff-*"))
		done, kept, err := s.repository.Recover(t.Context(), plan, token, placesIn(workspace))
		must(t, err)
		t.Logf("%d of %d steps were done, and %d files lay about", len(done), len(plan.Steps), len(left))
		if left, _ := filepath.Glob(filepath.Join(workspace, ".signoff-*")); len(left) > 0 || len(kept) > 0 {
			t.Errorf("there are still %v; kept %v", left, kept)
		}
		rest, err := s.repository.Plan(t.Context(), take(t, s).ID, wanted[to].ID, nil)
		must(t, err)
		_, _, err = s.repository.Restore(t.Context(), rest, token, placesIn(workspace))
		must(t, err)
		if diff := cmp.Diff(held[to], disk(t, workspace)); diff != "" {
			t.Fatalf("want (-), got (+):\n%s", diff)
		}
	}
}

// goBack is the process that is killed.
func goBack(t *testing.T, from, to string) {
	workspace := os.Getenv("SIGNOFF_TEST_ROLLBACK_IN")
	r, err := OpenRepository(plain{}, filepath.Join(filepath.Dir(workspace), "repository"))
	must(t, err)
	plan, err := r.Plan(t.Context(), from, to, nil)
	must(t, err)
	os.Stdout.WriteString("begun\n")
	_, _, err = r.Restore(t.Context(), plan, token, placesIn(workspace))
	must(t, err)
	time.Sleep(time.Minute) // until it is killed
}

// TestAContentBeginsWithWhatWasWrittenOfIt.
func TestAContentBeginsWithWhatWasWrittenOfIt(t *testing.T) {
	whole := bytes.Repeat([]byte("0123456789"), 20_000)
	for size, want := range map[int]bool{0: true, 1: true, 64 << 10: true, 100_000: true, len(whole): true} {
		for _, change := range []string{"", "longer", "other"} {
			held := bytes.Clone(whole[:size])
			wanted := want
			switch {
			case change == "longer" && size == len(whole):
				held, wanted = append(held, 'x'), false
			case change == "other" && size > 0:
				held[size-1], wanted = 'x', false
			}
			if got, err := begins(bytes.NewReader(whole), io.LimitReader(bytes.NewReader(held), int64(len(held)))); got != wanted || err != nil {
				t.Errorf("%d bytes, %s: %v %v", size, change, got, err)
			}
		}
	}
}
