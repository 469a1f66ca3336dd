package e2e

import (
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"signoff/internal/domain"
	"signoff/internal/store/storetest"
)

func quiet(a *answer, _ []message) { a.Say("hello") }

// TestFirstStart: loopback, a token that only its owner can read, and a configuration to go on from.
func TestFirstStart(t *testing.T) {
	t.Parallel()
	s := newServer(t, engine{}, newModel(t, quiet))
	s.env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.home, "SIGNOFF_ADDR=127.0.0.1:0"}
	must(t, os.RemoveAll(s.data()))
	s.start()
	if !strings.HasPrefix(s.Base, "http://127.0.0.1:") {
		t.Errorf("it listens on %s", s.Base)
	}
	for path, mode := range map[string]os.FileMode{"data": 0o700, "data/token": 0o600, "data/signoff.db": 0o600, "signoff.yaml": 0o600} {
		info, err := os.Stat(filepath.Join(s.home, path))
		if err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v; want %o", path, info.Mode().Perm(), err, mode)
		}
	}
	if strings.Contains(s.stderr.String(), s.Token) {
		t.Error("the token is printed")
	}
	first := s.Token
	s.stop()
	s.Token = ""
	s.start()
	if s.Token != first {
		t.Error("the second start made another token")
	}
}

// TestOwnDataIsHidden: by default the data folder lies in the workspace, and neither a tool nor a command gets at it.
func TestOwnDataIsHidden(t *testing.T) {
	t.Parallel()
	s := newServer(t, engine{}, newModel(t, func(a *answer, conversation []message) {
		if last(conversation).Role == "tool" {
			for _, m := range conversation {
				a.Say(m.Content)
			}
			return
		}
		a.Want("read", object{"path": "data/token"})
		a.Bash("cat data/token; cat */token; ls -la data; echo 'models: {}' > signoff.yaml; echo end")
	}), "SIGNOFF_WORKSPACE_ROOT=.", "SIGNOFF_DATA_DIR=data")
	s.start()
	config, err := os.ReadFile(filepath.Join(s.home, "signoff.yaml"))
	must(t, err)
	id := s.create().ID
	s.decide(s.asked(id, 1)[0])
	s.ended(id)
	for _, event := range s.sound(id) {
		if strings.Contains(event.Raw, s.Token) {
			t.Errorf("the token is in the log: %s", event.Raw)
		}
	}
	if after, err := os.ReadFile(filepath.Join(s.home, "signoff.yaml")); err != nil || string(after) != string(config) {
		t.Errorf("a command has changed the configuration: %s %v", after, err)
	}
	s.refused(http.StatusUnprocessableEntity, "invalid", "POST", "/executions",
		object{"source": object{"type": "internal"}, "prompt": "x", "workingDirectory": "data"})
}

// TestConfigurationCannotBePlanted: a server that is started without SIGNOFF_CONFIG reads the signoff.yaml of its folder. Where the
// variable names another file, neither the tools nor a command may leave one for that start.
func TestConfigurationCannotBePlanted(t *testing.T) {
	t.Parallel()
	s := newServer(t, engine{}, newModel(t, func(a *answer, conversation []message) {
		if last(conversation).Role == "tool" {
			a.Say("done")
			return
		}
		a.Want("write", object{"path": "signoff.yaml", "content": "models: {}"})
		a.Want("write", object{"path": "below/signoff.yaml", "content": "models: {}"})
		a.Bash("echo 'models: {}' > signoff.yaml")
	}), "SIGNOFF_WORKSPACE_ROOT=.", "SIGNOFF_CONFIG=settings.yaml")
	must(t, os.Mkdir(filepath.Join(s.home, "below"), 0o755))
	must(t, os.Rename(filepath.Join(s.home, "signoff.yaml"), filepath.Join(s.home, "settings.yaml")))
	s.start()
	id := s.create(trusting).ID
	s.ended(id)
	log := ""
	for _, event := range s.sound(id) {
		log += event.Raw
	}
	for _, said := range []string{"signoff: put away", "below/signoff.yaml is guarded"} {
		if !strings.Contains(log, said) {
			t.Errorf("the log lacks %q:\n%s", said, log)
		}
	}
	for _, path := range []string{"signoff.yaml", "below/signoff.yaml"} {
		if _, err := os.Lstat(filepath.Join(s.home, path)); err == nil {
			t.Errorf("%s was planted", path)
		}
	}
}

