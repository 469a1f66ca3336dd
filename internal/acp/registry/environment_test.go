package registry

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"signoff/internal/domain"
	"signoff/internal/mcp"
	"signoff/internal/secrets"
)

// everything is an environment as servers have them.
func everything(home string) map[string]string {
	return map[string]string{
		"PATH": "/usr/bin::.:bin:/bin", "HOME": home, "LANG": "C.UTF-8", "TERM": "dumb", "TZ": "UTC", "TMPDIR": os.TempDir(),
		"HTTPS_PROXY": "http://me:proxy-password@proxy.example:3128", "NODE_EXTRA_CA_CERTS": "/etc/ca.pem",
		"SIGNOFF_DATABASE_URL": "postgres://secret", "SIGNOFF_TOKEN": "all-powerful", "AWS_SECRET_ACCESS_KEY": "aws-secret",
		"SSH_AUTH_SOCK": "/run/agent", "LD_PRELOAD": "/evil.so", "XDG_CONFIG_HOME": home + "/.elsewhere",
		"MINE_KEY": "sesame-open-up", "MINE_MODEL": "large-model", "OTHER_KEY": "not-yours",
	}
}

// TestAnAgentGetsNothingElse starts a program that prints all that it was given.
func TestAnAgentGetsNothingElse(t *testing.T) {
	server := everything(t.TempDir())
	data := t.TempDir()
	r := registry(t, Config{
		Agents: map[string]AgentConfig{
			"private": {Command: "env", AllowBypass: true, Env: []string{"MINE_KEY", "NOT_SET"}, SetEnv: map[string]string{"FOO": "bar baz", "TZ": "CET"}, Home: HomePrivate},
			"shared":  {Command: "env", AllowBypass: true, Home: HomeShared},
		},
		Lookup: environ(server), DataDir: data, Starter: starterOf(t),
	})
	common := []string{
		"HTTPS_PROXY=" + server["HTTPS_PROXY"], "LANG=C.UTF-8", "NODE_EXTRA_CA_CERTS=/etc/ca.pem", "PATH=/usr/bin:/bin", "TERM=dumb",
		"TMPDIR=" + os.TempDir(),
	}
	for name, own := range map[string][]string{
		"private": {"HOME=" + filepath.Join(data, "agents/private/home"), "MINE_KEY=sesame-open-up", "FOO=bar baz", "TZ=CET"},
		"shared":  {"HOME=" + server["HOME"], "XDG_CONFIG_HOME=" + server["XDG_CONFIG_HOME"], "TZ=UTC"},
	} {
		l, err := r.launch(r.agents[name], opening(t, name).Execution)
		if err != nil {
			t.Fatal(err)
		}
		got := slices.Sorted(strings.Lines(run(t, l)))
		var want []string
		for _, line := range append(slices.Clone(common), own...) {
			want = append(want, line+"\n")
		}
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %q\nwant %q", name, got, want)
		}
	}
}

func TestAPrivateHomeIsClosedToOthers(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	r := registry(t, Config{Agents: map[string]AgentConfig{"mine": {Command: "env", AllowBypass: true}}, DataDir: data, PrivateHomes: true})
	if _, err := os.Stat(data); err == nil {
		t.Error("a registry alone makes folders")
	}
	home, err := r.prepareHome(r.agents["mine"])
	if err != nil || home != filepath.Join(data, "agents", "mine", "home") {
		t.Fatal(home, err)
	}
	if err := os.Chmod(home, 0o755); err != nil { // by whoever signed in there
		t.Fatal(err)
	}
	if _, err := r.prepareHome(r.agents["mine"]); err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{home, filepath.Dir(home), filepath.Dir(filepath.Dir(home))} {
		info, err := os.Stat(folder)
		if err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v, %v", folder, info.Mode(), err)
		}
	}
}

func TestHomes(t *testing.T) {
	shared, own := t.TempDir(), t.TempDir()
	agents := map[string]AgentConfig{"default": {Command: "a"}, "private": {Command: "a", Home: HomePrivate}, "own": {Command: "a", Home: own}}
	for _, private := range []bool{true, false} {
		r := registry(t, Config{
			Agents: agents, Lookup: environ(map[string]string{"HOME": shared}), DataDir: t.TempDir(), PrivateHomes: private,
		})
		for name, want := range map[string]string{
			"own": own, "private": filepath.Join(r.config.DataDir, "agents/private/home"),
			"default": map[bool]string{false: shared, true: filepath.Join(r.config.DataDir, "agents/default/home")}[private],
		} {
			if home, err := r.homeOf(r.agents[name]); err != nil || home != want {
				t.Errorf("private=%v %s: %s, %v", private, name, home, err)
			}
		}
	}
}

