package checkpoint

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestARollbackTakesBackItsOwn: an execution and others write in turns, and then the execution goes back to one of its checkpoints. What others have written is all
// there; a path that nobody else has touched is as the checkpoint has it, in bytes and mode; and the way back is taken back in the same way.
func TestARollbackTakesBackItsOwn(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		folder, err := os.MkdirTemp(t.TempDir(), "")
		must(t, err)
		workspace := filepath.Join(folder, "workspace")
		must(t, os.Mkdir(workspace, 0o755))
		r, err := OpenRepository(plain{}, filepath.Join(folder, "repository"))
		must(t, err)
		s := NewSeries(Config{Repository: r, Workspace: workspace, Name: "e1", Limits: DefaultLimits})
		for range rapid.IntRange(0, 6).Draw(rt, "before") {
			disturb(rt, workspace)
		}
		take := func(by By) Checkpoint {
			point, err := s.Take(t.Context(), func(string, Difference) By { return by })
			must(t, err)
			return point
		}
		type moment struct {
			point  Checkpoint
			held   map[string]string
			others map[string]bool // paths that others have changed on the way to it
		}
		moments := []moment{{point: take(Others), held: disk(t, workspace)}}
		for range rapid.IntRange(1, 5).Draw(rt, "moments") {
			by := rapid.SampledFrom([]By{Ours, Ours, Others}).Draw(rt, "by")
			for range rapid.IntRange(1, 4).Draw(rt, "steps") {
				disturb(rt, workspace)
			}
			next := moment{point: take(by), held: disk(t, workspace), others: map[string]bool{}}
			if by == Others {
				for path := range changed(moments[len(moments)-1].held, next.held) {
					next.others[path] = true
				}
			}
			moments = append(moments, next)
		}
		to := rapid.IntRange(0, len(moments)-1).Draw(rt, "to")
		touched := map[string]bool{}
		for _, one := range moments[to+1:] {
			maps.Copy(touched, one.others)
		}
		before := moments[len(moments)-1].held
		plan, err := r.Plan(t.Context(), s.last, moments[to].point.ID, nil)
		must(t, err)
		_, _, err = r.Restore(t.Context(), plan, token, placesIn(workspace))
		must(t, err)
		after := disk(t, workspace)
		for path := range touched {
			if isFolder := strings.HasPrefix(before[path]+after[path], "d"); after[path] != before[path] && !isFolder {
				rt.Fatalf("%q was %q, which others have written, and is %q", path, before[path], after[path])
			}
		}
		for path := range changed(moments[to].held, after) {
			if !near(path, touched) {
				rt.Fatalf("%q is %q after the rollback; the checkpoint has %q", path, after[path], moments[to].held[path])
			}
		}
		back := take(Ours)
		plan, err = r.Plan(t.Context(), back.ID, moments[len(moments)-1].point.ID, nil)
		must(t, err)
		_, _, err = r.Restore(t.Context(), plan, token, placesIn(workspace))
		must(t, err)
		if again := changed(before, disk(t, workspace)); len(again) > 0 {
			rt.Fatalf("after the rollback was taken back there is still another %v", again)
		}
	})
}

// near reports whether others have touched a path, one above it, or one below it.
func near(path string, touched map[string]bool) bool {
	for one := range touched {
		if path == one || strings.HasPrefix(path, one+"/") || strings.HasPrefix(one, path+"/") {
			return true
		}
	}
	return false
}
