package checkpoint

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestAChangeIsByTheOneAboutWhomLeastCanBeProved, also where the path has another name since.
func TestAChangeIsByTheOneAboutWhomLeastCanBeProved(t *testing.T) {
	s, workspace := series(t)
	long := strings.Repeat("a line of a file\n", 20)
	put(t, workspace, "a", "1\n", 0o644)
	put(t, workspace, "b", "1\n", 0o644)
	put(t, workspace, "c", "1\n", 0o644)
	put(t, workspace, "old", long, 0o644)
	put(t, workspace, "node_modules/c", "1\n", 0o644)
	first := take(t, s)
	put(t, workspace, "a", "2\n", 0o644)
	put(t, workspace, "c", "2\n", 0o644)
	middle, err := s.Take(t.Context(), func(path string, _ Difference) By { return map[string]By{"a": Uncertain, "c": Ours}[path] })
	must(t, err)
	put(t, workspace, "a", "3\n", 0o644)
	put(t, workspace, "b", "2\n", 0o644)
	put(t, workspace, "c", "3\n", 0o644)
	must(t, os.Rename(filepath.Join(workspace, "old"), filepath.Join(workspace, "new")))
	last, err := s.Take(t.Context(), func(path string, _ Difference) By {
		return map[string]By{"old": Others, "a": Ours, "b": Ours, "c": Uncertain, "new": Ours}[path]
	})
	must(t, err)
	want := map[string]By{"a": Uncertain, "b": Ours, "c": Uncertain, "new": Others}
	changes, err := s.repository.Changes(t.Context(), first.ID, last.ID)
	must(t, err)
	got := map[string]By{}
	for _, one := range changes {
		got[one.Path] = one.By
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want (-), got (+):\n%s", diff)
	}
	neighbours, err := s.repository.Changes(t.Context(), middle.ID, last.ID)
	must(t, err)
	if diff := cmp.Diff(last.Changes, neighbours); diff != "" {
		t.Errorf("the checkpoint has told (-), the comparison with the one before tells (+):\n%s", diff)
	}
	backwards, err := s.repository.Changes(t.Context(), last.ID, first.ID)
	must(t, err)
	for _, one := range backwards {
		if one.By != "" {
			t.Errorf("backwards nobody changes anything: %+v", one)
		}
	}
	without, err := s.repository.NotCovered(t.Context(), last.ID)
	must(t, err)
	if diff := cmp.Diff([]NotCovered{{Path: "node_modules", Reason: Generated}}, without); diff != "" {
		t.Errorf("what is not covered: want (-), got (+):\n%s", diff)
	}
	for name, want := range map[string]string{"e1": last.ID, "e": "", "e2": ""} {
		if got, err := s.repository.Last(t.Context(), name); got != want || err != nil {
			t.Errorf("the last of %q is %q, %v; want %q", name, got, err, want)
		}
	}
	for _, none := range []string{"", "HEAD", strings.Repeat("0", 64)} {
		if _, err := s.repository.Changes(t.Context(), none, last.ID); err == nil {
			t.Errorf("%q is no checkpoint", none)
		}
	}
}
