package inside

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"signoff/internal/domain"
	"signoff/internal/workspace"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// pair is a client with its server, in one process.
func pair(t *testing.T, directory string) *Client {
	t.Helper()
	requests, stdin := io.Pipe()
	stdout, responses := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- Serve(requests, responses, directory, workspace.Guards{Names: []string{".envrc"}}) }()
	stop := func() { stdin.Close(); responses.CloseWithError(io.ErrUnexpectedEOF); requests.Close() }
	t.Cleanup(func() { stop(); <-done })
	return NewClient(stdin, stdout, stop)
}

func directory(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	return dir
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, path, content string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(t, os.WriteFile(path, []byte(content), 0o644))
}

func TestFilesAreReadAsACommandReadsThem(t *testing.T) {
	dir, outside := directory(t), directory(t)
	large := strings.Repeat("0123456789abcdef", maxRead/8) // two readings
	write(t, filepath.Join(dir, "large"), large)
	write(t, filepath.Join(outside, "log"), "line\n")
	must(t, os.Symlink(filepath.Join(outside, "log"), filepath.Join(dir, "link"))) // absolute, as those of /var/log/containers
	must(t, os.Link(filepath.Join(outside, "log"), filepath.Join(outside, "second")))
	c := pair(t, dir)
	for path, want := range map[string]string{
		"large": large, "link": "line\n", "./link": "line\n", filepath.Join(outside, "second"): "line\n", filepath.Join(outside, "../", filepath.Base(outside), "log"): "line\n",
	} {
		file, err := c.Open(t.Context(), path)
		must(t, err)
		content, err := io.ReadAll(file)
		if info, _ := file.Stat(); err != nil || string(content) != want || info.Size() != int64(len(want)) {
			t.Errorf("%s: %d bytes, %v", path, len(content), err)
		}
		must(t, file.Close())
	}
	for path, want := range map[string]string{
		"missing": "not visible", ".": "not a regular file", "/proc/self/environ": "kernel", "/dev/null": "not a regular file", "/sys/kernel/uevent_seqnum": "kernel",
	} {
		if _, err := c.Open(t.Context(), path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
	entries, err := c.List(t.Context(), ".")
	if err != nil || len(entries) != 2 || entries[0].Name() != "large" || entries[1].Type() != fs.ModeSymlink {
		t.Errorf("%v %v", entries, err)
	}
	if _, err := c.List(t.Context(), "/proc"); err == nil {
		t.Error("the kernel's files are listed")
	}
}

func TestChangesAskBeforeEachFile(t *testing.T) {
	dir := directory(t)
	write(t, filepath.Join(dir, "a"), "old")
	c := pair(t, dir)
	asked := 0
	allow := func() error { asked++; return nil }
	must(t, c.Change(t.Context(), []domain.FileChange{
		{Path: "a", Content: []byte("new"), Expect: domain.SameFile, Before: []byte("old")}, {Path: filepath.Join(dir, "sub/b"), Content: []byte("made")},
	}, allow))
	if asked != 2 {
		t.Errorf("asked %d times", asked)
	}
	refuse := func() error { asked++; return domain.Errorf(domain.CodeToolFailed, "The lease is over.") }
	err := c.Change(t.Context(), []domain.FileChange{{Path: "a", Content: []byte("never")}}, refuse)
	if content, _ := os.ReadFile(filepath.Join(dir, "a")); err == nil || !strings.Contains(err.Error(), "lease") || !bytes.Equal(content, []byte("new")) {
		t.Errorf("%q %v", content, err)
	}
	for _, path := range []string{".envrc", ".git/config", "sub/.git/hooks/x"} {
		if err := c.Change(t.Context(), []domain.FileChange{{Path: path, Content: []byte("x")}}, allow); domain.CodeOf(err) != domain.CodePathOutsideWorkspace {
			t.Errorf("%s: %v", path, err)
		}
	}
	if err := c.Change(t.Context(), []domain.FileChange{{Path: "a", Expect: domain.NoFile}}, allow); domain.CodeOf(err) != domain.CodeConflict {
		t.Error(err)
	}
}

// A helper that does not answer is ended, and does not hold up whoever comes next.
func TestAHelperThatHangsIsEnded(t *testing.T) {
	requests, stdin := io.Pipe()
	stdout, responses := io.Pipe()
	go func() { _, _ = io.Copy(io.Discard, requests) }()
	stopped := make(chan struct{}, 2)
	stop := func() {
		stopped <- struct{}{}
		stdin.Close()
		responses.Close()
	}
	c := NewClient(stdin, stdout, stop)
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("the turn is over")
	go cancel(why)
	if _, err := c.Open(ctx, "x"); !errors.Is(err, why) {
		t.Error(err)
	}
	<-stopped
	if _, err := c.List(t.Context(), "."); domain.CodeOf(err) != domain.CodeToolFailed {
		t.Error(err)
	}
}
