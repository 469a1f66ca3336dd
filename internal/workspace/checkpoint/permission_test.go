package checkpoint

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestWhatMayNotBeReadIsListed: a checkpoint of an ordinary user lacks what others keep for themselves, and says so.
func TestWhatMayNotBeReadIsListed(t *testing.T) {
	if os.Getuid() == 0 {
		asOrdinaryUser(t)
		return
	}
	s, workspace := series(t)
	put(t, workspace, "open", "x", 0o644)
	put(t, workspace, "closed/file", "x", 0o644)
	put(t, workspace, "listed/file", "x", 0o644)
	put(t, workspace, "private", "x", 0o644)
	open := func(folder string) {
		must(t, os.Chmod(filepath.Join(workspace, folder), 0o755))
	}
	take(t, s)
	must(t, os.Chmod(filepath.Join(workspace, "closed"), 0))
	must(t, os.Chmod(filepath.Join(workspace, "listed"), 0o400)) // its names, but not what they name
	must(t, os.Chmod(filepath.Join(workspace, "private"), 0))
	defer open("closed")
	defer open("listed")
	want := []NotCovered{{Path: "closed", Reason: Unreadable}, {Path: "listed/file", Reason: Unreadable}, {Path: "private", Reason: Unreadable, Bytes: 1}}
	point := take(t, s)
	if diff := cmp.Diff(want, point.NotCovered); diff != "" {
		t.Errorf("want (-), got (+):\n%s", diff)
	}
	open("closed")
	open("listed")
	open("private")
	if point := take(t, s); len(point.NotCovered) > 0 || point.Files != 4 {
		t.Errorf("after all was opened: %+v", point)
	}
}

// asOrdinaryUser runs the test again as a user without any rights.
func asOrdinaryUser(t *testing.T) {
	const nobody = 65534
	folder, err := os.MkdirTemp("", "signoff-nobody-")
	must(t, err)
	defer os.RemoveAll(folder)
	must(t, os.Chown(folder, nobody, nobody))
	self, err := os.Executable()
	must(t, err)
	copied := filepath.Join(folder, "test")
	binary, err := os.ReadFile(self) // which the compiler's folder is closed to
	must(t, err)
	must(t, os.WriteFile(copied, binary, 0o755))
	again := exec.Command(copied, "-test.run=^"+t.Name()+"$")
	again.Dir = folder
	again.Env = []string{"TMPDIR=" + folder, "HOME=" + folder, "PATH=" + os.Getenv("PATH")}
	again.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	if out, err := again.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// TestWhatIsNotCoveredIsKept: a rollback neither deletes nor replaces what one of the two checkpoints does not have.
func TestWhatIsNotCoveredIsKept(t *testing.T) {
	s, workspace := series(t)
	put(t, workspace, "becomes large", "x", 0o644)
	put(t, workspace, "was large", "a text that is long", 0o644)
	s.limits.File = 10
	first := take(t, s)
	put(t, workspace, "becomes large", "a text that is long", 0o644)
	put(t, workspace, "was large", "x", 0o644)
	last := take(t, s)
	plan, err := s.repository.Plan(t.Context(), last.ID, first.ID, nil)
	must(t, err)
	want := []Kept{{"becomes large", NotCoveredNow}, {"was large", NotCoveredBefore}}
	if diff := cmp.Diff(want, plan.Kept); diff != "" || len(plan.Steps) > 0 {
		t.Errorf("it does %+v; want (-), got (+):\n%s", plan.Steps, diff)
	}
}
