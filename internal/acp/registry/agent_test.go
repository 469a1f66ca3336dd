package registry

import (
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"signoff/internal/domain"
	"signoff/internal/mcp"
)

func environ(variables map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		value, set := variables[name]
		return value, set
	}
}

// registry fails the test where there is none.
func registry(t testing.TB, config Config) *Registry {
	t.Helper()
	if config.Lookup == nil {
		config.Lookup = environ(nil)
	}
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	r, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

func catalog(t testing.TB, servers map[string]mcp.Server, lookup func(string) (string, bool)) *mcp.Catalog {
	t.Helper()
	all, err := mcp.NewCatalog(servers, lookup)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func problem(t testing.TB, err error) *domain.Error {
	t.Helper()
	var e *domain.Error
	if !errors.As(err, &e) {
		t.Fatalf("%v is no error with a code", err)
	}
	return e
}

func find(t testing.TB, r *Registry, name string) AgentInfo {
	t.Helper()
	for _, info := range r.Agents(t.Context()) {
		if info.Name == name {
			return info
		}
	}
	t.Fatalf("there is no agent %q", name)
	return AgentInfo{}
}

// TestBuiltinAgentsKeepTheRules: what an operator's configuration must not be, a built-in one is not either.
func TestBuiltinAgentsKeepTheRules(t *testing.T) {
	r := registry(t, Config{})
	if names := r.Names(); !slices.Equal(names, []string{"claude", "codex", "copilot", "cursor", "gemini", "opencode", "qwen"}) {
		t.Errorf("there are %v", names)
	}
	for name, b := range builtins {
		if canonical(name) != name || b.install == "" || b.config.Description == "" || b.config.FileSystem || b.config.Terminal || b.config.Home != "" {
			t.Errorf("%s: %+v", name, b)
		}
		if _, asks := b.config.SetEnv[openCodePermission]; b.config.Mode == nil && !asks {
			t.Errorf("%s: nothing brings it to ask people", name)
		}
		for _, key := range b.keys {
			if !slices.Contains(b.config.Env, key) {
				t.Errorf("%s: %s is a key and not passed on", name, key)
			}
		}
		if len(b.keys) > 0 && len(b.files) == 0 || len(b.files) > 0 && b.signIn == "" {
			t.Errorf("%s: it is not said how to sign in", name)
		}
	}
	for alias, name := range aliases {
		if _, known := builtins[name]; !known || normal(alias) != alias {
			t.Errorf("the alias %s of %s", alias, name)
		}
	}
}

func TestAConfigurationOverridesFieldByField(t *testing.T) {
	r := registry(t, Config{Agents: map[string]AgentConfig{
		"OpenCode": {Command: "/opt/opencode", SetEnv: map[string]string{"EXTRA": "1"}, SilentAfter: time.Minute},
		"gemini":   {Args: []string{}, Env: []string{"ONLY"}, Mode: new(""), Model: "flash", FileSystem: true},
	}})
	opencode := r.agents["opencode"]
	if opencode.name != "opencode" || opencode.Command != "/opt/opencode" || !slices.Equal(opencode.Args, []string{"acp"}) ||
		opencode.SetEnv["EXTRA"] != "1" || opencode.SetEnv[openCodePermission] != builtins["opencode"].config.SetEnv[openCodePermission] ||
		opencode.SilentAfter != time.Minute || opencode.StartTimeout != 30*time.Second || len(opencode.Env) < 2 {
		t.Errorf("%+v", opencode.AgentConfig)
	}
	gemini := r.agents["gemini"]
	if gemini.Command != "gemini" || len(gemini.Args) != 0 || !slices.Equal(gemini.Env, []string{"ONLY"}) || gemini.mode() != "" ||
		gemini.Model != "flash" || !gemini.FileSystem {
		t.Errorf("%+v", gemini.AgentConfig)
	}
	if _, changed := builtins["opencode"].config.SetEnv["EXTRA"]; changed {
		t.Error("the table itself was changed")
	}
}

func TestAnAgentCanBeSwitchedOff(t *testing.T) {
	r := registry(t, Config{Agents: map[string]AgentConfig{"claude-code": {Off: true}, "mine": {Off: true}}})
	if names := r.Names(); slices.Contains(names, "claude") || slices.Contains(names, "mine") {
		t.Errorf("there are %v", names)
	}
}

func TestAgentsThatCannotWork(t *testing.T) {
	for place, agents := range map[string]map[string]AgentConfig{
		"/agents/mine/command":             {"mine": {}},
		"/agents/rel/command":              {"rel": {Command: "bin/agent"}},
		"/agents/zero/args/1":              {"zero": {Command: "a", Args: []string{"ok", "a\x00b"}}},
		"/agents/pair/env/0":               {"pair": {Command: "a", Env: []string{"KEY=value"}}},
		"/agents/blank/env/1":              {"blank": {Command: "a", Env: []string{"OK", "NOT OK"}}},
		"/agents/home/env/0":               {"home": {Command: "a", Env: []string{"HOME"}}},
		"/agents/ours/env/0":               {"ours": {Command: "a", Env: []string{"SIGNOFF_TOKEN"}}},
		"/agents/set/setEnv/SIGNOFF_TOKEN": {"set": {Command: "a", SetEnv: map[string]string{"SIGNOFF_TOKEN": "x"}}},
		"/agents/slash/setEnv/A~1B":        {"slash": {Command: "a", SetEnv: map[string]string{"A/B": "x"}}},
		"/agents/where/home":               {"where": {Command: "a", Home: "relative"}},
		"/agents/slow/silentAfterSeconds":  {"slow": {Command: "a", SilentAfter: 2 * time.Hour}},
		"/agents/back/startTimeoutSeconds": {"back": {Command: "a", StartTimeout: -time.Second}},
		"/agents/internal":                 {"internal": {Command: "a"}},
		"/agents/..~1up":                   {"../up": {Command: "a"}},
		"/agents/claude-code":              {"claude": {}, "claude-code": {}},
		"/agents/my_agent":                 {"my-agent": {Command: "a"}, "my_agent": {Command: "a"}},
		"/agents/Claude_Code/home":         {"Claude_Code": {Home: "x"}},
	} {
		_, err := New(Config{Agents: agents, Lookup: environ(nil)})
		if e := problem(t, err); e.Code != domain.CodeInvalid || e.Details[0].Pointer != place {
			t.Errorf("%s: %v at %v", place, e, e.Details)
		}
	}
}

func TestAFixedValueIsSentToItsField(t *testing.T) {
	_, err := New(Config{Agents: map[string]AgentConfig{"mine": {Command: "a", Env: []string{"KEY=hush"}}}, Lookup: environ(nil)})
	if e := problem(t, err); !strings.Contains(e.Message, "setEnv: {KEY: …}") || strings.Contains(e.Message, "hush") {
		t.Error(e.Message)
	}
}
