package registry

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"signoff/internal/acp"
	"signoff/internal/acp/acptest"
	"signoff/internal/acp/settings"
	"signoff/internal/acp/wire"
	"signoff/internal/domain"
	"signoff/internal/mcp"
	"signoff/internal/sandbox"
)

var box = sync.OnceValues(func() (*sandbox.Sandbox, error) {
	return sandbox.New(context.Background(), sandbox.Config{Mode: sandbox.ModeAuto})
})

func starterOf(t testing.TB) *sandbox.Sandbox {
	t.Helper()
	s, err := box()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func script(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestResolve(t *testing.T) {
	program := script(t, "my-agent", "exit 0")
	r := registry(t, Config{
		Agents: map[string]AgentConfig{
			"mine":  {Command: "my-agent", Args: []string{"--acp"}},
			"left":  {Command: "/opt/shared", Args: []string{"left"}},
			"right": {Command: "/opt/shared", Args: []string{"right"}},
		},
		Lookup: environ(map[string]string{"PATH": filepath.Dir(program)}),
	})
	for _, c := range []struct {
		command string
		args    []string
		want    string
	}{
		{"claude", nil, "claude"}, {"Claude", nil, "claude"}, {"claude_code", nil, "claude"}, {"Claude-Code", nil, "claude"},
		{"claude-agent-acp", nil, "claude"}, {"claude", []string{}, "claude"}, {"gemini-cli", nil, "gemini"},
		{"gemini", []string{"--acp"}, "gemini"}, {"codex-acp", nil, "codex"}, {"CODEX_ACP", []string{}, "codex"},
		{"opencode", []string{"acp"}, "opencode"}, {"mine", nil, "mine"}, {"mine", []string{}, "mine"}, {"MINE", nil, "mine"}, {"my-agent", nil, "mine"},
		{program, []string{"--acp"}, "mine"}, {"/opt/shared", []string{"left"}, "left"}, {"shared", []string{"right"}, "right"},
	} {
		if got, err := r.Resolve(c.command, c.args); err != nil || got != c.want {
			t.Errorf("%s %v: %q, %v, want %q", c.command, c.args, got, err, c.want)
		}
	}
	for _, c := range []struct {
		command string
		args    []string
		pointer string
	}{
		{"", nil, "/source/command"}, {"rm", []string{"-rf"}, "/source/command"}, {"internal", nil, "/source/command"},
		{"/bin/sh", nil, "/source/command"}, {"/elsewhere/my-agent", nil, "/source/command"}, {"shared", nil, "/source/command"},
		{"./my-agent", nil, "/source/command"}, {"gemini", []string{"--acp", "--yolo"}, "/source/args"},
		{"mine", []string{"--acp", "--yolo"}, "/source/args"}, {program, []string{"--yolo"}, "/source/command"},
	} {
		got, err := r.Resolve(c.command, c.args)
		if err == nil {
			t.Errorf("%s %v is %s", c.command, c.args, got)
			continue
		}
		e := problem(t, err)
		if e.Code != domain.CodeUnknownAgent || e.Details[0].Pointer != c.pointer {
			t.Errorf("%s %v: %v at %v", c.command, c.args, err, e.Details)
		}
		if c.pointer == "/source/command" && !strings.Contains(e.Message, "claude, codex, copilot, cursor, gemini, left, mine,") {
			t.Errorf("the names are not told: %s", e.Message)
		}
	}
}

func TestModeOfARequest(t *testing.T) {
	r := registry(t, Config{Agents: map[string]AgentConfig{"mine": {Command: "my-agent"}, "My-Other": {Command: "my-agent"}, "bold": {Command: "my-agent", AllowBypass: true}}})
	for _, c := range []struct {
		name, mode string
		allowed    bool
	}{{"My-Other", "yolo", false}, {"mine", "", true}, {"mine", "plan", true}, {"mine", "yolo", false}, {"gemini", "YOLO", false},
		{"claude", "acceptEdits", false}, {"qwen", "auto", false}, {"codex", "auto", false}, {"gemini", "autoEdit", false},
		{"qwen", "auto-edit", false}, {"copilot", "https://agentclientprotocol.com/protocol/session-modes#autopilot", false},
		{"codex", "agent", false}, {"copilot", "agent", true}, {"codex", "workspace-write", false}, {"bold", "yolo", true}} {
		err := r.agents[canonical(c.name)].checkWords(settings.SourceSelections(domain.Source{Mode: c.mode}))
		if (err == nil) != c.allowed {
			t.Errorf("%s in %q: %v", c.name, c.mode, err)
		}
	}
	for name, b := range builtins {
		if r.agents[name].checkWords((&agent{AgentConfig: b.config}).selections()) != nil {
			t.Errorf("%s may not be in its own mode", name)
		}
	}
}

func opening(t testing.TB, name string, change ...func(*domain.Request)) domain.Opening {
	t.Helper()
	request := domain.Request{
		Source: domain.Source{Type: domain.SourceACP, Command: name}, WorkingDirectory: t.TempDir(),
		Capabilities: domain.DefaultCapabilities,
	}
	for _, c := range change {
		c(&request)
	}
	return domain.Opening{Execution: domain.Execution{ID: "e", Request: request}}
}

func TestOpenRefusesWhatIsNotThere(t *testing.T) {
	r := registry(t, Config{
		Agents: map[string]AgentConfig{
			"mine": {Command: "no-such-agent"}, "there": {Command: script(t, "agent", "exit 0"), Home: "/no/such/home"},
			"homeless": {Command: script(t, "agent", "exit 0"), Home: HomeShared},
		},
		MCPServers: catalog(t, map[string]mcp.Server{"tools": {Command: "no-such-server"}}, environ(map[string]string{"PATH": "/nowhere"})),
		Lookup:     environ(map[string]string{"PATH": "/nowhere"}), Starter: starterOf(t), DataDir: t.TempDir(),
	})
	withServer := func(name string) func(*domain.Request) {
		return func(request *domain.Request) { request.MCPServers = []string{name} }
	}
	for _, c := range []struct {
		opening domain.Opening
		code    domain.Code
		says    string
	}{
		{opening(t, "unheard-of"), domain.CodeUnknownAgent, "there are: claude"},
		{opening(t, "mine"), domain.CodeAgentUnavailable, `"no-such-agent" is not on the server's PATH`},
		{opening(t, "claude"), domain.CodeAgentUnavailable, "npm install -g @agentclientprotocol/claude-agent-acp"},
		{opening(t, "there"), domain.CodeAgentUnavailable, "home"},
		{opening(t, "homeless"), domain.CodeAgentUnavailable, "HOME is not set"},
		{opening(t, "there", withServer("unheard-of")), domain.CodeUnknownMCPServer, "there are: tools"},
		{opening(t, "there", withServer("tools")), domain.CodeAgentUnavailable, `"no-such-server"`},
	} {
		_, err := r.Open(t.Context(), c.opening)
		if e := problem(t, err); e.Code != c.code || !strings.Contains(e.Message, c.says) {
			t.Errorf("%s: %v", c.opening.Execution.Request.Source.Command, err)
		}
	}
}

func TestWhatAnAgentIsStartedWith(t *testing.T) {
	program := script(t, "agent", "exit 0")
	r := registry(t, Config{
		Agents: map[string]AgentConfig{"mine": {
			Command: "agent", Args: []string{"--acp"}, Mode: new("ask"), Model: "small", FileSystem: true, Terminal: true, Home: HomeShared,
		}},
		Lookup:  environ(map[string]string{"PATH": filepath.Dir(program), "HOME": t.TempDir()}),
		Starter: starterOf(t), Version: "1.2.3",
	})
	request := opening(t, "mine").Execution.Request
	l, err := r.launch(r.agents["mine"], domain.Execution{Request: request})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(l.Process.Argv, []string{program, "--acp"}) || l.Process.Dir != request.WorkingDirectory ||
		!l.Files || !l.Terminals || l.Name != "mine" || l.ClientVersion != "1.2.3" {
		t.Errorf("%+v", l)
	}
}

// run returns what a process prints that is started as an agent would be.
func run(t testing.TB, l acp.Config) string {
	t.Helper()
	child, err := l.Starter.Start(t.Context(), l.Process)
	if err != nil {
		t.Fatal(err)
	}
	_ = child.Stdin.Close()
	var reading sync.WaitGroup
	reading.Go(func() { _, _ = io.Copy(io.Discard, child.Stderr) })
	printed, err := io.ReadAll(child.Stdout)
	if err != nil {
		t.Fatal(err)
	}
	reading.Wait()
	<-child.Done()
	return string(printed)
}

// TestBuiltinWaysIn: a way to sign in is tried only where its key is passed on, and claude is kept from the settings of
// repositories.
func TestBuiltinWaysIn(t *testing.T) {
	launched := func(name string, variables map[string]string) acp.Config {
		variables["PATH"], variables["HOME"] = "/usr/bin:/bin", t.TempDir()
		r := registry(t, Config{
			Agents: map[string]AgentConfig{name: {Command: script(t, name, "exit 0")}}, Lookup: environ(variables), DataDir: t.TempDir(),
		})
		l, err := r.launch(r.agents[name], opening(t, name).Execution)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	for want, variables := range map[string]map[string]string{
		"":                       {"OPENAI_API_KEY": ""},
		"openai-api-key api-key": {"OPENAI_API_KEY": "k"},
		"codex-api-key openai-api-key api-key api-key": {"OPENAI_API_KEY": "k", "CODEX_API_KEY": "k"},
	} {
		if got := strings.Join(launched("codex", variables).AuthMethods, " "); got != want {
			t.Errorf("%v: %q, want %q", variables, got, want)
		}
	}
	claude := launched("claude", map[string]string{})
	if sources := wire.ReadObject(claude.Meta).Object("claudeCode").Object("options")["settingSources"]; string(sources) != `["user"]` {
		t.Errorf("claude reads the settings of %s", sources)
	}
}

// TestNoServerUnderDeny: most agents do not ask before they use the tool of a server, so what is denied is not handed over.
func TestNoServerUnderDeny(t *testing.T) {
	r := registry(t, Config{
		Agents:     map[string]AgentConfig{"mine": {Command: acptest.Build(t), Home: HomePrivate, Mode: new("")}},
		MCPServers: catalog(t, map[string]mcp.Server{"probe": {Command: "no-such-server"}}, environ(nil)),
	})
	request := domain.Request{MCPServers: []string{"probe"}, Capabilities: domain.DefaultCapabilities, WorkingDirectory: t.TempDir()}
	if _, err := r.launch(r.agents["mine"], domain.Execution{Request: request}); domain.CodeOf(err) != domain.CodeAgentUnavailable {
		t.Errorf("a server that is not there: %v", err)
	}
	request.Capabilities.MCP = domain.Deny
	l, err := r.launch(r.agents["mine"], domain.Execution{Request: request})
	if err != nil || len(l.MCPServers) != 0 {
		t.Errorf("%v is handed over: %v", l.MCPServers, err)
	}
}

func want[V comparable](t testing.TB, what string, got, wanted V) {
	t.Helper()
	if got != wanted {
		t.Errorf("%s: got %v, want %v", what, got, wanted)
	}
}
