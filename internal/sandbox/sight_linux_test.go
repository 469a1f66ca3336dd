package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"signoff/internal/domain"
)

// TestSightIsThatOfCommands: what models are told of a path is what a command finds there, for what exists on this machine. It looks at no file: a path
// that does not exist gets the same answer as its neighbours.
func TestSightIsThatOfCommands(t *testing.T) {
	each(t, isolated, func(t *testing.T, s *Sandbox) {
		dir, app, logs, away := folder(t), folder(t), folder(t), folder(t)
		for _, one := range []string{dir, app, logs, away} {
			must(t, os.Chmod(one, 0o755))
			must(t, os.WriteFile(filepath.Join(one, "file"), []byte("content\n"), 0o644))
		}
		hidden, data := filepath.Join(app, "hidden"), filepath.Join(dir, "data")
		for _, one := range []string{hidden, data} {
			must(t, os.Mkdir(one, 0o755))
			must(t, os.WriteFile(filepath.Join(one, "file"), []byte("secret\n"), 0o644))
		}
		s.config.Hidden = []string{data}
		paths := []string{"/usr/bin/env", "/etc/passwd", "/etc/hostname", "/etc/shadow", "/etc/ssl/private", "/etc/debian_version", "/var/lib/dpkg/status", "/var/log/dpkg.log"}
		for _, one := range []string{dir, app, logs, away, hidden, data} {
			paths = append(paths, filepath.Join(one, "file"))
		}
		mounts := []domain.Mount{{Path: app, Access: domain.AccessWrite}, {Path: logs, Access: domain.AccessRead}}
		for _, e := range []domain.Environment{
			{Name: "workspace", View: domain.ViewWorkspace}, {Name: "narrow", View: domain.ViewWorkspace, ReadOnly: true}, machineView,
			{Name: "app", View: domain.ViewWorkspace, Mounts: mounts, Hidden: []string{hidden}},
		} {
			for _, path := range paths {
				output := inView(t, s, dir, e, `head -c 1 '`+path+`' 2>/dev/null | grep -q . && echo read; : 2>/dev/null >> '`+path+`' && echo write`)
				sees := s.Sees(e, dir, path)
				if sees != s.Sees(e, dir, path+"-none") && !strings.HasPrefix(path, "/etc") {
					t.Errorf("%s: the answer for %s depends on its name", e.Name, path)
				}
				if _, err := os.Stat(path); err != nil {
					continue
				}
				isShown := func(folder string) bool { return within(folder, path) }
				if within("/tmp", path) && !within(dir, path) && !slices.ContainsFunc(append(slices.Clone(e.Hidden), pathsOf(e)...), isShown) {
					if sees != domain.AccessWrite || output != "" {
						t.Errorf("%s: in a /tmp of the command's own, %s is told to be %q, and a command says %q", e.Name, path, sees, output)
					}
					continue
				}
				if strings.Contains(output, "read") != (sees != "") || strings.Contains(output, "write") != (sees == domain.AccessWrite) {
					t.Errorf("%s: %s is told to be %q, and a command says %q", e.Name, path, sees, output)
				}
			}
		}
	})
}

func pathsOf(e domain.Environment) (paths []string) {
	for _, mount := range e.Mounts {
		paths = append(paths, mount.Path)
	}
	return paths
}

// TestProgramsAreFoundAsACommandFindsThem: by its PATH, with the programs that Signoff adds to it.
func TestProgramsAreFoundAsACommandFindsThem(t *testing.T) {
	each(t, isolated, func(t *testing.T, s *Sandbox) {
		dir := folder(t)
		wanted := []string{"sh", "no-such-program", "ps", "cat"}
		found, err := s.Find(t.Context(), machineView, dir, wanted)
		if err != nil || !slices.Contains(found, "sh") || !slices.Contains(found, "cat") || slices.Contains(found, "no-such-program") {
			t.Errorf("%q, %v", found, err)
		}
		without := machineView
		without.Hidden = []string{"/usr/bin/cat"}
		if found, err := s.Find(t.Context(), without, dir, wanted); err != nil || slices.Contains(found, "cat") || !slices.Contains(found, "sh") {
			t.Errorf("with a hidden program: %q, %v", found, err)
		}
		shown := domain.Environment{Name: "app", View: domain.ViewWorkspace, Processes: domain.ProcessesHost} // whose programs of its own are not on the server's PATH
		if found, err := s.Find(t.Context(), shown, dir, []string{"pgrep"}); err != nil || !slices.Equal(found, []string{"pgrep"}) {
			t.Errorf("Signoff's own: %q, %v", found, err)
		}
	})
	s := open(byPIDNamespace)
	if found, err := s.Find(t.Context(), domain.Environment{Name: "host", View: domain.ViewHost}, "/", []string{"sh", "no-such-program"}); err != nil || !slices.Equal(found, []string{"sh"}) {
		t.Errorf("on the host: %q, %v", found, err)
	}
	if _, err := s.Find(t.Context(), machineView, folder(t), []string{"sh"}); err == nil {
		t.Error("programs were found in an environment that cannot be had")
	}
}
