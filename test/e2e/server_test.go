package e2e

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"signoff/internal/events/eventstest"
	"signoff/internal/store/storetest"
	"signoff/test/harness"
)

// server is one process of the binary, and the folders that outlive it.
type server struct {
	t         *testing.T
	home      string // data and workspace lie here
	database  string // the folder in memory that the database lies in
	workspace string
	env       []string
	engine    engine
	binary    string // that of today, unless a test says otherwise
	process   *harness.Process
	stderr    *harness.Output
	terminal  *os.File                                  // what the next process reads from and prints to
	launch    func(*exec.Cmd) (*harness.Process, error) // on which machine its processes start
	client
}

// provider is where the server finds its model.
type provider interface{ url() string }

// newServer prepares a server over an engine and a model; start starts it.
func newServer(t *testing.T, e engine, m provider, env ...string) *server {
	t.Helper()
	home := t.TempDir()
	s := &server{t: t, home: home, workspace: filepath.Join(home, "workspace"), engine: e, binary: binary, launch: harness.Start}
	must(t, os.Mkdir(s.workspace, 0o755))
	s.database = storetest.DataDir(t, s.data())
	config := filepath.Join(home, "signoff.yaml")
	must(t, os.WriteFile(config, nil, 0o600))
	s.section("models", object{"default": "test", "test": entry(m)})
	s.section("secrets", object{"canary": object{"env": canaryVariable, "as": "CANARY"}})
	s.section("settings", object{})
	s.env = append([]string{
		canaryVariable + "=" + canary, modelKeyVariable + "=" + modelKey,
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "GOCOVERDIR=" + os.Getenv("GOCOVERDIR"),
		"SIGNOFF_ADDR=127.0.0.1:0", "SIGNOFF_DATA_DIR=" + s.data(), "SIGNOFF_CONFIG=" + config,
		"SIGNOFF_WORKSPACE_ROOT=" + s.workspace, "SIGNOFF_DATABASE_URL=" + e.url,
		"SIGNOFF_LEASE_SECONDS=30", // of two seconds, one that the machine stood still was enough: all work was killed, and the model asked again
		"SIGNOFF_PARK_SECONDS=600", // a slow machine is no reason to let go of a process that a test looks at
		"SIGNOFF_DRAIN_SECONDS=10", "SIGNOFF_LOG_LEVEL=info",
		"GORACE=atexit_sleep_ms=0", // or a second at the end of every server and command line
	}, env...)
	t.Cleanup(func() {
		if s.running() {
			s.stop()
		}
		s.secretive()
		if t.Failed() {
			t.Logf("the server said:\n%s", s.stderr)
		}
	})
	return s
}

// data is the server's own folder.
func (s *server) data() string { return filepath.Join(s.home, "data") }

// entry is how a model stands in the registry.
func entry(m provider, more ...object) object {
	said := object{"provider": "openai", "model": "m", "baseUrl": m.url(), "apiKeyEnv": modelKeyVariable}
	for _, fields := range more {
		maps.Copy(said, fields)
	}
	return said
}

// section adds a section to the configuration. Settings take the place of those that are there.
func (s *server) section(name string, content any) {
	s.t.Helper()
	if settings, are := content.(object); are && name == "settings" {
		s.dropSettings()
		content = withoutCheckpoints(settings)
	}
	encoded, err := json.Marshal(content) // JSON is YAML
	must(s.t, err)
	file, err := os.OpenFile(filepath.Join(s.home, "signoff.yaml"), os.O_APPEND|os.O_WRONLY, 0)
	must(s.t, err)
	defer file.Close()
	_, err = fmt.Fprintf(file, "%s: %s\n", name, encoded)
	must(s.t, err)
}

// withoutCheckpoints has executions take no checkpoints, unless their request wants them: each of them costs starts of git, and adds events to every log.
func withoutCheckpoints(settings object) object {
	settings = maps.Clone(settings)
	settings["defaultCheckpoints"] = "off"
	return settings
}

// dropSettings takes the settings out of the configuration. The server of an older version refuses some of them.
func (s *server) dropSettings() {
	s.t.Helper()
	path := filepath.Join(s.home, "signoff.yaml")
	content, err := os.ReadFile(path)
	must(s.t, err)
	var rest strings.Builder
	for line := range strings.Lines(string(content)) {
		if !strings.HasPrefix(line, "settings: ") {
			rest.WriteString(line)
		}
	}
	must(s.t, os.WriteFile(path, []byte(rest.String()), 0o600))
}

