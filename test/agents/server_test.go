//go:build agents && linux

package agents

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"signoff/test/harness"
)

// binary is the server, built once.
var binary string

func buildServer(folder string) error {
	binary = filepath.Join(folder, "signoff")
	return harness.Build(binary)
}

// server is Signoff with one agent in its registry. Its processes come and go over the same data.
type server struct {
	t       testing.TB
	data    string
	env     []string
	process *harness.Process
	printed *harness.Output // by all processes
	client  harness.Client
}

// newServer prepares a server. Its file changes of the built-in row no more than what an operator has to: where the
// program and its home are.
func newServer(t testing.TB, h home) *server {
	t.Helper()
	s := &server{t: t, data: filepath.Join(t.TempDir(), "data"), printed: &harness.Output{}}
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
			said := s.printed.String()
			t.Logf("the server said:\n%s", said[max(0, len(said)-8000):])
		}
	})
	s.start()
	return s
}

func (s *server) start() {
	s.t.Helper()
	command := exec.Command(binary, "serve")
	command.Env, command.Dir, command.Stderr = s.env, filepath.Dir(s.data), s.printed
	before := len(s.printed.String())
	s.process = must2(harness.Start(command))(s.t)
	spare(s.process.PID())
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	must(s.t, s.process.Await(ctx, func() bool {
		s.client.Base = harness.Address(s.printed.String()[before:])
		return s.client.Base != ""
	}))
	s.client.Token = strings.TrimSpace(string(must2(os.ReadFile(filepath.Join(s.data, "token")))(s.t)))
}

// stop is SIGTERM.
func (s *server) stop() {
	s.t.Helper()
	if obeyed := must2(s.process.Stop(patience))(s.t); !obeyed {
		s.t.Error("the server does not stop")
	} else if code := s.process.End().ExitCode(); code != 0 {
		s.t.Errorf("the server has ended with exit code %d", code)
	}
	s.process = nil
}

// kill is SIGKILL.
func (s *server) kill() {
	s.t.Helper()
	must(s.t, s.process.Kill())
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
	return s.client.Send(ctx, method, path, body, "Accept", accept)
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
