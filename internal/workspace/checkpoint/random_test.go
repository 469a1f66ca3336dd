package checkpoint

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestEveryCheckpointIsTheFolder: whatever is done to a folder, the checkpoint after it holds the folder, and its changes lead there from the one before. Any two
// checkpoints, also of different executions, compare as the folder did. A checkpoint that was given up in its middle leaves no trace.
func TestEveryCheckpointIsTheFolder(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		folder, err := os.MkdirTemp(t.TempDir(), "")
		must(t, err)
		workspace := filepath.Join(folder, "workspace")
		must(t, os.Mkdir(workspace, 0o755))
		r, err := OpenRepository(plain{}, filepath.Join(folder, "repository"))
		must(t, err)
		s := NewSeries(Config{Repository: r, Workspace: workspace, Name: "e1", Limits: DefaultLimits})
		if rapid.Bool().Draw(rt, "settled") {
			s.now = func() time.Time { return time.Now().Add(time.Minute) }
		}
		type moment struct {
			point Checkpoint
			held  map[string]string
		}
		var moments []moment
		before := map[string]string{}
		for n := range rapid.IntRange(1, 4).Draw(rt, "checkpoints") {
			for range rapid.IntRange(0, 8).Draw(rt, "steps") {
				disturb(rt, workspace)
			}
			if rapid.IntRange(0, 3).Draw(rt, "forgotten") == 0 {
				s.Forget()
			}
			if rapid.IntRange(0, 3).Draw(rt, "another server") == 0 {
				now := s.now
				s = NewSeries(Config{Repository: r, Workspace: workspace, Name: "e1", Last: s.last, Limits: DefaultLimits})
				s.now = now
			}
			if rapid.IntRange(0, 3).Draw(rt, "another execution") == 0 {
				point, err := NewSeries(Config{Repository: r, Workspace: workspace, Name: "e2", Limits: DefaultLimits}).Take(t.Context(), ours)
				must(t, err)
				moments = append(moments, moment{point, disk(t, workspace)})
			}
			if rapid.IntRange(0, 3).Draw(rt, "given up") == 0 {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rapid.IntRange(0, 8).Draw(rt, "ms"))*time.Millisecond)
				_, _ = s.Take(ctx, ours)
				cancel()
			}
			last := s.last
			point, err := s.Take(t.Context(), ours)
			must(t, err)
			after := disk(t, workspace)
			moments = append(moments, moment{point, after})
			if diff := cmp.Diff(after, held(t, s, point)); diff != "" {
				rt.Fatalf("checkpoint %d: the folder (-) and the checkpoint (+) differ:\n%s", n, diff)
			}
			if last == s.last {
				before = after
				continue // it is the one that was thought to be given up
			}
			if diff := cmp.Diff(changed(before, after), reported(point, before, after)); last != "" && diff != "" {
				rt.Fatalf("checkpoint %d: the changes on disk (-) and those of the checkpoint (+) differ:\n%s", n, diff)
			}
			before = after
		}
		from, to := rapid.SampledFrom(moments).Draw(rt, "from"), rapid.SampledFrom(moments).Draw(rt, "to")
		changes, err := r.Changes(t.Context(), from.point.ID, to.point.ID)
		must(t, err)
		if diff := cmp.Diff(changed(from.held, to.held), reported(Checkpoint{Changes: changes}, from.held, to.held)); diff != "" {
			rt.Fatalf("two moments on disk (-) and their checkpoints (+) differ by:\n%s", diff)
		}
	})
}

// disturb does one thing to the folder. What cannot be done is not done.
func disturb(rt *rapid.T, workspace string) {
	disturbNames(rt, workspace, []string{"a", "b", "c d", "é\n\"", "build"})
}

// disturbNames does it to a path of these names.
func disturbNames(rt *rapid.T, workspace string, names []string) {
	name := func(label string) string {
		parts := rapid.SliceOfN(rapid.SampledFrom(names), 1, 3).Draw(rt, label)
		return filepath.Join(append([]string{workspace}, parts...)...)
	}
	path := name("path")
	switch rapid.IntRange(0, 8).Draw(rt, "kind") {
	case 0, 1, 2:
		_ = os.MkdirAll(filepath.Dir(path), 0o755)
		_ = os.WriteFile(path, []byte(rapid.SampledFrom([]string{"", "x", "one\r\ntwo\r\n", "\x00", "one\ntwo\nthree\nfour\nfive\n"}).Draw(rt, "content")), 0o644)
	case 3:
		if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSymlink == 0 {
			_ = os.Chmod(path, fs.FileMode(rapid.SampledFrom([]int{0o600, 0o644, 0o700, 0o755, 0o751}).Draw(rt, "mode")))
		}
	case 4:
		_ = os.RemoveAll(path)
	case 5:
		_ = os.MkdirAll(path, 0o755)
	case 6:
		_ = os.Rename(path, name("to"))
	case 7:
		_ = os.Symlink(fmt.Sprintf("to %d", rapid.IntRange(0, 2).Draw(rt, "target")), path)
	case 8:
		if file, err := os.Open(path); err == nil {
			defer file.Close()
			_ = setACL(file, rapid.SampledFrom([]string{accessACL, defaultACL}).Draw(rt, "which"), rapid.SampledFrom([]string{"", private, inherited}).Draw(rt, "acl"))
		}
	}
}

// changed are the paths that differ, each with what is there now.
func changed(before, after map[string]string) map[string]string {
	all := map[string]string{}
	for path, is := range after {
		if was, there := before[path]; !there || was != is {
			all[path] = is
		}
	}
	for path := range before {
		if _, stays := after[path]; !stays {
			all[path] = ""
		}
	}
	return all
}

// reported are the same by a checkpoint. It reports a folder only where it is empty, or its mode has changed: the others come and go with their files.
func reported(point Checkpoint, before, after map[string]string) map[string]string {
	all := map[string]string{}
	for _, one := range point.Changes {
		all[one.Path] = after[one.Path]
		if one.From != "" {
			all[one.From] = after[one.From]
		}
	}
	for path, is := range changed(before, after) {
		if isFolder := strings.HasPrefix(before[path]+is, "d"); isFolder && (before[path] == "" || is == "") && (holds(before, path) || holds(after, path)) {
			all[path] = is
		}
	}
	return all
}

func holds(all map[string]string, folder string) bool {
	for path := range all {
		if strings.HasPrefix(path, folder+"/") {
			return true
		}
	}
	return false
}