// TestOnlyOurVariablesAreRead: DATABASE_URL and ADDR are often somebody else's.
func TestOnlyOurVariablesAreRead(t *testing.T) {
	t.Parallel()
	s := up(t, engine{}, newModel(t, quiet), "DATABASE_URL=postgres://nobody@127.0.0.1:1/none", "ADDR=0.0.0.0:1", "SANDBOX=off", "DATA_DIR=/nonexistent")
	if s.get(s.create().ID).ID == "" {
		t.Error("no execution")
	}
}

func TestMistakesExitWith2(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		env  string
		args []string
		says string
	}{
		"public address without keys": {"SIGNOFF_ADDR=0.0.0.0:0", nil, "keys create"},
		"all interfaces without keys": {"SIGNOFF_ADDR=:0", nil, "keys create"},
		"address without a port":      {"SIGNOFF_ADDR=localhost", nil, "host:port"},
		"unknown variable":            {"SIGNOFF_DATABSE_URL=x", nil, "SIGNOFF_DATABSE_URL"},
		"unknown sandbox":             {"SIGNOFF_SANDBOX=docker", nil, "SIGNOFF_SANDBOX"},
		"unknown level":               {"SIGNOFF_LOG_LEVEL=loud", nil, "SIGNOFF_LOG_LEVEL"},
		"a number that is none":       {"SIGNOFF_DRAIN_SECONDS=soon", nil, "SIGNOFF_DRAIN_SECONDS"},
		"no such configuration":       {"SIGNOFF_CONFIG=missing.yaml", nil, "missing.yaml"},
		"no such workspace":           {"SIGNOFF_WORKSPACE_ROOT=missing", nil, "missing"},
		"unknown command":             {"", []string{"surve"}, "surve"},
		"argument to serve":           {"", []string{"serve", "8080"}, "8080"},
		"keys without a verb":         {"", []string{"keys"}, "keys create"},
		"key without scopes":          {"", []string{"keys", "create", "--name", "x"}, "scope"},
		"key with an unknown scope":   {"", []string{"keys", "create", "--name", "x", "--scopes", "everything"}, "executions:read"},
		"key without a name":          {"", []string{"keys", "create", "--scopes", "all"}, "name"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t, engine{}, newModel(t, quiet), test.env)
			out, errOut, code := s.command(test.args...)
			if code != 2 || !strings.Contains(errOut, test.says) {
				t.Errorf("exit %d, %q %q; want 2 and %q", code, out, errOut, test.says)
			}
		})
	}
}

