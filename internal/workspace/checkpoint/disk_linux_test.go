package checkpoint

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// TestADiskThatFillsUp in the middle of git's writing is an error. The series keeps its last checkpoint, and goes on when there is room.
func TestADiskThatFillsUp(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can mount a small disk")
	}
	for name, size := range map[string]int{"in many files": 10 << 10, "in one file": 6 << 20, "in loose objects": 1 << 20} {
		t.Run(name, func(t *testing.T) {
			small := t.TempDir()
			if err := unix.Mount("tmpfs", small, "tmpfs", 0, "size=3m,mode=700"); err != nil {
				t.Skip("no small disk can be mounted: ", err)
			}
			defer unix.Unmount(small, unix.MNT_DETACH)
			workspace := t.TempDir()
			store, err := NewStore(plain{}, small, Bounds{Workspace: 1 << 40, All: 1 << 40}) // no reserve: git itself meets the end
			must(t, err)
			r, err := store.Repository(workspace)
			must(t, err)
			s := seriesIn(r, workspace, "e1")
			put(t, workspace, "file", "x", 0o644)
			first, want := take(t, s), disk(t, workspace)
			noise := make([]byte, size)
			for i := range 6 << 20 / size {
				rand.NewChaCha8([32]byte{byte(i), byte(i >> 8)}).Read(noise) //nolint:errcheck // it has no errors
				put(t, workspace, fmt.Sprint("noise/", i), string(noise), 0o644)
			}
			if _, err := s.Take(t.Context(), ours); err == nil || s.last != first.ID {
				t.Fatalf("got %v, and the last checkpoint is %s", err, s.last)
			}
			if diff := cmp.Diff(want, held(t, s, first)); diff != "" {
				t.Errorf("the last checkpoint: want (-), got (+):\n%s", diff)
			}
			must(t, os.RemoveAll(filepath.Join(workspace, "noise")))
			put(t, workspace, "file", "y", 0o644)
			must(t, unix.Mount("", small, "", unix.MS_REMOUNT, "size=20m"))
			if diff := cmp.Diff(disk(t, workspace), held(t, s, take(t, s))); diff != "" {
				t.Errorf("the next checkpoint: want (-), got (+):\n%s", diff)
			}
			age(t, filepath.Join(r.folder, "objects"), leftoverAge*2)
			must(t, store.Prune(t.Context(), keeping("e1")))
			whole(t, r)
			if bytes, err := bytesBelow(r.folder); err != nil || bytes > 100<<10 {
				t.Errorf("what was given up still takes %d bytes, %v", bytes, err)
			}
		})
	}
}
