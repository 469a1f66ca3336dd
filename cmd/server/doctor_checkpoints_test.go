package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"signoff/internal/sandbox"
	"signoff/internal/workspace/checkpoint"
)

func TestDoctorDescribesCheckpoints(t *testing.T) {
	box, err := sandbox.New(t.Context(), sandbox.Config{Mode: sandbox.ModeAuto})
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(t.TempDir(), "shared")
	t.Setenv("SIGNOFF_CHECKPOINT_DIR", folder)
	out, _ := doctorOf(t, "", "--no-requests")
	expected := regexp.MustCompile(`(?m)^ok    checkpoints +git version 2\S*.*; ` + regexp.QuoteMeta(folder) + ` has 0 workspaces in 0\.0 MiB; at most 8\.0 GiB each, and 32\.0 GiB in all$`)
	if !expected.MatchString(out) || !regexp.MustCompile(`(?m)^(ok   |-    ) checkpoints: writers `).MatchString(out) {
		t.Error(out)
	}
	if _, err := os.Lstat(folder); err == nil {
		t.Error("doctor has made the folder")
	}

	store, err := checkpoint.NewStore(isolatedGit{box}, filepath.Join(folder, "of a database"), checkpoint.DefaultBounds)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Repository("/srv/app"); err != nil {
		t.Fatal(err)
	}
	out, _ = doctorOf(t, "checkpoints: {maxBytesPerWorkspace: 1073741824, maxBytes: 2147483648}\n", "--no-requests")
	if !strings.Contains(out, folder+" has 1 workspace in 0.0 MiB; at most 1.0 GiB each, and 2.0 GiB in all") {
		t.Error(out)
	}
	if out, err := doctorOf(t, "checkpoints: {maxBytes: 5}\n", "--no-requests"); err == nil || !strings.Contains(out, "FAIL  checkpoints") || !strings.Contains(out, "checkpoints.maxBytes") {
		t.Errorf("%v\n%s", err, out)
	}
	t.Setenv("SIGNOFF_SANDBOX", "off")
	if out, _ := doctorOf(t, "", "--no-requests"); !strings.Contains(out, "-     checkpoints            unavailable. The sandbox of this server is off") {
		t.Error(out)
	}
}
