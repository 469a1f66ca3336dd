package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWorkspacesOfTheFile(t *testing.T) {
	root, app, other := realFolder(t), realFolder(t), realFolder(t)
	text := "models: {demo: {provider: demo}}\nworkspaces: {default: " + root + ", app: " + app + "}\n"
	for variable, want := range map[string]string{"": root, other: other} {
		config := written(t, text)
		config.WorkspaceRoot = variable
		file, err := config.readConfigFile()
		must(t, err)
		files, err := file.openWorkspace(config)
		must(t, err)
		if files.Root() != want || len(files.Roots()) != 2 {
			t.Errorf("%+v, not %s", files.Roots(), want)
		}
		if found, err := files.Resolve("app:"); err != nil || found != app {
			t.Error(found, err)
		}
	}
}

// Each mistake is shown with its line of the file; one of the variable names that.
func TestMistakesInWorkspaces(t *testing.T) {
	root := realFolder(t)
	for entry, want := range map[string][]string{
		"app: /missing":            {"workspaces.app", "not a folder", ">  4"},
		"app: /":                   {"workspaces.app", ">  4"},
		"app: /etc":                {"workspaces.app", "cannot be a workspace"},
		"app: " + root + "/data":   {"workspaces.app", "lie in one another"},
		"a/b: " + root:             {"workspaces.a/b", "cannot be a name"},
		"default: /missing-folder": {"workspaces.default", "/missing-folder"},
	} {
		config := written(t, "models: {demo: {provider: demo}}\n\nworkspaces:\n  "+entry+"\n")
		if !strings.HasPrefix(entry, "default") {
			config.WorkspaceRoot = root
		}
		must(t, os.MkdirAll(filepath.Join(root, "data"), 0o755))
		file, err := config.readConfigFile()
		must(t, err)
		_, err = file.openWorkspace(config)
		for _, part := range want {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %v, not %q", entry, err, part)
			}
		}
	}
	config := written(t, "models: {demo: {provider: demo}}\n")
	config.WorkspaceRoot = "/missing"
	file, err := config.readConfigFile()
	must(t, err)
	if _, err := file.openWorkspace(config); err == nil || !strings.Contains(err.Error(), "SIGNOFF_WORKSPACE_ROOT: ") {
		t.Error(err)
	}
}

func realFolder(t *testing.T) string {
	t.Helper()
	folder, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	return folder
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
