package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"signoff/internal/sandbox"
)

func TestEnvironmentsOfTheFile(t *testing.T) {
	const app = "/usr/share" // not one of a test's own: nothing below /tmp can be mounted
	file, err := written(t, `
models: {demo: {provider: demo}}
environments:
  default: app
  app: {mounts: {`+app+`: write}, processes: host, network: [corp]}
networks:
  corp: {hosts: ["*.corp.example"], cidrs: [10.20.0.0/16], ports: [443]}
`).readConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	catalog, err := file.openEnvironments(Config{DataDir: t.TempDir()}, &sandbox.Sandbox{}, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if catalog.Default() != "app" || len(catalog.All()) != 3 {
		t.Errorf("%+v", catalog.All())
	}
	if line := describe(catalog.All()[0].Environment); !strings.Contains(line, app+" (write)") || !strings.Contains(line, "network corp") {
		t.Error(line)
	}
}

// Each mistake is shown with its line of the file.
func TestMistakesInEnvironments(t *testing.T) {
	data, err := filepath.Abs(".") // as above
	if err != nil {
		t.Fatal(err)
	}
	for entry, want := range map[string][]string{
		"x: {isolation: none, user: root}":  {"environments.x.user", "can read the server's data folder", ">  4"},
		"x: {mounts: {" + data + ": read}}": {"environments.x.mounts", "data folder"},
		"x: {mounts: {/: write}}":           {"environments.x.mounts", "whole machine"},
		"x: {network: [missing]}":           {"There is no network"},
		"x: {isolation: none}":              {"environments.x.user", "names the user"},
		"default: missing":                  {"environments.default", "there are: machine, workspace"},
		"x: {veiw: machine}":                {"veiw"},
	} {
		file, err := written(t, "models: {demo: {provider: demo}}\n\nenvironments:\n  "+entry+"\n").readConfigFile()
		if err == nil {
			_, err = file.openEnvironments(Config{DataDir: data}, &sandbox.Sandbox{}, t.TempDir())
		}
		for _, part := range want {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %v, not %q", entry, err, part)
			}
		}
	}
}

// A user who cannot enter a folder above the data folder cannot read it, whatever its own mode says.
func TestWhoReadsTheDataFolder(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root's folders are closed to others")
	}
	outer := t.TempDir()
	for folder := outer; folder != "/"; folder = filepath.Dir(folder) {
		if info, err := os.Stat(folder); err == nil && info.Mode()&1 == 0 {
			if err := os.Chmod(folder, info.Mode()|0o055); err != nil {
				t.Fatal(err)
			}
		}
	}
	inner := filepath.Join(outer, "data")
	if err := os.Mkdir(inner, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		outer, inner os.FileMode
		reads        bool
	}{{0o755, 0o755, true}, {0o755, 0o700, false}, {0o700, 0o755, false}, {0o755, 0o711, true}, {0o755, 0o744, false}} {
		if err := os.Chmod(outer, c.outer); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(inner, c.inner); err != nil {
			t.Fatal(err)
		}
		if reads, err := (thisMachine{}).Reads("nobody", inner); err != nil || reads != c.reads {
			t.Errorf("%v/%v: %v %v", c.outer, c.inner, reads, err)
		}
	}
	if reads, err := (thisMachine{}).Reads("nobody", filepath.Join(inner, "missing")); err != nil || reads {
		t.Error("a folder that is not there yet can be read:", err)
	}
	if _, err := (thisMachine{}).Reads("nosuchuser", inner); err == nil {
		t.Error("an unknown user is known")
	}
}

// The environment of an agent is checked when the server starts, and a mistake is shown in its line.
func TestTheEnvironmentOfAnAgentInTheFile(t *testing.T) {
	for entry, want := range map[string][]string{
		"claude: {environment: machin}":                      {"agents.claude.environment", "there are: host, machine, workspace", ">  5"},
		"claude: {environment: host}":                        {"agents.claude.environment", "has no isolation"},
		"claude: {hosts: [api.anthropic.com]}":               {"agents.claude.hosts", "belongs to an agent with an environment"},
		"claude: {environment: machine, hosts: [\"*\"]}":     {"agents.claude.hosts", "not a host"},
		"claude: {environment: machine, home: shared}":       {"agents.claude.home", "holds credentials"},
		"claude: {environment: machine, hosts: [a.example]}": nil,
	} {
		config := written(t, "environments: {host: {isolation: none, asServer: true}}\n\n\nagents:\n  "+entry+"\n")
		file, err := config.readConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		known, err := file.openEnvironments(Config{DataDir: t.TempDir()}, &sandbox.Sandbox{}, t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		opened, err := file.openAgents(config, nil, known, nil, nil)
		if err == nil {
			opened.Close()
		}
		if (err == nil) != (want == nil) {
			t.Errorf("%s: %v", entry, err)
		}
		for _, part := range want {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %v, not %q", entry, err, part)
			}
		}
	}
}