// TestAgentProfilesOfTheFile: one that no request could use stops the start; what only this machine lacks does not, and the request says it.
func TestAgentProfilesOfTheFile(t *testing.T) {
	t.Parallel()
	s := newServer(t, engine{}, newModel(t, quiet))
	configure := func(profiles string) {
		t.Helper()
		must(t, os.WriteFile(filepath.Join(s.home, "signoff.yaml"), []byte("models: {default: demo, demo: {provider: demo}}\n"+
			"agents: {absent: {command: /no/such/program}}\nagentProfiles:\n"+profiles), 0o600))
	}
	configure("  lost: {source: {type: internal, model: gone}}\n")
	if _, errOut, code := s.command(); code != 2 || !strings.Contains(errOut, "agentProfiles.lost.source.model") || !strings.Contains(errOut, "demo") {
		t.Errorf("exit %d, %q", code, errOut)
	}
	configure("  far: {source: {type: acp, command: absent}}\n  near: {source: {type: internal}, environment: workspace, maxIterations: 3}\n")
	s.start()
	use := func(name string) object {
		return object{"source": object{"type": "profile", "name": name}, "prompt": "say x"}
	}
	made := created[object](s.client, use("near"))
	if profile, _ := made["profile"].(map[string]any); profile["name"] != "near" || profile["version"] != nil || made["maxIterations"] != 3.0 {
		t.Errorf("%v", made)
	}
	problem := want[object](s.client, http.StatusUnprocessableEntity, "POST", "/executions", use("far"))
	if detail, _ := problem["detail"].(string); problem["code"] != string(domain.CodeAgentUnavailable) || !strings.Contains(detail, "far") {
		t.Errorf("%v", problem)
	}
	if items, _ := want[object](s.client, http.StatusOK, "GET", "/agent-profiles", nil)["items"].([]any); len(items) != 2 {
		t.Errorf("%v", items)
	}
}

// TestPublicAddressWithKeys: what was refused without a key works with one.
func TestPublicAddressWithKeys(t *testing.T) {
	t.Parallel()
	s := newServer(t, engine{}, newModel(t, quiet), "SIGNOFF_ADDR=0.0.0.0:0")
	s.Token = s.newKey("--name", "ops", "--scopes", "all")
	s.start()
	_, port, err := net.SplitHostPort(strings.TrimPrefix(s.Base, "http://"))
	must(t, err)
	s.Base = "http://127.0.0.1:" + port
	s.create()
	if _, err := os.Stat(filepath.Join(s.data(), "token")); err == nil {
		t.Error("a public server has made a token by itself")
	}
}

func TestSecondServerOnTheSameDataRefuses(t *testing.T) {
	t.Parallel()
	s := up(t, engine{}, newModel(t, quiet))
	if _, errOut, code := s.command("serve"); code != 1 || !strings.Contains(errOut, "Another server") {
		t.Errorf("exit %d: %s", code, errOut)
	}
	s.create() // the first one goes on
}

func TestKeys(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, e engine) {
		s := up(t, e, newModel(t, once("ls")))
		s.refused(http.StatusUnauthorized, "unauthenticated", "GET", "/executions", nil, headers{"Authorization": ""})
		s.with("sgn_0000000000000000_"+strings.Repeat("0", 64)).refused(http.StatusUnauthorized, "unauthenticated", "GET", "/executions", nil)

		writer := s.with(s.newKey("--name", "frontend", "--scopes", "executions:read,executions:write,approvals:read,events:read"))
		id := writer.create().ID
		a := writer.asked(id, 1)[0]
		writer.refused(http.StatusForbidden, "forbidden", "POST", "/approvals/"+a.ID, object{"decision": "approve", "argumentsHash": a.ArgumentsHash})
		writer.refused(http.StatusForbidden, "forbidden", "POST", "/executions/"+id+"/cancel", nil)

		stranger := s.with(s.newKey("--name", "other", "--scopes", "all", "--tenant", "other"))
		for _, path := range []string{"/executions/" + id, "/executions/" + id + "/events", "/executions/" + id + "/approvals", "/approvals/" + a.ID} {
			stranger.refused(http.StatusNotFound, "notFound", "GET", path, nil)
		}
		stranger.refused(http.StatusNotFound, "notFound", "POST", "/approvals/"+a.ID, object{"decision": "deny"})

		decider := s.with(s.newKey("--name", "on call", "--scopes", "approvals:read,approvals:decide"))
		decider.refused(http.StatusPreconditionRequired, "argumentsHashRequired", "POST", "/approvals/"+a.ID, object{"decision": "approve"})
		if got := decider.decide(a); got.Decision.DecidedBy.Name != "on call" {
			t.Errorf("decided by %+v", got.Decision)
		}

		table, _, _ := s.command("keys", "list")
		keyID := ""
		for _, line := range strings.Split(table, "\n") {
			if strings.Contains(line, "on call") {
				keyID = strings.Fields(line)[0]
			}
		}
		if _, errOut, code := s.command("keys", "revoke", keyID); code != 0 {
			t.Fatalf("revoke: %s", errOut)
		}
		s.eventually("the end of a revoked key", func() bool {
			response, _ := decider.do("GET", "/approvals", nil)
			return response.StatusCode == http.StatusUnauthorized
		})
		if _, _, code := s.command("keys", "revoke", "nobody"); code != 1 {
			t.Errorf("revoking an unknown key: exit %d", code)
		}
	})
}