func TestProgramsAreFoundOnThePathAlone(t *testing.T) {
	program := script(t, "agent", "exit 0")
	folder := filepath.Dir(program)
	if err := os.WriteFile(filepath.Join(folder, "text"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Chdir(folder)
	r := registry(t, Config{Lookup: environ(map[string]string{"PATH": ":.:/nowhere:" + folder})})
	here := registry(t, Config{Lookup: environ(map[string]string{"PATH": ":.:"})})
	for command, want := range map[string]string{"agent": program, program: program, "text": "", "missing": "", "/missing": "", folder: ""} {
		if got := r.findProgram(command); got != want {
			t.Errorf("%s: %q", command, got)
		}
	}
	if got := here.findProgram("agent"); got != "" {
		t.Errorf("a program of the current folder is run: %s", got)
	}
}

func TestSecretsOfAnAgentAreMasked(t *testing.T) {
	server := everything(t.TempDir())
	r := registry(t, Config{
		Agents: map[string]AgentConfig{"mine": {
			Command: "env", AllowBypass: true, Env: []string{"MINE_KEY", "MINE_MODEL"}, SetEnv: map[string]string{"PLAIN": "in-plain-sight"}, Home: HomeShared,
		}},
		MCPServers: catalog(t, map[string]mcp.Server{
			"program": {Command: "env", Env: []string{"AWS_SECRET_ACCESS_KEY"}},
			"address": {URL: "https://tools.example/mcp", HeadersEnv: map[string]string{"Authorization": "OTHER_KEY"}},
		}, environ(server)),
		Lookup: environ(server), Starter: starterOf(t), Masker: secrets.NewMasker("of-the-server"),
	})
	request := opening(t, "mine").Execution.Request
	request.MCPServers = []string{"program", "address"}
	l, err := r.launch(r.agents["mine"], domain.Execution{Request: request})
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join([]string{
		"sesame-open-up", base64.StdEncoding.EncodeToString([]byte("sesame-open-up")), "aws-secret", "not-yours", "me:proxy-password",
		"of-the-server", "large-model", "in-plain-sight", "proxy.example",
	}, " ")
	want := "[masked] [masked] [masked] [masked] [masked] [masked] large-model in-plain-sight proxy.example"
	if got := string(l.Masked([]byte(text))); got != want {
		t.Errorf("%s", got)
	}
}

// TestAGuardStandsBesideTheHome: the file is the server's, and the agent is told where it is.
func TestAGuardStandsBesideTheHome(t *testing.T) {
	shared, data := t.TempDir(), t.TempDir()
	r := registry(t, Config{
		Agents: map[string]AgentConfig{"qwen": {Command: script(t, "qwen", "cat $QWEN_CODE_SYSTEM_SETTINGS_PATH")}},
		Lookup: environ(map[string]string{"PATH": "/usr/bin:/bin", "HOME": shared}), DataDir: data, Starter: starterOf(t),
	})
	for range 2 {
		l, err := r.launch(r.agents["qwen"], opening(t, "qwen").Execution)
		if err != nil {
			t.Fatal(err)
		}
		if printed := run(t, l); printed != builtins["qwen"].guard.content {
			t.Errorf("it reads %q", printed)
		}
	}
	if info, err := os.Stat(filepath.Join(data, "agents/qwen/settings.json")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if entries, err := os.ReadDir(shared); err != nil || len(entries) > 0 {
		t.Errorf("the shared home has %v, %v", entries, err)
	}
	own := registry(t, Config{
		Agents: map[string]AgentConfig{"qwen": {
			Command: script(t, "qwen", "echo $QWEN_CODE_SYSTEM_SETTINGS_PATH"), SetEnv: map[string]string{"QWEN_CODE_SYSTEM_SETTINGS_PATH": "/own.json"},
		}},
		Lookup: environ(map[string]string{"PATH": "/usr/bin:/bin", "HOME": shared}), DataDir: t.TempDir(), Starter: starterOf(t),
	})
	l, err := own.launch(own.agents["qwen"], opening(t, "qwen").Execution)
	if err != nil {
		t.Fatal(err)
	}
	if printed := run(t, l); printed != "/own.json\n" {
		t.Errorf("the operator's own file is not used: %q", printed)
	}
}

// TestAGuardLeavesTheServers: Qwen Code uses no MCP server in a folder that it does not trust, and must not trust the
// workspace. It is started in an empty folder, which alone it trusts.
func TestAGuardLeavesTheServers(t *testing.T) {
	data := t.TempDir()
	r := registry(t, Config{
		Agents: map[string]AgentConfig{"qwen": {
			Command: script(t, "qwen", `pwd; cat "$QWEN_CODE_TRUSTED_FOLDERS_PATH"; echo; echo "$QWEN_CODE_SAFE_MODE"; cat "$QWEN_CODE_SYSTEM_SETTINGS_PATH"`),
		}},
		MCPServers: catalog(t, map[string]mcp.Server{"probe": {Command: "/bin/true"}}, environ(nil)),
		Lookup:     environ(map[string]string{"PATH": "/usr/bin:/bin", "HOME": t.TempDir()}), DataDir: data, Starter: starterOf(t),
	})
	request := opening(t, "qwen").Execution.Request
	request.Capabilities = domain.DefaultCapabilities
	for _, servers := range [][]string{{"probe"}, nil} {
		request.MCPServers = servers
		l, err := r.launch(r.agents["qwen"], domain.Execution{Request: request})
		if err != nil {
			t.Fatal(err)
		}
		start, err := filepath.EvalSymlinks(data)
		if err != nil {
			t.Fatal(err)
		}
		start += "/agents/qwen/start"
		wanted := start + "\n{\"" + start + "\":\"TRUST_FOLDER\"}\ntrue\n" + builtins["qwen"].guard.content
		if servers == nil {
			wanted = request.WorkingDirectory + "\n\n\n" + builtins["qwen"].guard.content
		}
		if printed := run(t, l); printed != wanted {
			t.Errorf("with %v it sees %q, want %q", servers, printed, wanted)
		}
	}
	if entries, err := os.ReadDir(filepath.Join(data, "agents/qwen/start")); err != nil || len(entries) > 0 {
		t.Errorf("the folder has %v, %v", entries, err)
	}
}
