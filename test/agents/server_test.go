//go:build agents && linux

package agents

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// binary is the server, built once.
var binary string

func buildServer(folder string) error {
	binary = filepath.Join(folder, "signoff")
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", binary, "signoff/cmd/server")
	build.Env = append(build.Environ(), "CGO_ENABLED=0") // as `make build` does it
	build.Stdout, build.Stderr = os.Stderr, os.Stderr
	return build.Run()
}

// server is Signoff with one agent in its registry. Its processes come and go over the same data.
type server struct {
	t       testing.TB
	data    string
	env     []string
	process *exec.Cmd
	exited  chan struct{}
	said    *tape
	base    string
	token   string
}

// tape keeps what a process prints.
type tape struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *tape) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *tape) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// newServer prepares a server. Its file changes of the built-in row no more than what an operator has to: where the
// program and its home are.
func newServer(t testing.TB, h home) *server {
	t.Helper()
	s := &server{t: t, data: filepath.Join(t.TempDir(), "data"), said: &tape{}}
	file := filepath.Join(filepath.Dir(s.data), "signoff.yaml")
	row := object{"command": h.command, "home": h.folder}
	if h.setEnv != nil {
		row["setEnv"] = h.filled(h.setEnv)
	}
	content := must2(json.Marshal(object{"agents": object{h.builtin(): row}}))(t) // JSON is YAML
	must(t, os.WriteFile(file, content, 0o600))
	s.env = append(h.environment(h.env),
		"SIGNOFF_ADDR=127.0.0.1:0", "SIGNOFF_CONFIG="+file, "SIGNOFF_DATA_DIR="+s.data, "SIGNOFF_WORKSPACE_ROOT="+h.workspace,
	)
	t.Cleanup(func() {
		if s.process != nil {
			s.stop()
		}
		if left := sweep(t); len(left) > 0 {
			t.Errorf("outlived the server: %v", left)
		}
		if t.Failed() {
			said := s.said.String()
			t.Logf("the server said:\n%s", said[max(0, len(said)-8000):])
		}
	})
	s.start()
	return s
}

var serves = regexp.MustCompile(`listens on (http://[0-9.:]+)`)

func (s *server) start() {
	s.t.Helper()
	s.process = exec.Command(binary, "serve")
	s.process.Env, s.process.Dir, s.process.Stderr = s.env, filepath.Dir(s.data), s.said
	before := len(serves.FindAllString(s.said.String(), -1))
	must(s.t, s.process.Start())
	spare(s.process.Process.Pid)
	s.exited = make(chan struct{})
	go func(process *exec.Cmd, exited chan struct{}) {
		defer close(exited)
		_ = process.Wait() // how it has ended is looked at where it was told to
	}(s.process, s.exited)
	eventually(s.t, "the server to listen", func() bool {
		found := serves.FindAllStringSubmatch(s.said.String(), -1)
		if len(found) > before {
			s.base = found[before][1]
		}
		return len(found) > before
	})
	s.token = strings.TrimSpace(string(must2(os.ReadFile(filepath.Join(s.data, "token")))(s.t)))
}

// stop is SIGTERM.
func (s *server) stop() {
	s.t.Helper()
	must(s.t, s.process.Process.Signal(syscall.SIGTERM))
	select {
	case <-s.exited:
	case <-time.After(patience):
		s.t.Error("the server does not stop")
		s.kill()
	}
	if code := s.process.ProcessState.ExitCode(); code != 0 {
		s.t.Errorf("the server has ended with exit code %d", code)
	}
	s.process = nil
}

// kill is SIGKILL.
func (s *server) kill() {
	s.t.Helper()
	must(s.t, s.process.Process.Kill())
	<-s.exited
}

// eventually waits until something holds that no bell tells of.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("no sign of %s in %v", what, patience)
		}
	}
}

func (s *server) try(ctx context.Context, method, path string, body any, accept string) (*http.Response, error) {
	var content io.Reader
	if body != nil {
		content = bytes.NewReader(must2(json.Marshal(body))(s.t))
	}
	request, err := http.NewRequestWithContext(ctx, method, s.base+path, content)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+s.token)
	request.Header.Set("Accept", accept)
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	return http.DefaultTransport.RoundTrip(request)
}

// request sends a request, fails on what is no success, and decodes the answer.
func request[T any](s *server, method, path string, body any) (answer T) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	response := must2(s.try(ctx, method, path, body, "application/json"))(s.t)
	defer response.Body.Close()
	content := must2(io.ReadAll(response.Body))(s.t)
	if !slices.Contains([]int{http.StatusOK, http.StatusCreated, http.StatusAccepted}, response.StatusCode) {
		s.t.Fatalf("%s %s: %s: %s", method, path, response.Status, content)
	}
	must(s.t, json.Unmarshal(content, &answer))
	return answer
}
