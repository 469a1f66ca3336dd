package checkpoints

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"signoff/internal/domain"
)

// TestARollbackOnAFullDiskSaysWhatItHasDone: it stops in its middle, and lists the files that went back until then and no others. Those are changes of the execution; so a
// second try, when there is room, does the rest.
func TestARollbackOnAFullDiskSaysWhatItHasDone(t *testing.T) {
	checks(t, "1")
	rapid.Check(t, func(rt *rapid.T) {
		f := newFolder(t, rt)
		if err := unix.Mount("tmpfs", f.path, "tmpfs", 0, "size=3m,mode=700"); err != nil {
			t.Skip("no small disk can be mounted: ", err)
		}
		defer unix.Unmount(f.path, unix.MNT_DETACH)
		write := func(name string, content byte, size int) {
			if err := os.WriteFile(filepath.Join(f.path, name), bytes.Repeat([]byte{content}, size), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		names := []string{"a", "b", "c", "d"}
		for _, name := range names {
			write(name, 'b', 512<<10)
		}
		a := f.agent("e1")
		defer a.Close()
		a.must(a.BeginTurn(t.Context()))
		a.must(a.BeforeCall(t.Context(), "c1"))
		for _, name := range names {
			write(name, 'a', 1)
		}
		a.must(a.AfterCall(t.Context(), "c1"))
		a.settle()
		f.later()
		write("of a person", 'p', 2<<20) // one file fits into the rest
		back := func() domain.RollbackResult {
			point, err := HistoryOf(a.log).Numbered(1)
			a.must(err)
			plan, err := a.Preview(t.Context(), Rollback{To: point})
			a.must(err)
			result, err := a.Rollback(t.Context(), Rollback{To: point}, plan.Hash, nil, func(context.Context, Journal) error { return nil })
			a.must(err)
			return result
		}
		first := back()
		if first.Error == nil || first.Error.Code != domain.CodeRollbackFailed {
			t.Errorf("it ended with %+v", first.Error)
		}
		if diff := cmp.Diff([]string{"a"}, first.Folders[0].Restored); diff != "" || first.Folders[0].RestoredCount != 1 {
			t.Errorf("restored %d: want (-), got (+):\n%s", first.Folders[0].RestoredCount, diff)
		}
		a.must(os.Remove(filepath.Join(f.path, "of a person")))
		second := back()
		if diff := cmp.Diff([]string{"b", "c", "d"}, second.Folders[0].Restored); diff != "" || second.Error != nil {
			t.Errorf("%+v; want (-), got (+):\n%s", second.Error, diff)
		}
	})
}
