package sandbox

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"signoff/internal/domain"
)

// What is in sight of a command, for the texts that models read.

// Folders lists what an environment shows besides the workspace and the programs of the system, sorted by path, and then the clone of the execution.
func (s *Sandbox) Folders(e domain.Environment) []domain.Mount {
	var all []domain.Mount
	for _, one := range shownBy(e) {
		all = append(all, domain.Mount{Path: one.Path, Access: accessOf(one.Write)})
	}
	return append(all, cloneFolders(e)...)
}

// Sees returns what a command in dir may do with a path, if that is there: nothing (empty) outside of its sight. It goes by the definition of the environment
// alone and looks at no file, so that its answer never tells whether one exists. File modes may allow less.
func (s *Sandbox) Sees(e domain.Environment, dir, path string) domain.Access {
	path = filepath.Clean(path)
	if e.View == domain.ViewHost {
		return domain.AccessWrite
	}
	inWorkspace := within(dir, path)
	if s.covers(e, dir, path) {
		return ""
	}
	if inWorkspace {
		return accessOf(!e.ReadOnly)
	}
	var sees domain.Access
	for _, shown := range s.Folders(e) {
		if within(shown.Path, path) {
			sees = shown.Access // the inner one is later
		}
	}
	switch {
	case sees != "":
		return sees
	case slices.ContainsFunc([]string{"/tmp", "/var/tmp", "/dev"}, func(own string) bool { return within(own, path) }):
		return domain.AccessWrite
	case slices.ContainsFunc(slices.Concat(systemInSight, systemFiles, []string{lentFolder}), func(system string) bool { return within(system, path) }):
		return domain.AccessRead
	}
	return ""
}

func accessOf(write bool) domain.Access {
	if write {
		return domain.AccessWrite
	}
	return domain.AccessRead
}

// covers reports whether an environment hides a path, or a folder above it, from a command in dir. A hidden folder may hold the own folder of the execution,
// which is in sight.
func (s *Sandbox) covers(e domain.Environment, dir, path string) bool {
	inWorkspace := within(dir, path)
	if slices.ContainsFunc(slices.Concat(e.Hidden, s.config.Hidden), func(hidden string) bool {
		return within(hidden, path) && (!within(hidden, dir) || !inWorkspace && (e.Clone == nil || !within(e.Clone.Folder, path)))
	}) {
		return true
	}
	if inWorkspace {
		return false
	}
	if slices.ContainsFunc(s.config.Covered, func(hidden string) bool { return within(hidden, path) }) {
		return true
	}
	for ; path != "/" && path != "."; path = filepath.Dir(path) {
		named := slices.ContainsFunc(e.Mounts, func(m domain.Mount) bool { return within(path, m.Path) }) // what the operator names is shown
		for _, secret := range SecretFiles {
			if matches, err := filepath.Match(secret.Pattern, path); err == nil && matches && !named {
				return true
			}
		}
	}
	return false
}

const findTimeout = 20 * time.Second

// Find returns those of the programs that a command in dir finds on its PATH. It looks as a command: isolated, by a command. On the host nothing runs
// that nobody has asked for, so there it looks into the folders of the PATH.
func (s *Sandbox) Find(ctx context.Context, e domain.Environment, dir string, programs []string) ([]string, error) {
	if e.View == domain.ViewHost {
		return s.findOnHost(e, programs), nil
	}
	var output bytes.Buffer
	line := `for program in "$@"; do command -v "$program" >/dev/null 2>&1 && echo "$program"; done; echo .`
	e.Files = nil // they have nothing to do with it, and may be unreadable today
	result, err := s.Run(ctx, domain.Command{
		Argv: append([]string{"sh", "-c", line, "sh"}, programs...), Dir: dir, Environment: e, Timeout: findTimeout,
	}, &output)
	if err != nil {
		return nil, err
	}
	lines := strings.Fields(output.String())
	if result.ExitCode != 0 || !slices.Contains(lines, ".") {
		return nil, fmt.Errorf("sandbox: looking for programs ended with the exit code %d", result.ExitCode)
	}
	return slices.DeleteFunc(slices.Clone(programs), func(program string) bool { return !slices.Contains(lines, program) }), nil
}

func (s *Sandbox) findOnHost(e domain.Environment, programs []string) []string {
	path := searchPath
	if slices.Contains(e.Variables, "PATH") && s.config.Lookup != nil {
		own, _ := s.config.Lookup("PATH")
		path = cmp.Or(own, path)
	}
	return slices.DeleteFunc(slices.Clone(programs), func(program string) bool {
		return !slices.ContainsFunc(filepath.SplitList(path), func(folder string) bool {
			info, err := os.Stat(filepath.Join(folder, program))
			return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0
		})
	})
}
