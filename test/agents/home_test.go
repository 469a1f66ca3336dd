//go:build agents && linux

package agents

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// home is a private place for an agent: its settings, its sessions, and a folder to work in. It survives the agent.
type home struct {
	agent
	command   string // absolute
	folder    string
	workspace string
	path      string
	fill      *strings.Replacer
}

// newHome installs an agent, which is then ready to be started.
func newHome(t testing.TB, a agent, mock string) home {
	t.Helper()
	folder := filepath.Join(a.installed(t), a.bin)
	h := home{agent: a, folder: t.TempDir(), command: filepath.Join(folder, a.command)}
	h.workspace = filepath.Join(h.folder, "workspace")
	must(t, os.Mkdir(h.workspace, 0o755))
	h.fill = strings.NewReplacer("{home}", h.folder, "{mock}", mock, "{key}", key)
	h.path = strings.Join([]string{filepath.Dir(node(t)), folder, "/usr/local/bin", "/usr/bin", "/bin"}, ":")
	write(t, h.folder, a.files, h.fill)
	return h
}

// filled is a part of the table for this home.
func (h home) filled(values map[string]string) map[string]string {
	filled := map[string]string{}
	for name, value := range values {
		filled[name] = h.fill.Replace(value)
	}
	return filled
}

// environment is all that a process gets: nothing of the environment of the tests.
func (h home) environment(more ...map[string]string) []string {
	env := []string{"HOME=" + h.folder, "LANG=C.UTF-8", "PATH=" + h.path}
	for _, values := range more {
		for _, name := range slices.Sorted(maps.Keys(values)) {
			env = append(env, name+"="+h.fill.Replace(values[name]))
		}
	}
	return env
}

func write(t testing.TB, folder string, files map[string]string, fill *strings.Replacer) {
	t.Helper()
	for name, content := range files {
		place := filepath.Join(folder, name)
		must(t, os.MkdirAll(filepath.Dir(place), 0o755))
		must(t, os.WriteFile(place, []byte(fill.Replace(content)), 0o600))
	}
}

// set puts into the working folder what a scenario wants there, and nothing that an earlier one has left.
func (h home) set(t testing.TB, s scenario) {
	t.Helper()
	for _, entry := range must2(os.ReadDir(h.workspace))(t) {
		must(t, os.RemoveAll(filepath.Join(h.workspace, entry.Name())))
	}
	if s.tempted {
		write(t, h.workspace, h.temptation, strings.NewReplacer())
	}
}

// node is one Node for all, since three of the agents want a newer one than Debian has.
func node(t testing.TB) string {
	t.Helper()
	if m, ok := nodes[runtime.GOARCH]; ok && runtime.GOOS == "linux" {
		return filepath.Join(m.installed(t), m.needs)
	}
	found, err := exec.LookPath("node")
	if err != nil {
		t.Fatal("node is not on the PATH")
	}
	return found
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
