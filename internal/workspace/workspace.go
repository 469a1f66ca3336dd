package workspace

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
)

// Workspace is the folders below which executions work, but for what is hidden in them.
type Workspace struct {
	roots   []Root        // the default one first
	hidden  []string      // the same
	own     string        // the folder of the own folders of executions; empty: there are none
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

// hides reports whether a path is hidden from an execution in directory. A hidden folder may hold the own folder of the execution, which is not hidden.
func (w *Workspace) hides(directory, resolved string) bool {
	if own := w.ownOf(directory); own != "" && within(own, resolved) {
		return false
	}
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

// MaxEntries bounds the listing of one folder: it is held in memory as a whole.
const MaxEntries = 100_000
