package checkpoint

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

func setACLOf(t *testing.T, path, name, acl string) {
	t.Helper()
	if err := unix.Setxattr(path, name, []byte(acl), 0); err != nil {
		t.Skip("the file system has no ACLs: ", err)
	}
}

// TestACLsComeBack: what an execution has written goes back with the ACL that it had, and without one that its folder would leave to it. Otherwise the mode alone would open the
// file to its group.
func TestACLsComeBack(t *testing.T) {
	s, workspace := series(t)
	at := func(name string) string { return filepath.Join(workspace, name) }
	put(t, workspace, "with", "before", 0o600)
	setACLOf(t, at("with"), accessACL, private)
	put(t, workspace, "gets", "before", 0o640)
	put(t, workspace, "loses", "before", 0o600)
	setACLOf(t, at("loses"), accessACL, private)
	put(t, workspace, "leaves/without", "before", 0o640)
	put(t, workspace, "leaves/gone", "before", 0o600)
	put(t, workspace, "folder/file", "before", 0o640)
	setACLOf(t, at("folder"), defaultACL, inherited)
	setACLOf(t, at("leaves"), defaultACL, inherited)
	first, want := take(t, s), disk(t, workspace)

	must(t, os.Remove(at("with")))
	put(t, workspace, "with", "after", 0o644)
	setACLOf(t, at("gets"), accessACL, private)
	must(t, unix.Removexattr(at("loses"), accessACL))
	must(t, os.Remove(at("leaves/without")))
	put(t, workspace, "leaves/without", "after", 0o660)
	must(t, os.Remove(at("leaves/gone")))
	must(t, os.RemoveAll(at("folder")))
	put(t, workspace, "leaves/new/file", "after", 0o660)
	last, changed := take(t, s), disk(t, workspace)
	if !strings.Contains(changed["leaves/new"], "+") || !strings.Contains(changed["leaves/without"], "+") {
		t.Errorf("nothing is inherited: %v", changed)
	}
	goTo := func(from, to Checkpoint, want map[string]string) {
		t.Helper()
		plan, err := s.repository.Plan(t.Context(), from.ID, to.ID, nil)
		must(t, err)
		_, kept, err := s.repository.Restore(t.Context(), plan, token, placesIn(workspace))
		if diff := cmp.Diff(want, disk(t, workspace)); diff != "" || err != nil {
			t.Errorf("%v, kept %v; want (-), got (+):\n%s", err, kept, diff)
		}
	}
	goTo(last, first, want)
	goTo(take(t, s), last, changed)
}

// TestAnACLIsAPartOfWhatIsExpected: a file whose ACL somebody has changed stays, and a step that changes an ACL alone leads there and back.
func TestAnACLIsAPartOfWhatIsExpected(t *testing.T) {
	with := func(entry Entry, acl string, mode fs.FileMode) Entry {
		entry.ACLs.Access, entry.Mode = acl, mode
		return entry
	}
	none := file("x", 0o640)
	some := with(none, private, 0o660)
	workspace := t.TempDir()
	put(t, workspace, "x", "x", 0o640)
	for _, test := range []struct {
		step Step
		want KeptReason
	}{
		{Step{Before: some, After: none}, ContentConflict},
		{Step{Before: none, After: some}, NoConflict},
		{Step{Before: none, After: file("y", 0o640)}, ContentConflict},
		{Step{Before: some, After: none}, NoConflict},
	} {
		if test.want == NoConflict && test.step.After == some {
			setACLOf(t, filepath.Join(workspace, "x"), accessACL, private) // or skips
			must(t, unix.Removexattr(filepath.Join(workspace, "x"), accessACL))
			must(t, os.Chmod(filepath.Join(workspace, "x"), 0o640))
		}
		test.step.Path = "x"
		_, conflict, err := apply(t.Context(), placesIn(workspace), test.step, token, strings.NewReader("y"))
		if conflict != test.want || err != nil {
			t.Errorf("%+v: %q, %v; want %q", test.step, conflict, err, test.want)
		}
	}
}

// TestAFileIsNotRestoredWithoutItsACL: on a file system without ACLs it stays as it is.
func TestAFileIsNotRestoredWithoutItsACL(t *testing.T) {
	workspace := t.TempDir()
	if err := unix.Mount("ramfs", workspace, "ramfs", 0, "mode=700"); err != nil {
		t.Skip("no file system without ACLs can be mounted: ", err)
	}
	defer unix.Unmount(workspace, unix.MNT_DETACH)
	put(t, workspace, "x", "is", 0o600)
	after := file("was", 0o660)
	after.ACLs.Access = private
	before := disk(t, workspace)
	_, conflict, err := apply(t.Context(), placesIn(workspace), Step{Path: "x", Before: file("is", 0o600), After: after}, token, strings.NewReader("was"))
	if conflict != NotPermitted || err != nil {
		t.Errorf("%q, %v", conflict, err)
	}
	if diff := cmp.Diff(before, disk(t, workspace)); diff != "" {
		t.Errorf("want (-), got (+):\n%s", diff)
	}
}
