package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// doctorOf runs signoff doctor with the demo model and arguments, and returns what it prints.
func doctorOf(t *testing.T, config string, args ...string) (string, error) {
	t.Helper()
	return doctorWith(t, "models: {demo: {provider: demo}}\n"+config, args...)
}

// doctorWith is the same for a whole file.
func doctorWith(t *testing.T, config string, args ...string) (string, error) {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "signoff.yaml")
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	workspace := filepath.Join(dir, "workspace")
	if err := os.Mkdir(workspace, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SIGNOFF_CONFIG", path)
	t.Setenv("SIGNOFF_DATA_DIR", filepath.Join(dir, "data"))
	t.Setenv("SIGNOFF_WORKSPACE_ROOT", workspace)
	var out strings.Builder
	err := doctor(t.Context(), args, stdio{in: strings.NewReader(""), out: &out, err: &out})
	return out.String(), err
}

func TestDoctorListsTheModelsOfRunbooks(t *testing.T) {
	out, _ := doctorOf(t, "runbooks: {disks: {model: demo, fallbacks: [demo]}}\n")
	if !strings.Contains(out, "ok    runbook disks          model demo, then demo\n") {
		t.Error(out)
	}
	out, err := doctorOf(t, "runbooks: {disks: {model: missing}}\n")
	if err == nil || !strings.Contains(out, "FAIL  runbooks") || !strings.Contains(out, `there is no model "missing"; there are: demo`) {
		t.Errorf("%v\n%s", err, out)
	}
}

const corpAndHost = `environments:
  app: {mounts: {/usr/share: read}, hide: [/usr/share/doc], processes: host, network: [corp]}
  host: {isolation: none, asServer: true}
networks:
  corp: {hosts: [api.corp.example, "*.svc.example"], cidrs: [10.20.0.0/16], ports: [443]}
`

func TestDoctorShowsAnEnvironment(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("commands are isolated on Linux only")
	}
	for name, wants := range map[string][]string{
		"workspace": {"ok    read and write", "workspace, the working directory", "processes              its own\n", "public ones"},
		"machine":   {"ok    read                   /etc\n", "ok    read                   /var/log\n", "ok    hidden                 /etc/shadow", "sockets                none"},
		"app": {
			"ok    read                   /usr/share\n", "ok    hidden                 /usr/share/doc\n", "api.corp.example of corp, ports 443, by its name", "*.svc.example of corp, ports 443, by the proxy",
			"10.20.0.0/16", "those of this machine, with masked arguments", "ok    programs",
		},
		"host": {"-     user                   the server's own. Its commands can approve their own calls", "which has no isolation", "all that the user may"},
	} {
		out, err := doctorOf(t, corpAndHost, "--environment", name)
		if err != nil {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
		for _, want := range wants {
			if !strings.Contains(out, want) {
				t.Errorf("%s: %q is not in\n%s", name, want, out)
			}
		}
	}
	if _, err := doctorOf(t, corpAndHost, "--environment", "nosuch"); err == nil || !strings.Contains(err.Error(), "there are: app, host, machine, workspace") {
		t.Error(err)
	}
}

// Without isolation, only an environment that says so by name can be had, and doctor says what to write.
func TestDoctorReplacesSandboxOff(t *testing.T) {
	t.Setenv("SIGNOFF_SANDBOX", "off")
	for _, name := range []string{"workspace", "machine", "app"} {
		out, err := doctorOf(t, corpAndHost, "--environment", name)
		if err == nil || !strings.Contains(out, "FAIL  not available") || !strings.Contains(out, "isolation: none") {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
	if out, err := doctorOf(t, corpAndHost, "--environment", "host"); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	out, err := doctorOf(t, corpAndHost)
	if err == nil || !strings.Contains(out, insteadOfOff(os.Geteuid())) {
		t.Errorf("%v\n%s", err, out)
	}
	// What it prints is taken as it is.
	if out, err := doctorOf(t, strings.ReplaceAll(insteadOfOff(1), "\n      ", "\n")[6:]+"\n"); err != nil || !strings.Contains(out, "environment host (default)") {
		t.Errorf("%v\n%s", err, out)
	}
}
