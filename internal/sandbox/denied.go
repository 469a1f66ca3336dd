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

// Reaches lists the files and folders of this machine that a command in dir can read, or can write.
func (s *Sandbox) Reaches(dir string, write bool) []string {
	switch {
	case !s.method.isolates():
		return []string{"/"}
	case write:
		return []string{dir}
	default:
		return slices.Concat([]string{dir}, systemInSight, systemFiles)
	}
}

// Keeps returns nil if a command in dir can be kept from the denied path, or cannot reach it anyway. Otherwise the error says
// why not, in words that follow "because". It reads the file system, in bounded work, until ctx ends.
func (s *Sandbox) Keeps(ctx context.Context, dir string, denied domain.Denied) error {
	g, err := s.coverOf(dir, denied)
	if err != nil || g.Path == "" || g.Path == "." || filepath.IsAbs(g.Path) {
		return err
	}
	return onlyNames(ctx, denied.Path)
}

// deny guards a denied path. If that is no longer possible, the command does not start: somebody has changed the workspace since it
// was judged.
func (s *Sandbox) deny(dir string, denied domain.Denied, add func(string, guardKind)) error {
	g, err := s.coverOf(dir, denied)
	if err != nil {
		return domain.Errorf(domain.CodePolicyDenied, "The command was not begun: a permission rule denies %s, and the command cannot be kept from it, "+
			"because %v.", denied.Path, err)
	}
	if g.Path != "" {
		add(g.Path, g.As)
	}
	return nil
}

// coverOf is the guard that keeps a command in dir from the denied path; none (an empty path) if the command cannot reach it.
func (s *Sandbox) coverOf(dir string, denied domain.Denied) (guard, error) {
	as := readOnly
	if denied.Hidden {
		as = hidden
	}
	switch {
	case !s.method.isolates():
		return guard{}, errNotIsolated
	case within(denied.Path, dir):
		if denied.Hidden {
			return guard{}, errWorkspace
		}
		return guard{".", as}, nil
	case within(dir, denied.Path):
		relative, err := filepath.Rel(dir, denied.Path)
		if err != nil {
			return guard{}, err
		}
		return guard{relative, as}, mountable(dir, relative)
	}
	if real := resolved(denied.Path); real != denied.Path && (within(real, dir) || within(dir, real) || denied.Hidden && isInSight(real)) {
		return guard{}, errOverLink
	}
	if !denied.Hidden || !isInSight(denied.Path) {
		return guard{}, nil
	}
	return guard{denied.Path, hidden}, coverable(denied.Path)
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

// isInSight reports whether commands see path as a part of the system, or something in it.
func isInSight(path string) bool {
	sees := func(one string) bool { return exists(one) && (within(one, path) || within(path, one)) }
	return exists(path) && (slices.ContainsFunc(systemInSight, sees) || slices.ContainsFunc(systemFiles, sees))
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