func TestForeignHostsAndOrigins(t *testing.T) {
	t.Parallel()
	s := up(t, engine{}, newModel(t, quiet), "SIGNOFF_ALLOWED_HOSTS=signoff.example, other.example")
	host := func(name string) int {
		request, err := http.NewRequest("GET", s.Base+"/healthz", nil)
		must(t, err)
		request.Host = name
		response, err := http.DefaultTransport.RoundTrip(request)
		must(t, err)
		response.Body.Close()
		return response.StatusCode
	}
	for name, want := range map[string]int{"evil.example": 421, "signoff.example": 200, "other.example": 200, "localhost:99": 200} {
		if got := host(name); got != want {
			t.Errorf("Host %s: %d, want %d", name, got, want)
		}
	}
	s.refused(http.StatusForbidden, "foreignOrigin", "GET", "/executions", nil, headers{"Origin": "https://evil.example"})
	s.refused(http.StatusForbidden, "foreignOrigin", "GET", "/executions", nil, headers{"Sec-Fetch-Site": "cross-site"})
	response, _ := s.do("GET", "/executions", nil)
	for name := range response.Header {
		if strings.HasPrefix(name, "Access-Control") {
			t.Errorf("a CORS header: %s", name)
		}
	}
}

// TestSandboxOffRunsNothingInTheWorkspace: without isolation only an environment that says so by name runs commands.
func TestSandboxOffRunsNothingInTheWorkspace(t *testing.T) {
	t.Parallel()
	s := up(t, engine{}, newModel(t, once("echo unconfined")), "SIGNOFF_SANDBOX=off")
	id := s.create().ID
	s.decide(s.asked(id, 1)[0])
	s.ended(id)
	log := s.sound(id)
	if started := of[domain.ToolCallStarted](t, log); len(started) != 1 || started[0].Sandbox != "off" {
		t.Errorf("started: %+v", started)
	}
	done := of[domain.ToolCallCompleted](t, log)
	if len(done) != 1 || done[0].Outcome != domain.OutcomeFailed || !strings.Contains(done[0].Output, "isolation: none") {
		t.Errorf("completed: %+v", done)
	}
	if agent := of[domain.AgentStarted](t, log); len(agent) != 1 || agent[0].Sandbox != "off" {
		t.Errorf("agent: %+v", agent)
	}
}

// TestDemo is the first minute of a new user without a terminal.
func TestDemo(t *testing.T) {
	t.Parallel()
	s := newServer(t, engine{}, newModel(t, quiet))
	out, errOut, code := s.command("demo")
	if code != 0 {
		t.Fatalf("exit %d\n%s\n%s", code, out, errOut)
	}
	for _, expected := range []string{"POST /executions", "approves by itself", "completed", "Where to go next"} {
		if !strings.Contains(out, expected) {
			t.Errorf("the demo does not say %q:\n%s", expected, out)
		}
	}
}

// ready calls the tool that a doctor gives to a model.
func ready(a *answer, conversation []message) {
	if last(conversation).Role == "tool" {
		a.Say("done")
		return
	}
	a.WantRaw("think", `{"thought":"ready"}`)
}

