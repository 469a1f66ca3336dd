package checkpoint

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestAnIgnoredFolderIsNotEntered, wherever it lies, and whenever a .gitignore begins or ceases to name it.
func TestAnIgnoredFolderIsNotEntered(t *testing.T) {
	s, workspace := series(t)
	deep := "out" + strings.Repeat("/out", 2*maxWalks)
	put(t, workspace, ".gitignore", "dist/\n", 0o644)
	put(t, workspace, "build/source", "x", 0o644)
	put(t, workspace, "build/dist/made", "x", 0o644)
	put(t, workspace, "build/bin/.gitignore", "obj\n", 0o644)
	put(t, workspace, "build/bin/obj/made", "x", 0o644)
	put(t, workspace, deep+"/made", "x", 0o644)
	put(t, workspace, "env/.gitignore", "\x00", 0o644) // an empty rule, which git takes for one about env/
	check := func(when string, want ...string) {
		t.Helper()
		point := take(t, s)
		var got []string
		for _, one := range point.NotCovered {
			if one.Reason != Generated {
				t.Errorf("%s: %+v", when, one)
			}
			got = append(got, one.Path)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: want (-), got (+):\n%s", when, diff)
		}
		if diff := cmp.Diff(disk(t, workspace, want...), held(t, s, point)); diff != "" {
			t.Errorf("%s: the folder (-) and the checkpoint (+) differ:\n%s", when, diff)
		}
	}
	tooDeep := "out" + strings.Repeat("/out", maxWalks-1) // where the walks end; the next checkpoint goes on from there
	check("at first", "build/bin/obj", "build/dist", tooDeep)
	must(t, os.RemoveAll(filepath.Join(workspace, "out")))
	put(t, workspace, ".gitignore", "build/\n", 0o644)
	check("when the folder above is ignored", "build")
	put(t, workspace, ".gitignore", "none\n", 0o644)
	check("when it is ignored no longer", "build/bin/obj")
}
