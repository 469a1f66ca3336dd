package program

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"signoff/internal/domain"
	"signoff/internal/launch"
	"signoff/internal/mcp"
	"signoff/internal/sandbox"
)

// writers know what agents can write: what they can write, they can have run with the secrets of a server.
type writers struct {
	roots []root
	host  *domain.Environment // in which commands of the execution run without isolation; nil: they are isolated
}

// root is a file or folder that agents write, with all that is in it.
type root struct {
	path string
	info fs.FileInfo // nil: it is not there
	who  string      // writes it, for messages
}

// writers are those of an execution, and of all others that this server may run: another one may have written a program before.
func (p *Programs) writers(use mcp.Use) *writers {
	w := &writers{}
	add := func(path, who string) {
		info, _ := os.Stat(path)
		w.roots = append(w.roots, root{path, info, who})
	}
	add(use.Directory, "the execution can write it, because it lies in its working directory "+use.Directory)
	for _, mount := range writable(use.Environment) {
		add(mount, fmt.Sprintf("the execution can write it, because its environment %s mounts %s for write", use.Environment.Name, mount))
	}
	for _, folder := range p.config.Workspaces {
		add(folder, "an execution can write it, because it lies in the workspace "+folder)
	}
	for _, e := range p.config.Environments.All() {
		for _, mount := range writable(e.Environment) {
			add(mount, fmt.Sprintf("an execution can write it, because the environment %s mounts %s for write", e.Name, mount))
		}
	}
	if use.Environment.View == domain.ViewHost {
		w.host = &use.Environment
	}
	return w
}

func writable(e domain.Environment) (paths []string) {
	for _, mount := range e.Mounts {
		if mount.Access == domain.AccessWrite {
			paths = append(paths, mount.Path)
		}
	}
	return paths
}

// why says why agents can write what is found at an absolute path, or put something else there; empty: they cannot.
func (w *writers) why(path string) string {
	for _, name := range namesOf(path) {
		if why := w.whyName(name); why != "" {
			return why
		}
	}
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return ""
	}
	return w.whySecondName(info)
}

// namesOf are the places that the kernel goes through to a path: each link on the way, and the end, which may not be there.
func namesOf(path string) (names []string) {
	at, rest := "/", strings.Split(strings.Trim(filepath.Clean(path), "/"), "/")
	for links := 0; len(rest) > 0 && links < maxLinks; {
		next := filepath.Join(at, rest[0])
		to, err := os.Readlink(next)
		if err != nil {
			at, rest = next, rest[1:]
			continue
		}
		links++
		names = append(names, next)
		if filepath.IsAbs(to) {
			at = "/"
		}
		rest = append(strings.Split(strings.Trim(to, "/"), "/"), rest[1:]...)
	}
	return append(names, at)
}

// maxLinks is that of the kernel: path_resolution(7).
const maxLinks = 40

// whyName looks at one name, which has no links in its folder.
func (w *writers) whyName(name string) string {
	for _, root := range w.roots {
		if within(root.path, name) {
			return root.who
		}
	}
	for part := name; ; part = filepath.Dir(part) {
		if why := w.whyPart(part); why != "" {
			return why
		}
		if part == "/" {
			return ""
		}
	}
}

// whyPart looks at a name or a folder above it. A folder that is mounted in two places is one.
func (w *writers) whyPart(part string) string {
	if w.host != nil && sandbox.WritesOnHost(*w.host, part) {
		return fmt.Sprintf("the execution can write it: in its environment %s commands run without isolation, and may write %s", w.host.Name, part)
	}
	info, err := os.Lstat(part)
	if err != nil {
		return ""
	}
	for _, root := range w.roots {
		if root.info != nil && os.SameFile(root.info, info) {
			return root.who
		}
	}
	return ""
}

// maxSearched bounds the files that are compared with a program that has a second name.
const maxSearched = 20_000

// whySecondName looks for another name of a file (a hard link) where agents write.
func (w *writers) whySecondName(file fs.FileInfo) string {
	stat, known := file.Sys().(*syscall.Stat_t)
	if !known || stat.Nlink < 2 {
		return ""
	}
	left := maxSearched
	for _, root := range w.roots {
		if root.info == nil {
			continue
		}
		if other, known := root.info.Sys().(*syscall.Stat_t); !known || other.Dev != stat.Dev {
			continue // no file has names on two file systems
		}
		why := ""
		_ = filepath.WalkDir(root.path, func(path string, entry fs.DirEntry, err error) error {
			if left--; left < 0 {
				why = fmt.Sprintf("it has a second name (a hard link), and %s holds too many files to look for that; make a copy of the program", root.path)
				return fs.SkipAll
			}
			if err != nil || entry.IsDir() {
				return nil //nolint:nilerr // what cannot be read here, agents cannot read either
			}
			if info, err := entry.Info(); err == nil && os.SameFile(info, file) {
				why = fmt.Sprintf("%s, where its second name (a hard link) is %s", strings.SplitN(root.who, ",", 2)[0], path)
				return fs.SkipAll
			}
			return nil
		})
		if why != "" {
			return why
		}
	}
	return ""
}

// without are the folders of a search path in which agents cannot put a program.
func (w *writers) without(path string) string {
	folders := slices.DeleteFunc(filepath.SplitList(launch.AbsolutePath(path)), func(folder string) bool { return w.why(folder) != "" })
	return strings.Join(folders, string(filepath.ListSeparator))
}
