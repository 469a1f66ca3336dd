package registry

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestAvailability(t *testing.T) {
	program := script(t, "my-agent", "exit 0")
	r := registry(t, Config{
		Agents: map[string]AgentConfig{
			"mine": {Command: "my-agent", Description: "Ours.", Mode: new("ask")}, "gone": {Command: "/no/such/agent"},
			"homeless": {Command: "my-agent", Home: HomeShared}, "codex": {Command: "/no/such/codex"},
		},
		Lookup: environ(map[string]string{"PATH": filepath.Dir(program)}), DataDir: t.TempDir(), PrivateHomes: true,
	})
	for name, want := range map[string]AgentInfo{
		"mine":     {Description: "Ours.", Configured: true, Available: true, Mode: "ask"},
		"gone":     {Configured: true, Reason: `The program "/no/such/agent" is not there.`},
		"homeless": {Configured: true, Reason: "It shares the server's home, and HOME is not set there."},
		"codex":    {Description: "Codex, by OpenAI.", Configured: true, Mode: "read-only", Reason: `The program "/no/such/codex" is not there.`},
		"gemini": {
			Description: "Gemini CLI, by Google.", Mode: "default",
			Reason: `The program "gemini" is not on the server's PATH. Install it: npm install -g @google/gemini-cli`,
		},
	} {
		want.Name = name
		if got := find(t, r, name); got != want {
			t.Errorf("got %+v\nwant %+v", got, want)
		}
	}
}

