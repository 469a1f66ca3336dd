package acp

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"signoff/internal/domain"
	"signoff/internal/tools/hosttest"
)

// withFiles is a rig whose agent may use our files.
func withFiles(t testing.TB) *rig {
	r := newRig(t)
	r.launch.Files = true
	r.host.Tree = map[string]string{}
	return r
}

func TestFilesAreReadAndWritten(t *testing.T) {
	r := withFiles(t).open()
	path := filepath.Join(r.opening.Execution.Request.WorkingDirectory, "a.txt")
	r.runs("write "+path+" <one>", "read "+path, "write "+path, "read "+path)
	want(t, "text", r.host.Text(), "write=ok\nread=<one>\nwrite=ok\nread=\n")
	var calls []string
	for _, requested := range hosttest.Of[domain.ToolCallRequested](r.host) {
		calls = append(calls, fmt.Sprint(requested.Tool, " ", requested.Class, " ", requested.ToolCallID))
	}
	want(t, "calls", strings.Join(calls, ", "), "writeTextFile write writeTextFile, readTextFile read readTextFile, "+
		"writeTextFile write writeTextFile~2, readTextFile read readTextFile~2")
	want(t, "arguments", string(hosttest.Of[domain.ToolCallRequested](r.host)[0].Arguments), `{"path":"`+path+`","content":"<one>"}`)
	want(t, "output", hosttest.Of[domain.ToolCallCompleted](r.host)[1].Output, "<one>")
	want(t, "viewed", strings.Join(r.host.Viewed(), ", "), path+", "+path)
}

// TestFilesAreJudged: what runs is what was granted, and a refusal goes back with its words.
func TestFilesAreJudged(t *testing.T) {
	r := withFiles(t).open()
	folder := r.opening.Execution.Request.WorkingDirectory
	r.host.Grant = func(_ context.Context, call domain.ToolCall) (domain.Grant, error) {
		if call.Tool == "readTextFile" {
			return domain.Grant{Message: "A person said no."}, nil
		}
		return domain.Grant{Allowed: true, Arguments: domain.Encode(writeArguments{Path: "b.txt", Content: "edited"})}, nil
	}
	r.runs("write "+folder+"/a.txt text", "read "+folder+"/a.txt")
	r.heard("read=error -32603 A person said no.")
	if content, written := r.host.Content("b.txt"); !written || content != "edited" {
		t.Errorf("b.txt: %q, %v", content, written)
	}
}

func TestFileErrorsArePlain(t *testing.T) {
	r := withFiles(t).open()
	folder := r.opening.Execution.Request.WorkingDirectory
	r.runs("read "+folder+"/missing.txt", "read /etc/passwd", "write /etc/planted x", `request fs/read_text_file {"sessionId":"`+r.agent.session+`"}`)
	r.heard("read=error -32002 Resource not found: " + folder + "/missing.txt")
	r.heard("read=error -32602 The path leaves the workspace.")
	r.heard("write=error -32602 The path leaves the workspace.")
	r.heard("fs/read_text_file=error -32602 The path is missing.")
	for _, completed := range hosttest.Of[domain.ToolCallCompleted](r.host) {
		want(t, "outcome", completed.Outcome, domain.OutcomeFailed)
	}
}

func TestPartsOfAFile(t *testing.T) {
	long := strings.Repeat("x", 100<<10)
	files := fstest.MapFS{
		"a": {Data: []byte("1\n2\n3\n4")}, "long": {Data: []byte(long + "\nlast")}, "odd": {Data: []byte("a\xffb")},
		"large": {Data: []byte(strings.Repeat("x", readBytes+1) + "\nlast")},
	}
	for _, test := range []struct {
		path        string
		line, limit int64
		wanted      string
	}{
		{"a", 0, 0, "1\n2\n3\n4"}, {"a", 2, 0, "2\n3\n4"}, {"a", 2, 2, "2\n3\n"}, {"a", 4, 9, "4"}, {"a", 9, 0, ""},
		{"long", 2, 1, "last"}, {"long", 1, 1, long + "\n"}, {"odd", 0, 0, "a\uFFFDb"}, {"large", 2, 0, "last"},
	} {
		wanted := readArguments{Path: test.path}
		if test.line > 0 {
			wanted.Line = &test.line
		}
		if test.limit > 0 {
			wanted.Limit = &test.limit
		}
		text, err := readText(opened(t, files, test.path), wanted)
		if text != test.wanted || err != nil {
			t.Errorf("%+v: got %.20q, %v", test, text, err)
		}
	}
	if _, err := readText(opened(t, files, "large"), readArguments{Path: "large"}); err != errTooLarge { //nolint:errorlint // the very one
		t.Errorf("a large file: %v", err)
	}
}

func opened(t *testing.T, files fs.FS, path string) fs.File {
	t.Helper()
	file, err := files.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	return file
}
