package workspace

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"signoff/internal/domain"
	"signoff/internal/secrets"
	"signoff/internal/tools"
	"signoff/internal/tools/hosttest"
)

// reach is a host whose files lie in a workspace.
type reach struct {
	hosttest.Host
	workspace *Workspace
	directory string
}

func (r *reach) OpenFile(_ context.Context, path string) (fs.File, error) {
	return r.workspace.Open(r.directory, path)
}

func (r *reach) ViewFile(ctx context.Context, path string, show func(fs.File) error) error {
	file, err := r.OpenFile(ctx, path)
	if err != nil {
		return err
	}
	defer file.Close()
	return show(file)
}

func (r *reach) ReadDir(_ context.Context, path string) ([]fs.DirEntry, error) {
	return r.workspace.List(r.directory, path)
}

func (r *reach) WriteFiles(_ context.Context, changes ...domain.FileChange) error {
	return r.workspace.Change(r.directory, changes, always)
}

// TestToolsInAWorkspace lets the tools loose on real files: what they are told by the workspace is what they count on, and no
// secret comes out.
func TestToolsInAWorkspace(t *testing.T) {
	w, root := tree(t)
	h := &reach{workspace: w, directory: root}
	before := snapshot(t, filepath.Dir(root))
	for _, test := range []struct {
		tool      tools.Tool
		arguments any
		want      string
		code      domain.Code
	}{
		{tools.List{}, map[string]any{"depth": 5}, ".git/\nabsolute (link)\nhard (6 bytes)\ninside (link)\nnote.txt (6 bytes)\noutside (link)\npipe (special)\n" +
			"sub/\nsub/deep.txt (4 bytes)\nsub/up (link)\nto-data (link)\nto-evil (link)\nto-token (link)\n", ""},
		{tools.List{}, map[string]any{"path": "note.txt"}, "note.txt is not a folder.", domain.CodeToolFailed},
		{tools.List{}, map[string]any{"path": "data"}, "data is outside the working directory.", domain.CodePathOutsideWorkspace},
		{tools.Search{}, map[string]any{"pattern": "SECRET|deep"}, "sub/deep.txt:1: deep\n[Files and folders that could not be read: 1.]\n" +
			"[.git and node_modules are searched only where the path names them.]", ""},
		{tools.Search{}, map[string]any{"pattern": "e", "path": "note.txt"}, "note.txt:1: a note\n", ""},
		{tools.Search{}, map[string]any{"pattern": "e", "path": "missing"}, "missing does not exist.", domain.CodeToolFailed},
		{tools.Search{}, map[string]any{"pattern": "e", "path": "to-evil"}, "to-evil is outside the working directory.", domain.CodePathOutsideWorkspace},
		{tools.Edit{}, map[string]any{"path": "outside", "oldText": "SECRET", "newText": "x"}, "outside is outside the working directory.", domain.CodePathOutsideWorkspace},
		{tools.Edit{}, map[string]any{"path": "inside", "oldText": "note", "newText": "x"}, "inside is not a regular file.", domain.CodeToolFailed},
		{tools.Edit{}, map[string]any{"path": "sub", "oldText": "note", "newText": "x"}, "sub is not a regular file.", domain.CodeToolFailed},
		{tools.Write{}, map[string]any{"path": ".git/hooks/pre-commit", "content": "x"}, ".git/hooks/pre-commit is guarded: programs outside of the sandbox take commands from it. It can be read, and changed by a person only.", domain.CodePathOutsideWorkspace},
		{tools.Patch{}, map[string]any{"patch": "--- note.txt\n+++ note.txt\n@@ -1 +1 @@\n-a note\n+x\n--- /dev/null\n+++ data/new/x\n@@ -0,0 +1 @@\n+x\n"},
			"Nothing was changed.\ndata/new/x is outside the working directory.", domain.CodePathOutsideWorkspace},
		{tools.Patch{}, map[string]any{"patch": "--- /dev/null\n+++ a/b/c\n@@ -0,0 +1 @@\n+x\n--- /dev/null\n+++ note.txt\n@@ -0,0 +1 @@\n+x\n"},
			"Nothing was changed.\nnote.txt exists already.", domain.CodeConflict},
	} {
		call := domain.ToolCall{Arguments: domain.Encode(test.arguments)}
		result := test.tool.Run(t.Context(), h, call)
		var code domain.Code
		if result.Failure != nil {
			code = result.Failure.Code
		}
		if result.Output != test.want || code != test.code {
			t.Errorf("%s %s\n got %q (%s)\nwant %q", test.tool.Definition().Name, call.Arguments, result.Output, code, test.want)
		}
	}
	if after := snapshot(t, filepath.Dir(root)); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
}

// TestTheMarkIsOne: what hides secrets and the tools that refuse to write the mark back must mean the same.
func TestTheMarkIsOne(t *testing.T) {
	if secrets.Masked != domain.Masked {
		t.Errorf("secrets are masked by %q, and tools know %q", secrets.Masked, domain.Masked)
	}
}

func TestToolsChangeAWorkspace(t *testing.T) {
	w, root := tree(t)
	h := &reach{workspace: w, directory: root}
	for _, step := range []struct {
		tool      tools.Tool
		arguments any
		want      string
	}{
		{tools.Write{}, map[string]any{"path": "new/x", "content": "one\r\ntwo\r\n"}, "Created new/x"},
		{tools.Write{}, map[string]any{"path": "note.txt", "content": ""}, "Replaced note.txt"},
		{tools.Edit{}, map[string]any{"path": filepath.Join(root, "new/x"), "oldText": "one\ntwo", "newText": "1\n2"}, "Edited"},
		{tools.Patch{}, map[string]any{"patch": "--- a/new/x\n+++ b/new/x\n@@ -1,2 +1,2 @@\n 1\n-2\n+3\n--- a/sub/deep.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-deep\n"}, "Patched 2 files"},
	} {
		result := step.tool.Run(t.Context(), h, domain.ToolCall{Arguments: domain.Encode(step.arguments)})
		if result.Failure != nil || !strings.HasPrefix(result.Output, step.want) {
			t.Fatalf("%s: %+v", step.tool.Definition().Name, result)
		}
	}
	if content, err := os.ReadFile(filepath.Join(root, "new/x")); err != nil || string(content) != "1\r\n3\r\n" {
		t.Errorf("new/x: %q, %v", content, err)
	}
	if _, err := os.Lstat(filepath.Join(root, "sub/deep.txt")); !os.IsNotExist(err) {
		t.Errorf("sub/deep.txt: %v", err)
	}
	nothingIsLeft(t, root)
}