func TestWithoutAKeyAnAgentIsNotAvailable(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("elsewhere a sign-in may lie in a keychain")
	}
	folder := filepath.Dir(script(t, "claude-agent-acp", "exit 0"))
	for name, c := range map[string]struct {
		agent     AgentConfig
		variables map[string]string
		files     string
		available bool
	}{
		"nothing":                      {agent: AgentConfig{Home: HomePrivate}},
		"a key":                        {agent: AgentConfig{Home: HomePrivate}, variables: map[string]string{"ANTHROPIC_API_KEY": "k"}, available: true},
		"an empty key":                 {agent: AgentConfig{Home: HomePrivate}, variables: map[string]string{"ANTHROPIC_API_KEY": ""}},
		"another variable of its":      {agent: AgentConfig{Home: HomePrivate}, variables: map[string]string{"ANTHROPIC_MODEL": "m"}},
		"a key that is not passed on":  {agent: AgentConfig{Home: HomePrivate, Env: []string{}}, variables: map[string]string{"ANTHROPIC_API_KEY": "k"}},
		"one of the operator's":        {agent: AgentConfig{Home: HomePrivate, Env: []string{"CLOUD"}}, variables: map[string]string{"CLOUD": "k"}, available: true},
		"one set by the operator":      {agent: AgentConfig{Home: HomePrivate, SetEnv: map[string]string{"USE_CLOUD": "1"}}, available: true},
		"a sign-in":                    {agent: AgentConfig{Home: HomePrivate}, files: ".claude/.credentials.json", available: true},
		"a home that was only used":    {agent: AgentConfig{Home: HomePrivate}, files: ".claude/history"},
		"a shared home":                {agent: AgentConfig{Home: HomeShared}},
		"a shared home that was used":  {agent: AgentConfig{Home: HomeShared}, files: ".claude/history", available: true},
		"a shared home that is moved":  {agent: AgentConfig{Home: HomeShared}, variables: map[string]string{"CLAUDE_CONFIG_DIR": "/x"}, available: true},
		"a private one is never moved": {agent: AgentConfig{Home: HomePrivate}, variables: map[string]string{"CLAUDE_CONFIG_DIR": "/x"}},
	} {
		variables := map[string]string{"PATH": folder, "HOME": t.TempDir(), "LANG": "C"}
		for name, value := range c.variables {
			variables[name] = value
		}
		r := registry(t, Config{Agents: map[string]AgentConfig{"claude": c.agent}, Lookup: environ(variables), DataDir: t.TempDir()})
		if c.files != "" {
			home, err := r.prepareHome(r.agents["claude"])
			if err != nil {
				t.Fatal(err)
			}
			if err := os.MkdirAll(filepath.Join(home, filepath.Dir(c.files)), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(home, c.files), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		info := find(t, r, "claude")
		if info.Available != c.available {
			t.Errorf("%s: %+v", name, info)
		}
		if !c.available && (!strings.Contains(info.Reason, "ANTHROPIC_API_KEY, ") || !strings.Contains(info.Reason, "`claude /login`")) {
			t.Errorf("%s: what to do is not told: %s", name, info.Reason)
		}
	}
}

func TestHowToSignInToAPrivateHome(t *testing.T) {
	folder := filepath.Dir(script(t, "codex-acp", "exit 0"))
	r := registry(t, Config{Lookup: environ(map[string]string{"PATH": folder}), DataDir: t.TempDir(), PrivateHomes: true})
	want := "It has nothing to sign in with. Set one of OPENAI_API_KEY, CODEX_API_KEY for the server, or sign in once as the " +
		"server's user with `codex login`, with HOME set to its private home, agents/codex/home in the data folder."
	if info := find(t, r, "codex"); runtime.GOOS == "linux" && info.Reason != want {
		t.Errorf("%+v", info)
	}
}

func TestVersions(t *testing.T) {
	agents, want := map[string]AgentConfig{}, map[string]string{}
	for name, c := range map[string]struct{ script, version string }{
		"plain":  {`[ "$*" = --version ] && echo 1.2.3`, "1.2.3"},
		"banner": {`printf '\nWelcome!\n\nagent v2 (abc)\nmore 3\n'`, "agent v2 (abc)"},
		"stderr": {"echo 1.2.3 >&2", ""},
		"failed": {"echo unknown option 17; exit 2", ""},
		"silent": {"cat", ""},
		"loud":   {"head -c 1000000 /dev/zero | tr '\\0' 1", ""},
		"colour": {`printf '\033[1m1.0\n'`, ""},
		"keys":   {`echo "1 ${MINE_KEY-no key}"`, "1 no key"},
		"npx":    {"echo 11.0.0", ""}, // it is the launcher's own
	} {
		agents[name] = AgentConfig{Command: script(t, name, c.script), Env: []string{"MINE_KEY"}, AllowBypass: true}
		want[name] = c.version
	}
	r := registry(t, Config{
		Agents: agents, Lookup: environ(map[string]string{"PATH": os.Getenv("PATH"), "HOME": "/", "MINE_KEY": "hush"}), Starter: starterOf(t),
	})
	for _, info := range r.AgentsInFull(t.Context()) {
		if version, is := want[info.Name]; is && info.Version != version {
			t.Errorf("%s: %q, want %q", info.Name, info.Version, version)
		}
	}
}

func TestVersionsAreAskedForOnce(t *testing.T) {
	asked := filepath.Join(t.TempDir(), "asked")
	program := script(t, "agent", fmt.Sprintf("echo x >> %s; echo 1.0", asked))
	r := registry(t, Config{
		Agents: map[string]AgentConfig{"mine": {Command: program}}, Lookup: environ(map[string]string{"PATH": os.Getenv("PATH")}), Starter: starterOf(t),
	})
	times := func() int {
		content, err := os.ReadFile(asked)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(string(content), "x")
	}
	var callers sync.WaitGroup
	for range 10 {
		callers.Go(func() {
			for _, info := range r.AgentsInFull(t.Context()) {
				if info.Name == "mine" && info.Version != "1.0" {
					t.Errorf("%+v", info)
				}
			}
		})
	}
	callers.Wait()
	if times() != 1 {
		t.Errorf("it was asked %d times", times())
	}
	if err := os.WriteFile(program, fmt.Appendf(nil, "#!/bin/sh\necho x >> %s; echo 2.0 is here\n", asked), 0o700); err != nil {
		t.Fatal(err)
	}
	if info := find(t, r, "mine"); info.Version != "2.0 is here" || times() != 2 {
		t.Errorf("after an update: %+v, asked %d times", info, times())
	}
}

// TestASlowProgramHoldsNobodyUp: the list comes without the version, and what is still being asked dies with the
// registry.
func TestASlowProgramHoldsNobodyUp(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	r, err := New(Config{
		Agents: map[string]AgentConfig{"mine": {Command: script(t, "agent", "exec tail -f /dev/null")}},
		Lookup: environ(map[string]string{"PATH": os.Getenv("PATH"), "HOME": "/"}), Starter: starterOf(t),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	for _, info := range r.Agents(ctx) {
		if info.Name == "mine" && (info.Version != "" || !info.Available) {
			t.Errorf("%+v", info)
		}
	}
	r.Close()
}
