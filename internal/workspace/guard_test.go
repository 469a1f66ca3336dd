package workspace

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"signoff/internal/domain"
	"signoff/internal/sandbox"
	"signoff/internal/tools"
)

// guardedTree is a workspace that guards what a server's does, with some of it there already.
func guardedTree(t *testing.T) (w *Workspace, root string) {
	t.Helper()
	w, root = tree(t)
	for path, content := range map[string]string{
		"signoff.yaml": "old", "bin/signoff": "old", ".envrc": "old", "app/.vscode/tasks.json": "old", "repo/HEAD": "old",
		"repo/hooks/update": "old", "app/config": "old", "real.yaml": "old", "conf/settings.json": "old",
	} {
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(root, path)), 0o755))
		must(t, os.WriteFile(filepath.Join(root, path), []byte(content), 0o600))
	}
	must(t, os.Symlink("real.yaml", filepath.Join(root, "linked.yaml")))
	must(t, os.Symlink("app", filepath.Join(root, "to-app")))
	must(t, os.Symlink("conf", filepath.Join(root, ".claude")))
	through := filepath.Join(filepath.Dir(root), "through") // as an operator may have written the root
	must(t, os.Symlink(root, through))
	w.Guard(Guards{
		Files: []string{filepath.Join(root, "signoff.yaml"), filepath.Join(root, "bin/signoff"), filepath.Join(root, "linked.yaml"), filepath.Join(through, "later/x.yaml")},
		Names: sandbox.Trusted(), Git: sandbox.GitParts(),
	})
	return w, root
}

// TestGuardedFilesCanBeReadOnly: a file tool that writes them would do what a command in the sandbox may not.
func TestGuardedFilesCanBeReadOnly(t *testing.T) {
	w, root := guardedTree(t)
	guarded := []string{
		"signoff.yaml", "SIGNOFF.yaml", "bin/signoff", "linked.yaml", "real.yaml", "later/x.yaml", "to-app/.vscode/tasks.json",
		".git/hooks/pre-commit", ".git/config", ".GIT/hooks/x", "app/.git", "app/.Git/config", ".git",
		"x.git/hooks/post-update", "sub/X.GIT/config", "repo/hooks/update", "repo/hooks/new", "repo/config", "repo/HEAD", "app/HEAD",
		".claude/settings.json", // by a link that a person has made; what reads it follows the link
		"sub/.opencode/new/plugin.js", "app/.ENVRC",
	}
	for _, name := range sandbox.Trusted() {
		guarded = append(guarded, name, "sub/"+name, "new/folder/"+strings.ToUpper(name))
	}
	before := snapshot(t, root)
	for _, path := range guarded {
		for what, change := range map[string]domain.FileChange{
			"replace": put(path, "x"), "create": create(path, "x"), "edit": edit(path, "old", "x"), "delete": remove(path, "old"),
		} {
			err := w.Change(root, []domain.FileChange{put("note.txt", "changed"), change}, always)
			if domain.CodeOf(err) != domain.CodePathOutsideWorkspace || !strings.Contains(err.Error(), "guarded") {
				t.Errorf("%s %s: %v", what, path, err)
			}
		}
	}
	if after := snapshot(t, root); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
	for _, path := range []string{"signoff.yaml", ".envrc", "app/.vscode/tasks.json", "repo/hooks/update"} {
		file, err := w.Open(root, path)
		if err != nil {
			t.Errorf("reading %s: %v", path, err)
			continue
		}
		must(t, file.Close())
	}
}

// TestWhatOnlyLooksGuarded is work like any other.
func TestWhatOnlyLooksGuarded(t *testing.T) {
	w, root := guardedTree(t)
	for _, path := range []string{
		"app/config", "app/hooks/x", ".gitignore", ".github/workflows/ci.yaml", ".vscode/launch.json", "mcp.json",
		"signoff.yaml.example", "bin/signoff-client", ".claude/commands/x.md", "HEAD.md", "envrc", "settings.json", "x.git/readme",
	} {
		if err := w.Change(root, []domain.FileChange{put(path, "x")}, always); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestGuardsHoldFromBelow: the working directory is a folder of the workspace, and its name belongs to what is guarded.
func TestGuardsHoldFromBelow(t *testing.T) {
	w, root := guardedTree(t)
	for directory, path := range map[string]string{"repo": "hooks/update", "app/.vscode": "tasks.json", "bin": "signoff"} {
		if err := w.Change(filepath.Join(root, directory), []domain.FileChange{put(path, "x")}, always); domain.CodeOf(err) != domain.CodePathOutsideWorkspace {
			t.Errorf("%s in %s: %v", path, directory, err)
		}
	}
	must(t, os.Mkdir(filepath.Join(root, "app/.GIT"), 0o755))
	if _, err := w.Resolve("app/.GIT"); domain.CodeOf(err) != domain.CodeInvalid {
		t.Errorf("git's own folder as working directory: %v", err)
	}
}

func TestToolsKeepTheGuards(t *testing.T) {
	w, root := guardedTree(t)
	h := &reach{workspace: w, directory: root}
	for _, test := range []struct {
		tool      tools.Tool
		arguments map[string]any
	}{
		{tools.Write{}, map[string]any{"path": "signoff.yaml", "content": "x"}},
		{tools.Edit{}, map[string]any{"path": ".envrc", "oldText": "old", "newText": "x"}},
		{tools.Patch{}, map[string]any{"patch": "--- a/repo/hooks/update\n+++ b/repo/hooks/update\n@@ -1 +1 @@\n-old\n+x\n"}},
		{tools.Patch{}, map[string]any{"patch": "--- a/app/.vscode/tasks.json\n+++ /dev/null\n@@ -1 +0,0 @@\n-old\n"}},
	} {
		result := test.tool.Run(t.Context(), h, domain.ToolCall{Arguments: domain.Encode(test.arguments)})
		if result.Failure == nil || result.Failure.Code != domain.CodePathOutsideWorkspace || !strings.Contains(result.Output, "is guarded") {
			t.Errorf("%s %v: %+v", test.tool.Definition().Name, test.arguments, result)
		}
	}
}
