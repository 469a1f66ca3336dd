package registry

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"signoff/internal/acp/acptest"
	"signoff/internal/domain"
	"signoff/internal/egress"
	"signoff/internal/environments"
	"signoff/internal/launch"
	"signoff/internal/mcp"
	"signoff/internal/sandbox"
	"signoff/internal/sandbox/proxy"
	"signoff/internal/tools/hosttest"
)

// machine has every path and every user.
type machine struct{}

func (machine) Real(path string) (string, error)   { return path, nil }
func (machine) Reads(string, string) (bool, error) { return false, nil }

func environmentsOf(t testing.TB, definitions map[string]environments.Definition) *environments.Catalog {
	t.Helper()
	catalog, err := environments.New(environments.Config{Definitions: definitions, Data: "/data", Networks: map[string]environments.NetworkDefinition{
		"corp": {Hosts: []string{"tools.corp.example"}, CIDRs: []string{"10.20.0.0/16"}, Ports: []int{8080}},
	}}, machine{})
	if err != nil {
		t.Fatal(err)
	}
	return catalog
}

// alsoShowing is a catalog whose environments show a folder besides. Definitions cannot mount what lies in /tmp, as the folders of tests do.
type alsoShowing struct {
	*environments.Catalog
	folder string
}

func (a alsoShowing) add(e *domain.Environment) {
	if a.folder != "" {
		e.Mounts = append(slices.Clone(e.Mounts), domain.Mount{Path: a.folder, Access: domain.AccessRead})
	}
}

func (a alsoShowing) Choose(choice domain.EnvironmentChoice) (domain.Environment, error) {
	e, err := a.Catalog.Choose(choice)
	a.add(&e)
	return e, err
}

func (a alsoShowing) All() []domain.EnvironmentInfo {
	all := a.Catalog.All()
	for i := range all {
		a.add(&all[i].Environment)
	}
	return all
}

