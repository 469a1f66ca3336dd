package workspace

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"signoff/internal/domain"
)

// Workspace is the folder below which every execution works, but for what is hidden in it.
type Workspace struct {
	root    string        // absolute, symlinks resolved
	hidden  []string      // the same
	guarded Guards        // its files the same
	kernel  []fs.FileInfo // the file systems that show the server itself
	swap    sync.RWMutex  // held while files take their places; whoever opens one waits for the end of it
}

// Guards are what executions may read and not change: others, outside of every sandbox, take commands from it.
type Guards struct {
	Files []string // files and folders of the server's own; they need not exist yet
	Names []string // of files and folders below any folder, such as .envrc or .vscode/tasks.json
	Git   []string // what git takes from its own folder, such as hooks
}

// New returns the workspace below root, which must be an existing folder. Hidden files and folders, the
// server's own data for one, are out of the reach of executions also where they lie inside; they need not exist yet.
func New(root string, hidden ...string) (*Workspace, error) {
	resolved, err := resolve(root)
	if err != nil {
		return nil, domain.Errorf(domain.CodeInvalid, "The workspace root %s is not a folder that can be used.", root).With(err)
	}
	w := &Workspace{root: resolved, kernel: kernelFiles()}
	for _, path := range hidden {
		absolute, err := filepath.Abs(path)
		if err != nil {
			return nil, domain.Errorf(domain.CodeInvalid, "The path %s cannot be hidden.", path).With(err)
		}
		if real, err := filepath.EvalSymlinks(absolute); err == nil {
			absolute = real
		}
		w.hidden = append(w.hidden, absolute)
	}
	return w, nil
}

// kernelFiles are the file systems on which the kernel shows processes and itself: the server's environment is a regular
// file there, in reach where the workspace is the whole machine.
func kernelFiles() []fs.FileInfo {
	top, err := os.Stat("/")
	if err != nil {
		return nil
	}
	var found []fs.FileInfo
	for _, path := range []string{"/proc", "/sys"} {
		if info, err := os.Stat(path); err == nil && !sameDevice(info, top) {
			found = append(found, info)
		}
	}
	return found
}

func sameDevice(a, b fs.FileInfo) bool {
	one, isUnix := a.Sys().(*syscall.Stat_t)
	other, both := b.Sys().(*syscall.Stat_t)
	return isUnix && both && one.Dev == other.Dev
}

// linked tells whether a file has a second name. That may be anywhere, and no look at the first one shows where.
func linked(info fs.FileInfo) bool {
	stat, isUnix := info.Sys().(*syscall.Stat_t)
	return isUnix && stat.Nlink > 1
}

// Root returns the folder, absolute and with symlinks resolved.
func (w *Workspace) Root() string { return w.root }

// Resolve returns the absolute folder that a request's workingDirectory means. Empty is the root; a relative path
// starts there. Symlinks are followed before the check, so that none leads outside.
func (w *Workspace) Resolve(directory string) (string, error) {
	if !filepath.IsAbs(directory) {
		directory = filepath.Join(w.root, directory)
	}
	resolved, err := resolve(directory)
	if err != nil {
		return "", domain.Invalid("/workingDirectory", "This folder does not exist inside the workspace.").With(err)
	}
	if hasNames(strings.Split(strings.TrimPrefix(resolved, w.root), "/"), ".git") {
		// Its hooks and configuration are read-only to commands that work beside it; who works in it could write them.
		return "", domain.Invalid("/workingDirectory", "A folder of git's own cannot be a working directory.")
	}
	if !within(w.root, resolved) || w.hides(resolved) {
		// The same words as for a folder that does not exist: an answer must not tell what lies outside.
		return "", domain.Invalid("/workingDirectory", "This folder does not exist inside the workspace.")
	}
	return resolved, nil
}

func (w *Workspace) hides(resolved string) bool {
	return slices.ContainsFunc(w.hidden, func(hidden string) bool { return within(hidden, resolved) })
}

// within tells whether path is folder or lies in it; both are absolute and clean.
func within(folder, path string) bool {
	return path == folder || strings.HasPrefix(path, strings.TrimSuffix(folder, "/")+"/")
}

func resolve(directory string) (string, error) {
	absolute, err := filepath.Abs(directory)
	if err != nil {
		return "", err
	}
	resolved, err := filepath.EvalSymlinks(absolute)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(resolved)
	if err != nil {
		return "", err
	}
	if !info.IsDir() {
		return "", &fs.PathError{Op: "open", Path: resolved, Err: syscall.ENOTDIR}
	}
	return resolved, nil
}

// hasNames tells whether these names follow each other somewhere in a path.
func hasNames(parts []string, names ...string) bool {
	for i := range len(parts) - len(names) + 1 {
		if slices.EqualFunc(parts[i:i+len(names)], names, strings.EqualFold) {
			return true
		}
	}
	return false
}

// maxEntries bounds the listing of one folder: it is held in memory as a whole.
const maxEntries = 100_000
