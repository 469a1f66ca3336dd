package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"signoff/internal/domain"
	"signoff/internal/mcp"
	"signoff/internal/sandbox"
	"signoff/internal/secrets"
	"signoff/internal/tools/hosttest"
)

func TestMain(m *testing.M) {
	sandbox.Intercept() // the supervisor of a process is this same binary
	os.Exit(m.Run())
}

// written returns a configuration that names a file with this text.
func written(t testing.TB, text string) Config {
	t.Helper()
	file := filepath.Join(t.TempDir(), "signoff.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return Config{Config: file, Addr: "127.0.0.1:0", DataDir: t.TempDir()}
}

// names reads a file and returns the agents that there are with it.
func names(t testing.TB, text string) ([]string, error) {
	t.Helper()
	config := written(t, text)
	read, err := config.readConfigFile()
	if err != nil {
		return nil, err
	}
	servers, err := read.openMCPServers()
	if err != nil {
		return nil, err
	}
	opened, err := read.openAgents(config, servers, nil, nil, nil)
	if err != nil {
		return nil, err
	}
	defer opened.Close()
	return opened.Names(), nil
}

func TestAgentsOfTheFile(t *testing.T) {
	builtin := []string{"claude", "codex", "copilot", "cursor", "gemini", "opencode", "qwen"}
	for text, want := range map[string][]string{
		"models: {demo: {provider: demo}}": builtin,
		"agents: {claude: {}}":             builtin,
		"agents: {claude: null}":           builtin,
		"agents:\n  claude:\n":             builtin,
		"agents: {Claude-Code: {enabled: false}, qwen: {enabled: false}}": {"codex", "copilot", "cursor", "gemini", "opencode"},
		`agents:
  mine:
    command: my-agent
    args: [--acp]
    env: [ANTHROPIC_API_KEY]
    setEnv: {FOO: bar}
    description: Ours
    mode: ask
    model: small
    fileSystem: false
    terminal: false
    home: private
    allowBypass: false
    silentAfterSeconds: 30
    startTimeoutSeconds: 30
mcpServers:
  github: {command: github-mcp-server, args: [stdio], env: [GITHUB_TOKEN], setEnv: {A: b}}
  docs: {url: "https://docs.example/mcp", transport: http, headersEnv: {Authorization: DOCS_TOKEN}}
  tickets:
    url: "https://tickets.example/mcp"
    tenants: [default]
    oauth: {grant: clientCredentials, clientId: a, clientSecretEnv: B, issuer: "https://as.example", scopes: [read]}
secrets: {github: {env: GITHUB_TOKEN, as: GH_TOKEN}}
`: slices.Sorted(slices.Values(append(slices.Clone(builtin), "mine"))),
	} {
		if got, err := names(t, text); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s\ngot %v, %v; want %v", text, got, err, want)
		}
	}
}

// TestMistakesOfTheFileAreShown: each message says the file, the place, and what to do.
func TestMistakesOfTheFileAreShown(t *testing.T) {
	for text, wanted := range map[string][]string{
		"agents:\n  mine: {command: a, arguments: [x]}":                                                      {"signoff.yaml", "[2:22]", `"arguments"`},
		"agents:\n  mine: {command: a, args: {x: y}}":                                                        {"signoff.yaml", "[2:"},
		"agents:\n  claude: false":                                                                           {"signoff.yaml", "[2:"},
		"agents:\n  mine: {command: a}\n  mine: {command: b}":                                                {"signoff.yaml", "[3:", "mine"},
		"mcpServers: {a: {command: a, header: x}}\nagents: {}":                                               {"signoff.yaml", `"header"`},
		"agents:\n  mine: {args: [x]}":                                                                       {"signoff.yaml: agents.mine.command", "missing", ">  2 |"},
		"agents:\n  my-agent:\n    command: a\n    args: [--acp, --yolo]":                                    {"signoff.yaml: agents.my-agent.args.1", "allowBypass: true", ">  4 |", "--yolo"},
		"agents:\n  claude:\n    setEnv:\n      X_YOLO: 1":                                                   {"signoff.yaml: agents.claude.setEnv.X_YOLO", "allowBypass: true", ">  4 |"},
		"agents:\n  gemini:\n    command: npx\n    args: [-y, '@google/gemini-cli']":                         {"signoff.yaml: agents.gemini.command", "allowBypass: true", ">  3 |"},
		"agents:\n  claude: {silentAfterSeconds: 0}":                                                         {"signoff.yaml: agents.claude.silentAfterSeconds", "1 to 3600", ">  2 |"},
		"agents:\n  claude: {startTimeoutSeconds: 3601}":                                                     {"agents.claude.startTimeoutSeconds", "1 to 3600"},
		"agents: {a: {command: a}}\nmcpServers:\n  docs: {url: 'ftp://x.example'}":                           {"mcpServers.docs.url", ">  3 |"},
		"agents: {a: {command: a}}\nmcpServers:\n  m: {command: a, pin: false}":                              {"mcpServers.m.pin", "off", ">  3 |"},
		"agents: {a: {command: a}}\nmcpServers:\n  m: {command: a, callTimeoutSeconds: 0}":                   {"mcpServers.m.callTimeoutSeconds", "1 to 3600"},
		"agents: {a: {command: a}}\nsecrets: {b: {env: B}}\nmcpServers:\n  m: {command: a, secrets: [b, c]}": {"mcpServers.m.secrets.1", "there are: b", ">  4 |"},
		"agents: {a: {command: a}}\nmcpServers:\n  m: {url: 'https://x.example', oauth: {grant: x}}":         {"mcpServers.m.oauth.grant", ">  3 |"},
		"{}": {"names neither models nor agents"},
	} {
		_, err := names(t, text)
		if exitCode(err, new(bytes.Buffer)) != exitUsage {
			t.Errorf("%s\nends with another code: %v", text, err)
			continue
		}
		for _, want := range wanted {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s\n%q is not in: %v", text, want, err)
			}
		}
	}
}