// models replaces the models of the configuration, and with them all of it but the canary and the settings that every server has.
func (s *server) models(content object) {
	s.t.Helper()
	must(s.t, os.Truncate(filepath.Join(s.home, "signoff.yaml"), 0))
	s.section("models", content)
	s.section("secrets", object{"canary": object{"env": canaryVariable, "as": "CANARY"}})
	s.section("settings", object{})
}

// up starts a new server and waits until it answers.
func up(t *testing.T, e engine, m provider, env ...string) *server {
	t.Helper()
	s := newServer(t, e, m, env...)
	s.start()
	return s
}

// start runs the process, and again after it was stopped or killed, over the same data.
func (s *server) start() {
	s.t.Helper()
	s.serve()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	err := s.process.Await(ctx, func() bool {
		s.client.Base = harness.Address(s.stderr.String())
		return s.client.Base != ""
	})
	if err != nil {
		s.t.Fatalf("the server does not come up: %v\n%s", err, s.stderr)
	}
	s.client.t = s.t
	if s.client.Token == "" {
		s.client.Token = s.readToken()
	}
}

func (s *server) serve(args ...string) {
	s.t.Helper()
	command := exec.Command(s.binary, args...)
	if s.terminal != nil {
		command.Stdin, command.Stdout = s.terminal, s.terminal
	}
	s.run(command)
}

// run runs a command as the server's process.
func (s *server) run(command *exec.Cmd) {
	s.t.Helper()
	s.stderr = &harness.Output{}
	command.Env, command.Dir = s.env, s.home
	command.Stderr = io.MultiWriter(s.stderr, look("the log of the server of "+s.t.Name()))
	process, err := s.launch(command)
	must(s.t, err)
	s.process = process
}

// readToken is the first token; a replica that found keys in its database has none, and makes one.
func (s *server) readToken() string {
	s.t.Helper()
	token, err := os.ReadFile(filepath.Join(s.data(), "token"))
	if err == nil {
		return strings.TrimSpace(string(token))
	}
	return s.newKey("--name", "test", "--scopes", "all")
}

// newKey makes a key with the command line.
func (s *server) newKey(args ...string) string {
	s.t.Helper()
	out, errOut, code := s.command(append([]string{"keys", "create"}, args...)...)
	if code != 0 {
		s.t.Fatalf("keys create: exit %d: %s", code, errOut)
	}
	return strings.TrimSpace(out)
}

// command runs a sub-command with the server's environment.
func (s *server) command(args ...string) (out, errOut string, code int) {
	s.t.Helper()
	var stdout, stderr bytes.Buffer
	c := exec.Command(s.binary, args...)
	line := "signoff " + strings.Join(args, " ")
	c.Env, c.Dir = s.env, s.home
	c.Stdout, c.Stderr = io.MultiWriter(&stdout, look("the output of "+line)), io.MultiWriter(&stderr, look("the errors of "+line))
	process, err := s.launch(c)
	must(s.t, err)
	code = process.End().ExitCode() // before it, nothing has been written
	return stdout.String(), stderr.String(), code
}

func (s *server) running() bool { return s.process.Running() }

// shortLease is for a server whose executions others are to take over, also after it has died. It is to be lost only then: the others
// keep the long one.
const shortLease = "SIGNOFF_LEASE_SECONDS=5"

// kill is SIGKILL for the only server of its database. Its lease ends with it, so that the next one need not wait for that; who lets others
// wait for it says die.
func (s *server) kill() {
	s.t.Helper()
	s.die()
	if s.engine.url == "" {
		return
	}
	db, err := sql.Open("pgx", s.engine.url)
	must(s.t, err)
	defer db.Close()
	_, err = db.ExecContext(s.t.Context(), "update replicas set lease_until_us = 0")
	must(s.t, err)
}

// die is SIGKILL, and nothing else.
func (s *server) die() {
	s.t.Helper()
	must(s.t, s.process.Kill())
}

// stop is SIGTERM, and expects a clean end.
func (s *server) stop() {
	s.t.Helper()
	obeyed, err := s.process.Stop(40 * time.Second)
	must(s.t, err)
	if !obeyed {
		s.t.Errorf("the server did not stop on SIGTERM:\n%s", s.stderr)
		return
	}
	if code := s.process.End().ExitCode(); code != 0 {
		s.t.Errorf("the server ended with exit code %d:\n%s", code, s.stderr)
	}
	if strings.Contains(s.stderr.String(), "DATA RACE") {
		s.t.Errorf("the race detector spoke:\n%s", s.stderr)
	}
}

// sound holds the log of an execution against the invariants and returns it.
func (s *server) sound(id string) []wireEvent {
	s.t.Helper()
	log := s.page(id)
	for _, broken := range eventstest.Broken(asDomain(s.t, log)) {
		s.t.Error(broken)
	}
	return log
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
