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
	launch  func(*exec.Cmd) (*harness.Process, error) // on a machine
	process *harness.Process
	printed *harness.Output // by all processes
	client  harness.Client
}

// newServer prepares a server. Its file changes of the built-in row no more than what an operator has to: where the
// program and its home are.
func newServer(t testing.TB, h home) *server {
	t.Helper()
	return newServerWith(t, h, &server{launch: harness.Start}, object{}, object{})
}

// newServerWith adds fields to the row, and sections to the file.
func newServerWith(t testing.TB, h home, s *server, row, file object) *server {
	t.Helper()
	s.t, s.data, s.printed = t, filepath.Join(t.TempDir(), "data"), &harness.Output{}
	place := filepath.Join(filepath.Dir(s.data), "signoff.yaml")
	row["command"], row["home"] = h.command, h.folder
	if h.setEnv != nil {
		row["setEnv"] = h.filled(h.setEnv)
	}
	file["agents"] = object{h.builtin(): row}
	if file["settings"] == nil {
		file["settings"] = object{"defaultCheckpoints": "off"} // each checkpoint costs starts of git; a test that wants them asks in its request
	}
	must(t, os.WriteFile(place, must2(json.Marshal(file))(t), 0o600)) // JSON is YAML
	s.env = append(h.environment(h.env),
		"SIGNOFF_ADDR=127.0.0.1:0", "SIGNOFF_CONFIG="+place, "SIGNOFF_DATA_DIR="+s.data, "SIGNOFF_WORKSPACE_ROOT="+h.workspace,
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
	s.process = must2(s.launch(command))(s.t)
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