func TestMistakesOfModelsAreShownInTheFile(t *testing.T) {
	for text, wanted := range map[string][]string{
		"models:\n  local: {provider: openai}": {"signoff.yaml: models.local.model", ">  2 |"},
		"models: [":                            {"signoff.yaml"},
		"modles: {}":                           {"modles"},
		"models: {}":                           {"names neither models nor agents"},
		"models: {a: {provider: openai, model: x, baseURL: y}}":                            {"baseURL"},
		"models: {default: b, a: {provider: demo}, c: {provider: demo}}":                   {`"b"`},
		"models: {a: {provider: magic}}":                                                   {"magic"},
		"models: {a: {provider: openai, model: x, compaction: magic}}":                     {"models.a.compaction", "cut, summary"},
		"models: {a: {provider: openai, model: x, effort: much}}":                          {"models.a.effort", "none, minimal, low"},
		"models: {a: {provider: gemini, model: x, seed: 1}}":                               {"models.a.seed", "it takes: effort, maxOutputTokens, temperature"},
		"models: {a: {provider: openai, model: x, requestSettings: [top_p]}}":              {"models.a.requestSettings.0", "top_p"},
		"models:\n  a: {provider: openai, model: x, extraBody: {tools: [hunter2]}}":        {"models.a.extraBody.tools", ">  2 |"},
		"models:\n  a: {provider: openai, model: x, extraHeaders: {Cookie: hunter2}}":      {"models.a.extraHeaders.Cookie", ">  2 |"},
		"models: {a: {provider: openai, model: x, extraBody: {a: .nan}}}":                  {"models.a.extraBody.a", "JSON"},
		"models: {a: {provider: openai, model: x, baseUrl: \"http://u:hunter2@host/v1\"}}": {"base URL"},
	} {
		read, err := written(t, text).readConfigFile()
		if err == nil {
			_, err = read.openModels(nil, nil, nil, nil)
		}
		if exitCode(err, new(bytes.Buffer)) != exitUsage || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s\nends with another code: %v", text, err)
			continue
		}
		for _, want := range wanted {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s\n%q is not in: %v", text, want, err)
			}
		}
	}
}