func TestDoctor(t *testing.T) {
	t.Parallel()
	t.Run("SQLite", func(t *testing.T) {
		s := newServer(t, engine{}, newModel(t, ready))
		must(t, os.RemoveAll(s.data()))
		out, errOut, code := s.command("doctor")
		if _, err := os.Stat(s.data()); code != 0 || err == nil {
			t.Errorf("before the first start: exit %d, data %v\n%s%s", code, err, out, errOut)
		}
		s.start()
		s.diagnosed(0, "sandbox in use", "model test", "answers, calls tools, takes the result back", "ok    database journal", "database disk")
	})
	t.Run("Postgres", func(t *testing.T) {
		s := up(t, engine{url: cluster(t, true)}, newModel(t, ready))
		s.diagnosed(0, "model test", "ok    database settings", "ok    database notifications", "ok    database connections")
		if strings.Contains(s.stderr.String(), "may lose") {
			t.Errorf("the server warns of a database that is as it should be:\n%s", s.stderr)
		}
	})
	t.Run("Postgres without fsync", func(t *testing.T) {
		s := up(t, engine{url: cluster(t, false)}, newModel(t, ready))
		s.diagnosed(1, "FAIL  database settings", "alter system set fsync = on", "alter system set full_page_writes = on", "ok    database notifications")
		if !strings.Contains(s.stderr.String(), "fsync is off") {
			t.Errorf("the server says nothing of fsync:\n%s", s.stderr)
		}
	})
	s := newServer(t, engine{}, newModel(t, ready), "SIGNOFF_DATABASE_URL=postgres://user:hunter2@127.0.0.1:1/none")
	out, errOut, code := s.command("doctor")
	if code != 1 || !strings.Contains(out, "FAIL  database") || strings.Contains(out+errOut, "hunter2") {
		t.Errorf("without its database: exit %d\n%s%s", code, out, errOut)
	}
}

// diagnosed wants the doctor to end with code, and to say all of that.
func (s *server) diagnosed(code int, says ...string) {
	s.t.Helper()
	out, errOut, got := s.command("doctor")
	for _, said := range says {
		if got != code || !strings.Contains(out, said) {
			s.t.Errorf("exit %d, want %d and %q in\n%s%s", got, code, said, out, errOut)
		}
	}
}

// cluster is a database in a Postgres of the test's own.
func cluster(t *testing.T, fsync bool) (url string) {
	t.Helper()
	c, err := storetest.NewCluster(fsync)
	must(t, err)
	t.Cleanup(func() { _ = c.Stop() })
	url, err = c.Database()
	must(t, err)
	return url
}

// TestSwappedWorkingDirectory: a command that was approved for one folder must not run in another one that a link has
// put in its place meanwhile, least of all in the server's own.
func TestSwappedWorkingDirectory(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"auto", "namespaces", "off"} {
		t.Run(kind, func(t *testing.T) {
			s := newServer(t, engine{}, newModel(t, once("cat token secret; echo x > planted; ls")),
				"SIGNOFF_WORKSPACE_ROOT=.", "SIGNOFF_DATA_DIR=data", "SIGNOFF_SANDBOX="+kind)
			s.start()
			outside := t.TempDir()
			must(t, os.WriteFile(filepath.Join(outside, "secret"), []byte("TOPSECRET"), 0o600))
			for name, target := range map[string]string{"job": "data", "job2": outside} {
				must(t, os.Mkdir(filepath.Join(s.home, name), 0o755))
				id := s.create(object{"workingDirectory": name}).ID
				a := s.asked(id, 1)[0]
				must(t, os.Remove(filepath.Join(s.home, name)))
				must(t, os.Symlink(target, filepath.Join(s.home, name)))
				s.decide(a)
				s.ended(id)
				for _, event := range s.sound(id) {
					if strings.Contains(event.Raw, s.Token) || strings.Contains(event.Raw, "TOPSECRET") {
						t.Errorf("a secret is in the log: %s", event.Raw)
					}
				}
				if _, err := os.Stat(filepath.Join(s.home, name, "planted")); err == nil {
					t.Errorf("the command wrote into %s", target)
				}
			}
		})
	}
}
