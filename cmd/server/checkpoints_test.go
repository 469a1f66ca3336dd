package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"signoff/internal/sandbox"
	"signoff/internal/workspace/checkpoint"
)

// TestCheckpointsAreTakenInIsolation: git sees its repository, for one question the workspace, and nothing else of the machine.
func TestCheckpointsAreTakenInIsolation(t *testing.T) {
	box, err := sandbox.New(t.Context(), sandbox.Config{Mode: sandbox.ModeAuto})
	if err != nil {
		t.Fatal(err)
	}
	folder, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	workspace := filepath.Join(folder, "workspace")
	if err := os.Mkdir(workspace, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{".gitignore": "*.log\n", "note": "a note\n", "large.log": strings.Repeat("x", 2<<20)} {
		if err := os.WriteFile(filepath.Join(workspace, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	git := isolatedGit{box}
	repository, err := checkpoint.OpenRepository(git, filepath.Join(folder, "repository"))
	if err != nil {
		t.Fatal(err)
	}
	series := checkpoint.NewSeries(checkpoint.Config{Repository: repository, Workspace: workspace, Name: "e1", Limits: checkpoint.DefaultLimits})
	ours := func(string, checkpoint.Difference) checkpoint.By { return checkpoint.Ours }
	point, err := series.Take(t.Context(), ours)
	if err != nil {
		t.Fatal(err)
	}
	if len(point.NotCovered) != 1 || point.NotCovered[0].Reason != checkpoint.IgnoredTooLarge || point.Files != 2 {
		t.Errorf("the first: %+v", point)
	}
	if err := os.WriteFile(filepath.Join(workspace, "note"), []byte("another\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if point, err = series.Take(t.Context(), ours); err != nil || len(point.Changes) != 1 || point.Changes[0].Additions != 1 {
		t.Errorf("the second: %+v, %v", point, err)
	}

	var seen strings.Builder
	look := checkpoint.Command{Argv: []string{"sh", "-c", "ls -A " + folder + "; touch " + workspace + "/x; cat " + workspace + "/note"}, Repository: filepath.Join(folder, "repository")}
	_ = git.Run(t.Context(), look, nil, &seen)
	if seen.String() != "repository\n" {
		t.Errorf("git sees of the machine: %q", &seen)
	}
	seen.Reset()
	look.Workspace = workspace
	_ = git.Run(t.Context(), look, nil, &seen)
	if seen.String() != "workspace\nanother\n" {
		t.Errorf("git sees with the workspace: %q", &seen)
	}
	if _, err := os.Lstat(filepath.Join(workspace, "x")); err == nil {
		t.Error("git can write the workspace")
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := git.Run(ended, look, nil, &seen); err == nil {
		t.Error("a run after the end of its context")
	}
}