// isolating is a sandbox that isolates, with a network of what is granted.
func isolating(t testing.TB) *sandbox.Sandbox {
	t.Helper()
	s, err := sandbox.New(context.Background(), sandbox.Config{Mode: sandbox.ModeAuto, Network: func(to sandbox.Access) (sandbox.Proxy, error) {
		p, err := proxy.Open(egress.Dialer{Hosts: append([]string{}, to.Hosts...), Networks: to.Networks})
		if err != nil {
			return nil, err
		}
		p.Last()
		for relay, serve := range to.Serve {
			p.Serve(relay, func(client net.Conn) { serve(client) })
		}
		return p, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	if s.Name() != string(sandbox.KindBubblewrap) && s.Name() != string(sandbox.KindNamespaces) {
		t.Skip("NOT TESTED: nothing isolates commands here")
	}
	return s
}

func TestMistakesInTheEnvironmentOfAnAgent(t *testing.T) {
	data := t.TempDir()
	catalog := environmentsOf(t, map[string]environments.Definition{"host": {Isolation: "none", User: "operator"}})
	for name, test := range map[string]struct {
		agent  AgentConfig
		at, in string
	}{
		"an unknown one":            {AgentConfig{Environment: "nowhere"}, "/agents/mine/environment", "there are: host, machine, workspace"},
		"one without isolation":     {AgentConfig{Environment: "host"}, "/agents/mine/environment", "has no isolation"},
		"hosts without":             {AgentConfig{Hosts: []string{"api.example"}}, "/agents/mine/hosts", "an agent with an environment"},
		"all hosts":                 {AgentConfig{Environment: "machine", Hosts: []string{"api.example", "*"}}, "/agents/mine/hosts/1", `"*"`},
		"an address of the web":     {AgentConfig{Environment: "machine", Hosts: []string{"https://api.example"}}, "/agents/mine/hosts/0", "not a host"},
		"the home of the server":    {AgentConfig{Environment: "machine", Home: HomeShared}, "/agents/mine/home", "holds credentials"},
		"a home around the data":    {AgentConfig{Environment: "machine", Home: filepath.Dir(data)}, "/agents/mine/home", "data folder"},
		"a home inside of the data": {AgentConfig{Environment: "machine", Home: filepath.Join(data, "agents")}, "/agents/mine/home", "data folder"},
	} {
		test.agent.Command = "my-agent"
		_, err := New(Config{Agents: map[string]AgentConfig{"mine": test.agent}, Environments: catalog, DataDir: data, Lookup: environ(nil)})
		e := problem(t, err)
		if e.Code != domain.CodeInvalid || len(e.Details) != 1 || e.Details[0].Pointer != test.at || !strings.Contains(e.Message, test.in) {
			t.Errorf("%s: %v %+v", name, err, e.Details)
		}
	}
}

// An agent is never less isolated than its entry says: where it cannot be, it does not start, and everybody is told why.
func TestAnAgentThatCannotBeIsolated(t *testing.T) {
	elsewhere := t.TempDir()
	program := filepath.Join(elsewhere, "claude-agent-acp")
	if err := os.WriteFile(program, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		shown     string
		limit     error
		variables map[string]string
		reason    string // empty: it can be
	}{
		"with a key":                  {shown: elsewhere, variables: map[string]string{"ANTHROPIC_API_KEY": "k"}},
		"without a key":               {shown: elsewhere, reason: "Set one of ANTHROPIC_API_KEY, ANTHROPIC_AUTH_TOKEN, CLAUDE_CODE_OAUTH_TOKEN"},
		"with a program out of sight": {variables: map[string]string{"ANTHROPIC_API_KEY": "k"}, reason: "does not show its program " + launch.Real(program)},
		"where nothing isolates": {
			shown: elsewhere, limit: domain.Errorf(domain.CodeEnvironmentUnavailable, "No user namespaces."),
			variables: map[string]string{"ANTHROPIC_API_KEY": "k"}, reason: "cannot be had here: No user namespaces.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			catalog := environmentsOf(t, map[string]environments.Definition{"app": {}})
			catalog.Limit("/work", func(domain.Environment, string) error { return test.limit })
			variables := map[string]string{"PATH": elsewhere, "HOME": t.TempDir()}
			for name, value := range test.variables {
				variables[name] = value
			}
			r := registry(t, Config{
				Agents: map[string]AgentConfig{"claude": {Environment: "app"}}, Environments: alsoShowing{catalog, test.shown}, DataDir: t.TempDir(), Lookup: environ(variables), Starter: starterOf(t),
			})
			infos := r.Agents(t.Context())
			info := infos[slices.IndexFunc(infos, func(a AgentInfo) bool { return a.Name == "claude" })]
			if info.Environment != "app" || info.Available != (test.reason == "") || !strings.Contains(info.Reason, test.reason) {
				t.Errorf("it is shown as %+v", info)
			}
			err := r.Check(domain.Source{Type: domain.SourceACP, Command: "claude"})
			if test.reason == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if domain.CodeOf(err) != domain.CodeEnvironmentUnavailable || !strings.Contains(err.Error(), test.reason) {
				t.Errorf("a request is answered %v", err)
			}
			_, err = r.launch(r.agents["claude"], domain.Execution{Request: domain.Request{WorkingDirectory: t.TempDir()}})
			if domain.CodeOf(err) != domain.CodeEnvironmentUnavailable {
				t.Errorf("it starts: %v", err)
			}
		})
	}
	if keys := (&agent{builtin: builtins["gemini"]}).lastingKeys(); slices.Contains(keys, "GOOGLE_GENAI_USE_GCA") || !slices.Contains(keys, "GEMINI_API_KEY") {
		t.Errorf("gemini signs in by %v", keys)
	}
}

// What an isolated agent is started with: no variable of the server leads it out, and its settings are lent.
func TestTheStartOfAnIsolatedAgent(t *testing.T) {
	data := t.TempDir()
	r := registry(t, Config{
		Agents:       map[string]AgentConfig{"qwen": {Command: "/usr/bin/env", AllowBypass: true, Environment: "machine", Hosts: []string{"api.example"}}},
		Environments: environmentsOf(t, nil), DataDir: data, Starter: starterOf(t),
		Lookup: environ(map[string]string{
			"PATH": "/usr/bin:bin", "HOME": "/opt", "HTTPS_PROXY": "http://proxy.example", "OPENAI_API_KEY": "k", "XDG_CONFIG_HOME": "/opt/out/of/sight", "TMPDIR": "/var/tmp",
			"NODE_EXTRA_CA_CERTS": "/no/such/ca.pem",
		}),
		MCPServers: catalog(t, map[string]mcp.Server{"probe": {Command: "/usr/bin/env"}}, environ(nil)),
	})
	request := domain.Request{WorkingDirectory: t.TempDir(), MCPServers: []string{"probe"}, Capabilities: domain.DefaultCapabilities}
	l, err := r.launch(r.agents["qwen"], domain.Execution{Request: request})
	if err != nil {
		t.Fatal(err)
	}
	p := l.Process
	wanted := []string{"HOME=" + sandbox.ProcessHome, "OPENAI_API_KEY=k", "PATH=/usr/bin", "QWEN_CODE_SAFE_MODE=true"}
	if !slices.Equal(p.Env, wanted) {
		t.Errorf("its variables are %q, not %q", p.Env, wanted)
	}
	want(t, "home", p.Home, filepath.Join(data, "agents/qwen/isolated"))
	want(t, "folder", p.Dir, request.WorkingDirectory)
	want(t, "start", p.Start, sandbox.ProgramFolder)
	want(t, "environment", p.Environment.Name, "machine")
	if !slices.Equal(p.Hosts, []string{"api.example"}) {
		t.Errorf("it reaches %v", p.Hosts)
	}
	for _, variable := range []string{"QWEN_CODE_SYSTEM_SETTINGS_PATH", "QWEN_CODE_TRUSTED_FOLDERS_PATH"} {
		if _, err := os.Stat(p.Environment.Files[variable]); err != nil {
			t.Errorf("%s: %v", variable, err)
		}
	}
	if r.config.Environments.(*environments.Catalog).All()[0].Files["QWEN_CODE_SYSTEM_SETTINGS_PATH"] != "" {
		t.Error("the environment itself lends the settings of the agent")
	}
	request.Environment.Name = "workspace"
	if _, err := r.launch(r.agents["qwen"], domain.Execution{Request: request}); domain.CodeOf(err) != domain.CodeEnvironmentUnavailable {
		t.Errorf("it starts for an execution of another environment: %v", err)
	}
}

func TestServersAtAnAddressMustBeReached(t *testing.T) {
	e, err := environmentsOf(t, map[string]environments.Definition{"app": {Network: []string{"corp"}}}).Choose(domain.EnvironmentChoice{Name: "app"})
	if err != nil {
		t.Fatal(err)
	}
	a := &agent{AgentConfig: AgentConfig{Environment: "app", Hosts: []string{"*.docs.example"}}}
	for address, reached := range map[string]bool{
		"https://mcp.docs.example/mcp": true, "http://tools.corp.example:8080/": true, "http://tools.corp.example/": false, "https://other.example/": false, "http://127.0.0.1:1/": false,
	} {
		err := a.checkServers(e, []mcp.Endpoint{{Name: "far", Transport: "http", URL: address}})
		if (err == nil) != reached || err != nil && domain.CodeOf(err) != domain.CodeInvalid {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// The whole of it, with a scripted agent in a real sandbox: it sees its workspace and its home, keeps the home for its next process, sees
// neither the data folder nor the home of the server, has no way out, and uses an MCP server that runs outside of the sandbox.
func TestAnAgentInASandbox(t *testing.T) {
	program, data, secret := acptest.Build(t), t.TempDir(), t.TempDir()
	for _, file := range []string{filepath.Join(data, "token"), filepath.Join(secret, "file")} {
		if err := os.WriteFile(file, []byte("SECRET\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(filepath.Dir(program), 0o755); err != nil { // in the sandbox it is not the server's user who reads it
		t.Fatal(err)
	}
	server := script(t, "tool-server", `echo "$TOKEN $(cat `+secret+`/file)"; while read line; do echo "heard $line"; done; echo end`)
	r := registry(t, Config{
		Agents:       map[string]AgentConfig{"mine": {Command: program, Args: []string{"-state", sandbox.ProcessHome}, Environment: "app", Mode: new("")}},
		Environments: alsoShowing{environmentsOf(t, map[string]environments.Definition{"app": {View: "machine"}}), filepath.Dir(program)},
		DataDir:      data, Starter: isolating(t), Lookup: environ(map[string]string{"PATH": "/usr/bin:/bin", "TOKEN": "t0ken"}),
		MCPServers: catalog(t, map[string]mcp.Server{"probe": {Command: server, Env: []string{"TOKEN"}}}, environ(map[string]string{"TOKEN": "t0ken"})),
	})
	workspace := t.TempDir()
	request := domain.Request{
		Source: domain.Source{Type: domain.SourceACP, Command: "mine"}, WorkingDirectory: workspace, MCPServers: []string{"probe"},
		Capabilities: domain.DefaultCapabilities, Environment: domain.EnvironmentChoice{Name: "app"},
	}
	prompt := func(opened domain.Agent, host *hosttest.Host, steps ...string) string {
		t.Helper()
		if stop, err := opened.Prompt(t.Context(), host, domain.Prompt{Turn: 1, Text: acptest.Prompt(steps...)}); stop != domain.StopEndTurn || err != nil {
			t.Fatalf("the turn ended with %q, %v", stop, err)
		}
		var said strings.Builder
		for _, delta := range hosttest.Of[domain.MessageDelta](host) {
			said.WriteString(delta.Text)
		}
		return said.String()
	}
	open := func(session string) (domain.Agent, *hosttest.Host) {
		t.Helper()
		host := &hosttest.Host{Dir: workspace, Files: os.DirFS(workspace)}
		opened, err := r.Open(t.Context(), domain.Opening{Host: host, AgentSession: session, Execution: domain.Execution{ID: "e", Request: request}})
		if err != nil {
			t.Fatal(err)
		}
		return opened, host
	}
	opened, host := open("")
	var questions []domain.Question
	host.Answer = func(_ context.Context, question domain.Question) (domain.Answer, error) {
		questions = append(questions, question)
		return domain.Answer{Status: domain.ApprovalApproved, OptionID: "yes"}, nil
	}
	said := prompt(opened, host,
		`shell echo made > made.txt; echo kept > $HOME/kept; pwd; cat `+data+`/token `+secret+`/file 2>&1 | grep -c SECRET; ls /root /home 2>/dev/null | wc -l; echo 3<>/dev/tcp/1.1.1.1/443; env | grep -c _PROXY`,
		"ask c1 kind=execute options=yes:allow_once,no:reject_once",
		"whoami")
	for _, part := range []string{workspace, "0\n0\n"} {
		if !strings.Contains(said, part) {
			t.Errorf("%q is not in what it says: %s", part, said)
		}
	}
	if len(questions) != 1 || !questions[0].Isolated {
		t.Errorf("it asks %+v", questions)
	}
	if content, err := os.ReadFile(filepath.Join(workspace, "made.txt")); string(content) != "made\n" {
		t.Errorf("the workspace is not writable: %v", err)
	}
	if content, err := os.ReadFile(filepath.Join(data, "agents/mine/isolated/kept")); string(content) != "kept\n" {
		t.Errorf("the home is not kept: %v", err)
	}
	session := opened.Introduction().AgentSession
	host = &hosttest.Host{Dir: workspace, Files: os.DirFS(workspace)}
	token := regexp.MustCompile(`mcp\.signoff:1 [A-Z0-9]+`).FindString(said)
	start := `echo "hello" | SIGNOFF_MCP_RELAY="` + token + `" ` + sandbox.OwnProgram + ` mcp-relay probe mcp.signoff:1 2>&1; echo "exit $?"`
	said = prompt(opened, host, "shell "+start, "shell "+start)
	for _, part := range []string{"t0ken SECRET\nheard hello\nend\nexit 0\n", "was not started"} { // the second start finds the token spent
		if !strings.Contains(said, part) {
			t.Errorf("%q is not in what the server says: %s", part, said)
		}
	}
	if updates := hosttest.Of[domain.AgentMCPServerUpdated](host); len(updates) != 1 || updates[0].Status != domain.MCPServerStarted {
		t.Errorf("the server is reported as %+v", updates)
	}
	if err := opened.Close(); err != nil {
		t.Error(err)
	}
	opened, host = open(session)
	if said := prompt(opened, host, "shell cat $HOME/kept"); !strings.Contains(said, "kept") {
		t.Errorf("the next process says %q", said)
	}
	if err := opened.Close(); err != nil {
		t.Error(err)
	}
}
