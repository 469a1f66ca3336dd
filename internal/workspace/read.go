package workspace

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"signoff/internal/domain"
)

// Open opens a regular file below directory for reading. [os.Root] holds the boundary against `..` and symlinks also
// while somebody swaps them; devices and pipes are refused, since reading them could block for ever.
func (w *Workspace) Open(directory, path string) (fs.File, error) {
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
		w.removeLeftoversAt(root, directory, relative)
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
	if err := w.readable(file, directory, relative, path); err != nil {
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
func (w *Workspace) readable(file *os.File, directory, relative, path string) error {
	opened, err := file.Stat()
	switch {
	case err != nil || !opened.Mode().IsRegular():
		return domain.Errorf(domain.CodeToolFailed, "%s is not a regular file.", path)
	case linked(opened):
		return secondName(path)
	}
	return w.reachable(opened, directory, relative, path)
}

// reachable checks where the name of what was opened leads to now. That must be the very thing that is open, so a symlink
// that is swapped in between gains nothing.
func (w *Workspace) reachable(opened fs.FileInfo, directory, relative, path string) error {
	place, err := filepath.EvalSymlinks(filepath.Join(directory, relative))
	if err != nil {
		return notOpened(path, err)
	}
	if there, err := os.Lstat(place); err != nil || !os.SameFile(opened, there) || w.hides(directory, place) || w.Kernel(opened) {
		return outside(path)
	}
	return nil
}

// Kernel reports whether a file or folder is on a file system on which the kernel shows itself.
func (w *Workspace) Kernel(info fs.FileInfo) bool {
	return slices.ContainsFunc(w.kernel, func(kernel fs.FileInfo) bool { return sameDevice(kernel, info) })
}

// List reads a folder below directory, sorted by name, with the boundary of [Workspace.Open]. Hidden entries are left out.
func (w *Workspace) List(directory, path string) ([]fs.DirEntry, error) {
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
	if opened, err := folder.Stat(); err != nil || !opened.IsDir() {
		return nil, domain.Errorf(domain.CodeToolFailed, "%s is not a folder.", path)
	} else if err := w.reachable(opened, directory, relative, path); err != nil {
		return nil, err
	}
	entries, err := folder.ReadDir(MaxEntries + 1)
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return nil, notOpened(path, err)
	case len(entries) > MaxEntries:
		return nil, domain.Errorf(domain.CodeToolFailed, "%s has more than %d entries.", path, MaxEntries)
	}
	return w.shown(entries, directory, relative), nil
}

// shown are the entries that are still there and not hidden, with what is known of them now: afterwards, a name may stand
// for something else.
func (w *Workspace) shown(entries []fs.DirEntry, directory, relative string) []fs.DirEntry {
	place, err := filepath.EvalSymlinks(filepath.Join(directory, relative))
	if err != nil {
		return nil
	}
	var shown []fs.DirEntry
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil && !w.hides(directory, filepath.Join(place, entry.Name())) {
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
