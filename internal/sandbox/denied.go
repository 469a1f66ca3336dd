package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"signoff/internal/domain"
)

// Mounts keep a command from denied paths: a path that it must not write is mounted read-only, and an empty file or folder covers one
// that it must not read. So the name, link or program that the command uses does not matter. A mount needs an existing path that nobody
// can exchange; without one, the policy gets the reason.

// systemInSight are the folders that commands see besides their workspace, their own /tmp, and the settings in systemFiles.
var systemInSight = append([]string{"/proc", "/dev"}, systemFolders...)

// The reasons why a command cannot be kept from a path. They follow "because".
var (
	errNotIsolated = errors.New("commands are not isolated on this server")
	errOnHost      = errors.New("its environment has no isolation")
	errWorkspace   = errors.New("the working directory is a part of it")
	errMissing     = errors.New("it does not exist, so that nothing can be mounted there")
	errOverLink    = errors.New("a link leads to it, or is on the way to it")
	errUnseen      = errors.New("it cannot be looked at")
	errNeeded      = errors.New("no command works without it")
	errManyNames   = errors.New("a file in it has a second name (a hard link), which may lie elsewhere")
	errManyFiles   = fmt.Errorf("it holds more than %d files, too many to look for second names (hard links)", maxDeniedFiles)
)

// maxDeniedFiles bounds the files that are checked before a command; a file takes some microseconds.
const maxDeniedFiles = 10_000

// Reaches lists the files and folders of this machine that a command in dir can read, or can write, in an environment.
func (s *Sandbox) Reaches(dir string, e domain.Environment, write bool) []string {
	if !s.method.isolates() || e.View == domain.ViewHost {
		return []string{"/"}
	}
	all := []string{dir}
	for _, one := range shownBy(e) {
		if one.Write || !write {
			all = append(all, one.Path)
		}
	}
	if write {
		return all
	}
	return slices.Concat(all, systemInSight, systemFiles)
}

// Keeps returns nil if a command in dir can be kept from the denied path in an environment, or cannot reach it anyway. Otherwise the error says
// why not, in words that follow "because". It reads the file system, in bounded work, until ctx ends.
func (s *Sandbox) Keeps(ctx context.Context, dir string, e domain.Environment, denied domain.Denied) error {
	if e.View == domain.ViewHost {
		return errOnHost
	}
	v := view{Shown: shownBy(e)}
	guards, err := s.coversOf(dir, v, denied)
	if err != nil {
		return err
	}
	for _, g := range guards {
		if path := (plan{Dir: dir}).pathOf(g); v.writable(dir, path) && path != dir {
			if err := onlyNames(ctx, path); err != nil {
				return err
			}
		}
	}
	return nil
}

// deny guards a denied path. If that is no longer possible, the command does not start: somebody has changed the workspace since it
// was judged.
func (s *Sandbox) deny(dir string, v view, denied domain.Denied, all *guards) error {
	guards, err := s.coversOf(dir, v, denied)
	if err != nil {
		return domain.Errorf(domain.CodePolicyDenied, "The command was not begun: a permission rule denies %s, and the command cannot be kept from it, "+
			"because %v.", denied.Path, err)
	}
	for _, g := range guards {
		all.addFor(v, g)
	}
	return nil
}

// coversOf are the guards that keep a command in dir from the denied path; none if the command cannot reach it.
func (s *Sandbox) coversOf(dir string, v view, denied domain.Denied) ([]guard, error) {
	as := readOnly
	if denied.Hidden {
		as = hidden
	}
	switch {
	case !s.method.isolates():
		return nil, errNotIsolated
	case within(denied.Path, dir):
		if denied.Hidden {
			return nil, errWorkspace
		}
		return append(v.writtenIn(denied.Path), guard{".", as}), nil
	case within(dir, denied.Path):
		relative, err := filepath.Rel(dir, denied.Path)
		if err != nil {
			return nil, err
		}
		return []guard{{relative, as}}, mountable(dir, relative)
	}
	if real := resolved(denied.Path); real != denied.Path && (within(real, dir) || v.writable(dir, real) || denied.Hidden && v.hasInSight(real)) {
		return nil, errOverLink
	}
	switch {
	case !denied.Hidden && v.writable(dir, denied.Path):
		if !exists(denied.Path) {
			return nil, errMissing
		}
		return []guard{{denied.Path, as}}, nil
	case !denied.Hidden:
		return v.writtenIn(denied.Path), nil
	case !v.hasInSight(denied.Path):
		if v.writable(dir, denied.Path) {
			return nil, errMissing
		}
		return nil, nil
	}
	return []guard{{denied.Path, hidden}}, coverable(denied.Path)
}

