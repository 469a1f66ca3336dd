package sessions

import (
	"errors"
	"io"
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

// NewWorkspace returns the workspace below root, which must be an existing folder. Hidden files and folders, the
// server's own data for one, are out of the reach of executions also where they lie inside; they need not exist yet.
func NewWorkspace(root string, hidden ...string) (*Workspace, error) {
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

// open opens a regular file below directory for reading. [os.Root] holds the boundary against `..` and symlinks also
// while somebody swaps them; devices and pipes are refused, since reading them could block for ever.
func (w *Workspace) open(directory, path string) (fs.File, error) {
	relative, err := local(directory, path)
	if err != nil {
		return nil, err
	}
	root, err := openRoot(directory)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	file, err := w.openBelow(root, directory, relative, path)
	if errors.Is(err, errLinked) {
		w.sweepPlace(root, directory, relative)
		file, err = w.openBelow(root, directory, relative, path)
	}
	return file, err
}

func (w *Workspace) openBelow(root *os.Root, directory, relative, path string) (fs.File, error) {
	w.swap.RLock() // for a moment, what is about to be replaced has two names
	defer w.swap.RUnlock()
	file, err := root.OpenFile(relative, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, notOpened(path, err)
	}
	if err := w.readable(file, filepath.Join(directory, relative), path); err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

// local is path as seen from directory, where it does not leave it by its own words.
func local(directory, path string) (string, error) {
	if resolved, err := filepath.EvalSymlinks(directory); err != nil || resolved != directory {
		return "", domain.Errorf(domain.CodePathOutsideWorkspace, "The working directory is gone or was replaced.")
	}
	relative := path
	if filepath.IsAbs(path) {
		inside, err := filepath.Rel(directory, path)
		if err != nil {
			return "", outside(path)
		}
		relative = inside
	}
	if !filepath.IsLocal(relative) {
		return "", outside(path)
	}
	return relative, nil
}

// readable looks at the file that was opened, not at its name.
func (w *Workspace) readable(file *os.File, absolute, path string) error {
	opened, err := file.Stat()
	switch {
	case err != nil || !opened.Mode().IsRegular():
		return domain.Errorf(domain.CodeToolFailed, "%s is not a regular file.", path)
	case linked(opened):
		return secondName(path)
	}
	return w.reachable(opened, absolute, path)
}

// reachable checks where the name of what was opened leads to now. That must be the very thing that is open, so a symlink
// that is swapped in between gains nothing.
func (w *Workspace) reachable(opened fs.FileInfo, absolute, path string) error {
	place, err := filepath.EvalSymlinks(absolute)
	if err != nil {
		return notOpened(path, err)
	}
	if there, err := os.Lstat(place); err != nil || !os.SameFile(opened, there) || w.hides(place) || w.kernels(opened) {
		return outside(path)
	}
	return nil
}

func (w *Workspace) kernels(info fs.FileInfo) bool {
	return slices.ContainsFunc(w.kernel, func(kernel fs.FileInfo) bool { return sameDevice(kernel, info) })
}

// maxEntries bounds the listing of one folder: it is held in memory as a whole.
const maxEntries = 100_000

// list reads a folder below directory, sorted by name, with the boundary of open. What is hidden is not in it.
func (w *Workspace) list(directory, path string) ([]fs.DirEntry, error) {
	relative, err := local(directory, path)
	if err != nil {
		return nil, err
	}
	root, err := openRoot(directory)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	folder, err := root.OpenFile(relative, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, notOpened(path, err)
	}
	defer folder.Close()
	absolute := filepath.Join(directory, relative)
	if opened, err := folder.Stat(); err != nil || !opened.IsDir() {
		return nil, domain.Errorf(domain.CodeToolFailed, "%s is not a folder.", path)
	} else if err := w.reachable(opened, absolute, path); err != nil {
		return nil, err
	}
	entries, err := folder.ReadDir(maxEntries + 1)
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return nil, notOpened(path, err)
	case len(entries) > maxEntries:
		return nil, domain.Errorf(domain.CodeToolFailed, "%s has more than %d entries.", path, maxEntries)
	}
	return w.shown(entries, absolute), nil
}

// shown are the entries that are still there and not hidden, with what is known of them now: afterwards, a name may stand
// for something else.
func (w *Workspace) shown(entries []fs.DirEntry, absolute string) []fs.DirEntry {
	place, err := filepath.EvalSymlinks(absolute)
	if err != nil {
		return nil
	}
	var shown []fs.DirEntry
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil && !w.hides(filepath.Join(place, entry.Name())) {
			shown = append(shown, fs.FileInfoToDirEntry(info))
		}
	}
	slices.SortFunc(shown, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return shown
}

func openRoot(directory string) (*os.Root, error) {
	root, err := os.OpenRoot(directory)
	if err != nil {
		return nil, domain.Errorf(domain.CodePathOutsideWorkspace, "The working directory cannot be opened.").With(err)
	}
	return root, nil
}

func outside(path string) error {
	return domain.Errorf(domain.CodePathOutsideWorkspace, "%s is outside the working directory.", path)
}

func secondName(path string) error {
	return domain.Errorf(domain.CodePathOutsideWorkspace,
		"%s has a second name, a hard link, which may be outside the working directory.", path).With(errLinked)
}

func notOpened(path string, err error) error {
	switch {
	case os.IsNotExist(err):
		return domain.Errorf(domain.CodeToolFailed, "%s does not exist.", path).With(err)
	case os.IsPermission(err):
		return domain.Errorf(domain.CodeToolFailed, "%s may not be read.", path).With(err)
	case strings.Contains(err.Error(), "escapes"): // os.Root has no exported error for it
		return outside(path)
	default:
		return domain.Errorf(domain.CodeToolFailed, "%s cannot be opened.", path).With(err)
	}
}