func TestAFileOfAgentsAloneHasTheDemoModel(t *testing.T) {
	read, err := written(t, "agents: {claude: {}}").readConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	models, err := read.openModels(nil, nil, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer models.Close()
	if models.Default() != "demo" {
		t.Errorf("the default is %q", models.Default())
	}
}

// TestTheFirstFileIsRight also with the sections that it has in comments.
func TestTheFirstFileIsRight(t *testing.T) {
	without, err := names(t, firstConfig)
	if err != nil {
		t.Fatal(err)
	}
	uncommented := strings.NewReplacer("# agents:", "agents:", "# mcpServers:", "mcpServers:", "# secrets:", "secrets:", "\n#   ", "\n  ").Replace(firstConfig)
	with, err := names(t, uncommented)
	if err != nil || slices.Contains(with, "codex") || !slices.Contains(with, "mine") || !slices.Contains(without, "codex") {
		t.Errorf("%v, %v, %v\n%s", without, with, err, uncommented)
	}
}

// TestWhoseHomesAgentsHave: what one person runs for themselves finds their sign-ins; a server for others lends none.
func TestWhoseHomesAgentsHave(t *testing.T) {
	for _, c := range []struct {
		addr, database string
		own            bool
	}{
		{"127.0.0.1:8080", "", true}, {"localhost:0", "", true}, {"[::1]:1", "", true},
		{"0.0.0.0:8080", "", false}, {":8080", "", false}, {"127.0.0.1:8080", "postgres://h/d", false},
	} {
		if got := (Config{Addr: c.addr, DatabaseURL: c.database}).ownersOnly(); got != c.own {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// TestWhatAgentsSayIsMasked with all that the server knows, not only with what the agent was given.
func TestWhatAgentsSayIsMasked(t *testing.T) {
	program := filepath.Join(t.TempDir(), "my-agent")
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho found "+canary+" >&2\nexit 1\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	config := written(t, "agents: {mine: {command: "+program+"}}")
	read, err := config.readConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	box, err := sandbox.New(t.Context(), sandbox.Config{Mode: sandbox.ModeAuto})
	if err != nil {
		t.Fatal(err)
	}
	opened, err := read.openAgents(config, nil, nil, box, secrets.NewMasker(canary))
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	_, err = opened.Open(t.Context(), domain.Opening{Host: &hosttest.Host{}, Execution: domain.Execution{ID: "e", Request: domain.Request{
		Source: domain.Source{Type: domain.SourceACP, Command: "mine"}, WorkingDirectory: t.TempDir(),
	}}})
	if err == nil || strings.Contains(err.Error(), canary) || !strings.Contains(err.Error(), "found [masked]") {
		t.Errorf("it ended with %v", err)
	}
}

func TestDoctorTellsOfAgents(t *testing.T) {
	bin := t.TempDir()
	program := filepath.Join(bin, "my-agent")
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho my-agent 1.2.3\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":/usr/bin:/bin")
	t.Setenv("HOME", t.TempDir())
	config := written(t, "agents:\n  mine: {command: my-agent}\n  gone: {command: gone-agent}\n  codex: {enabled: false}\n")
	read, err := config.readConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	box, err := sandbox.New(t.Context(), sandbox.Config{Mode: sandbox.ModeAuto})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	d := &diagnosis{out: &out}
	d.agents(t.Context(), config, read, &mcp.Catalog{}, nil, box)
	for _, line := range []string{
		"ok    agent mine             my-agent 1.2.3; not isolated: it runs as the server's user\n",
		"FAIL  agent gone             The program \"gone-agent\" is not on the server's PATH.\n",
		"-     agent gemini           The program \"gemini\" is not on the server's PATH. Install it: npm install -g @google/gemini-cli\n",
	} {
		if !strings.Contains(out.String(), line) {
			t.Errorf("%q is not in:\n%s", line, out.String())
		}
	}
	if !d.broken || strings.Contains(out.String(), "codex") {
		t.Errorf("broken: %v\n%s", d.broken, out.String())
	}
	if entries, err := os.ReadDir(config.DataDir); err != nil || len(entries) > 0 {
		t.Errorf("doctor has made %v, %v", entries, err)
	}
}

func TestDoctorTellsOfTheWebSearch(t *testing.T) {
	t.Setenv("SEARCH_KEY", "")
	for section, want := range map[string]string{
		"": "",
		"webSearch: {provider: brave, apiKeyEnv: SEARCH_KEY}":          "FAIL  web search ",
		"webSearch: {provider: searxng, url: 'http://127.0.0.1:8888'}": "ok    web search             searxng\n",
	} {
		read, err := written(t, "models: {demo: {provider: demo}}\n"+section).readConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		d := &diagnosis{out: &out}
		d.webSearch(read)
		if got := out.String(); !strings.HasPrefix(got, want) || want == "" && got != "" || d.broken != strings.HasPrefix(want, "FAIL") {
			t.Errorf("%s: %s", section, got)
		}
	}
}

// TestDoctorLooksAtAllThatTheServerNeeds runs the command: what it leaves out, only the next start would tell.
func TestDoctorLooksAtAllThatTheServerNeeds(t *testing.T) {
	config := written(t, "models: {demo: {provider: demo}}\nsecrets: {mine: {env: SOME_KEY}}\nwebSearch: {provider: brave, apiKeyEnv: SEARCH_KEY}\n")
	for name, value := range map[string]string{
		"SIGNOFF_CONFIG": config.Config, "SIGNOFF_DATA_DIR": config.DataDir, "SIGNOFF_WORKSPACE_ROOT": t.TempDir(), "SOME_KEY": canary, "SEARCH_KEY": "",
	} {
		t.Setenv(name, value)
	}
	logTo(t, Config{})
	var out, errOut bytes.Buffer
	if code := run(t.Context(), []string{"doctor"}, nil, &out, &errOut); code != exitFailed {
		t.Errorf("it ended with %d: %s", code, errOut.String())
	}
	for _, what := range []string{"workspace", "database", "sandbox", "secret mine", "FAIL  web search", "model demo", "agent claude"} {
		if !strings.Contains(out.String(), what) {
			t.Errorf("%q is not in:\n%s", what, out.String())
		}
	}
}

func TestDoctorDoesNotMindWhatNobodyConfigured(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	var out bytes.Buffer
	d := &diagnosis{out: &out}
	d.agents(t.Context(), Config{Addr: "127.0.0.1:0", DataDir: t.TempDir()}, demoModels(), &mcp.Catalog{}, nil, nil)
	if d.broken || strings.Count(out.String(), "-     agent ") != 7 {
		t.Error(out.String())
	}
}
