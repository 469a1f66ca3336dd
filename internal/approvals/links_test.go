package approvals_test

import (
	"os"
	"path/filepath"
	"testing"

	"signoff/internal/approvals"
	"signoff/internal/domain"
)

// TestALinkHidesNoCatastrophe: a file of the system is that file by whatever name a line writes to it.
func TestALinkHidesNoCatastrophe(t *testing.T) {
	workspace := t.TempDir()
	for name, target := range map[string]string{"etcl": "/etc", "etcll": "etcl", "sdal": "/dev/sda", "temporary": "/tmp"} {
		if err := os.Symlink(target, filepath.Join(workspace, name)); err != nil {
			t.Fatal(err)
		}
	}
	policy, err := approvals.NewPolicy(requested(trusting, func(r *domain.Request) { r.WorkingDirectory = workspace }))
	if err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]approvals.Source{
		"echo x > etcl/hosts":                   approvals.ByCatastrophe,
		"echo x | tee -a etcll/passwd":          approvals.ByCatastrophe,
		"rm -f " + workspace + "/etcl/passwd":   approvals.ByCatastrophe,
		"cp image sdal":                         approvals.ByCatastrophe,
		"cat etcl/hosts":                        approvals.BySafeMode,
		"echo x > temporary/hosts":              approvals.BySafeMode,
		"echo x > hosts":                        approvals.BySafeMode,
		"chmod 644 etcl/hosts":                  approvals.BySafeMode,
		"echo x > etcl/an-application/its.conf": approvals.BySafeMode,
	} {
		if got := policy.Judge(t.Context(), running(line), hashed, now); got.By != want {
			t.Errorf("%q is decided by %s: %s; want %s", line, got.By, got.Reason, want)
		}
	}
}