// writable reports whether a command in dir may write path.
func (v view) writable(dir, path string) bool {
	return within(dir, path) || slices.ContainsFunc(v.Shown, func(one shown) bool { return one.Write && within(one.target(), path) })
}

// writtenIn are guards for the mounts in a folder that a command may write.
func (v view) writtenIn(folder string) []guard {
	var all []guard
	for _, one := range v.Shown {
		if one.Write && within(folder, one.target()) {
			all = append(all, guard{one.target(), readOnly})
		}
	}
	return all
}

// addFor adds a guard. One in a mount that is written pins the folders above it, too.
func (all *guards) addFor(v view, g guard) {
	for _, one := range v.Shown {
		if relative, err := filepath.Rel(one.target(), g.Path); one.Write && filepath.IsAbs(g.Path) && err == nil && filepath.IsLocal(relative) {
			all.addIn(one.target(), relative, g.As)
			return
		}
	}
	all.add(g.Path, g.As)
}

// mountable reports whether there is something to mount over, with no link on the way that another command could exchange.
func mountable(dir, relative string) error {
	for _, part := range append(parents(relative), relative) {
		info, err := os.Lstat(filepath.Join(dir, part))
		switch {
		case isAbsent(err):
			return errMissing
		case err != nil:
			return errUnseen
		case info.Mode()&fs.ModeSymlink != 0:
			return errOverLink
		}
	}
	return nil
}

// coverable reports whether a part of the system can be hidden.
func coverable(path string) error {
	if slices.Contains(systemFolders, path) || within("/proc", path) || within("/dev", path) {
		return errNeeded
	}
	for _, file := range systemFiles { // each is mounted by itself, wherever it leads
		if !within(path, file) && within(path, resolved(file)) {
			return errOverLink
		}
	}
	return nil
}

// hasInSight reports whether commands see path, or something in it, beside the workspace.
func (v view) hasInSight(path string) bool {
	sees := func(one string) bool { return exists(one) && (within(one, path) || within(path, one)) }
	return exists(path) && (slices.ContainsFunc(systemInSight, sees) || slices.ContainsFunc(systemFiles, sees) ||
		slices.ContainsFunc(v.Shown, func(one shown) bool { return sees(one.target()) }))
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// resolved follows the links of an absolute path as far as it exists. One that leads nowhere may lead anywhere later, so that is "/".
func resolved(path string) string {
	for existing, rest := path, ""; ; existing, rest = filepath.Dir(existing), filepath.Join(filepath.Base(existing), rest) {
		real, err := filepath.EvalSymlinks(existing)
		if err == nil {
			return filepath.Join(real, rest)
		}
		if _, err := os.Readlink(existing); err == nil || existing == "/" {
			return "/"
		}
	}
}

// onlyNames returns an error where a file at path, or below it, has further names: a mount covers none of those that lie elsewhere. A command
// that is kept from a file cannot give it one.
func onlyNames(ctx context.Context, path string) error {
	seen := 0
	return filepath.WalkDir(path, func(_ string, entry fs.DirEntry, err error) error {
		if seen++; seen > maxDeniedFiles {
			return errManyFiles
		}
		if err != nil || ctx.Err() != nil {
			return errUnseen
		}
		if entry.IsDir() {
			return nil
		}
		info, err := entry.Info()
		switch {
		case isAbsent(err):
			return nil
		case err != nil:
			return errUnseen
		case !hasOneName(info):
			return errManyNames
		}
		return nil
	})
}

func hasOneName(info fs.FileInfo) bool {
	stat, known := info.Sys().(*syscall.Stat_t)
	return known && stat.Nlink == 1
}
