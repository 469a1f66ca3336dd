package sessions

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"signoff/internal/domain"
)

// Workspace is the folder below which every execution works, but for what is hidden in it.
type Workspace struct {
	root   string   // absolute, symlinks resolved
	hidden []string // the same
}

// NewWorkspace returns the workspace below root, which must be an existing folder. Hidden files and folders, the
// server's own data for one, are out of the reach of executions also where they lie inside; they need not exist yet.
func NewWorkspace(root string, hidden ...string) (*Workspace, error) {
	resolved, err := resolve(root)
	if err != nil {
		return nil, domain.Errorf(domain.CodeInvalid, "The workspace root %s is not a folder that can be used.", root).With(err)
	}
	w := &Workspace{root: resolved}
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
	if slices.Contains(strings.Split(strings.TrimPrefix(resolved, w.root), "/"), ".git") {
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
	root, err := os.OpenRoot(directory)
	if err != nil {
		return nil, domain.Errorf(domain.CodePathOutsideWorkspace, "The working directory cannot be opened.").With(err)
	}
	defer root.Close()
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

// write replaces a file below directory, with the same boundary, by way of a temporary file beside it: whoever reads
// sees the old content or the new one. What is hidden, and what git runs, cannot be written, whatever links lead there.
func (w *Workspace) write(directory, path string, content []byte) error {
	relative, err := local(directory, path)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(directory)
	if err != nil {
		return domain.Errorf(domain.CodePathOutsideWorkspace, "The working directory cannot be opened.").With(err)
	}
	defer root.Close()
	folder, err := w.folder(root, directory, relative, path)
	if err != nil {
		return err
	}
	defer folder.Close()
	return replace(folder, filepath.Base(relative), path, content)
}

// folder opens the folder of a file that is to be written, and makes what is missing of it. It looks first where the part
// that exists really is; the rest is made below the very folder that was looked at, so a link that comes in later
// leads nowhere.
func (w *Workspace) folder(root *os.Root, directory, relative, path string) (*os.Root, error) {
	there, missing := filepath.Dir(relative), "."
	for there != "." {
		if _, err := root.Stat(there); err == nil {
			break
		}
		there, missing = filepath.Dir(there), filepath.Join(filepath.Base(there), missing)
	}
	existing, err := root.OpenRoot(there)
	if err != nil {
		return nil, notOpened(path, err)
	}
	defer existing.Close()
	place, err := filepath.EvalSymlinks(filepath.Join(directory, there))
	if err != nil || !w.writable(existing, directory, place, filepath.Join(missing, filepath.Base(relative))) {
		return nil, outside(path)
	}
	if err := existing.MkdirAll(missing, 0o777); err != nil {
		return nil, notOpened(path, err)
	}
	return existing.OpenRoot(missing)
}

// writable tells whether a file may be written at rest below an opened folder, of which place is the true name.
func (w *Workspace) writable(folder *os.Root, directory, place, rest string) bool {
	opened, err := folder.Stat(".")
	if err != nil {
		return false
	}
	if named, err := os.Stat(place); err != nil || !os.SameFile(opened, named) || !within(directory, place) {
		return false
	}
	target := filepath.Join(place, rest)
	return !w.hides(target) && !slices.Contains(strings.Split(strings.TrimPrefix(target, directory), "/"), ".git")
}

func replace(folder *os.Root, name, path string, content []byte) error {
	mode := fs.FileMode(0o666)
	if info, err := folder.Lstat(name); err == nil {
		if !info.Mode().IsRegular() {
			return domain.Errorf(domain.CodeToolFailed, "%s is not a regular file.", path)
		}
		mode = info.Mode().Perm()
	}
	draft := ".signoff-" + rand.Text()
	file, err := folder.OpenFile(draft, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return notOpened(path, err)
	}
	_, err = file.Write(content)
	if err = errors.Join(err, file.Close()); err == nil {
		err = folder.Rename(draft, name)
	}
	if err != nil {
		_ = folder.Remove(draft)
		return domain.Errorf(domain.CodeToolFailed, "%s cannot be written.", path).With(err)
	}
	return nil
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

// readable looks at the file that was opened, not at its name. The place that the name leads to now must be the very
// file that is open, so a symlink that is swapped in between gains nothing.
func (w *Workspace) readable(file *os.File, absolute, path string) error {
	opened, err := file.Stat()
	if err != nil || !opened.Mode().IsRegular() {
		return domain.Errorf(domain.CodeToolFailed, "%s is not a regular file.", path)
	}
	place, err := filepath.EvalSymlinks(absolute)
	if err != nil {
		return notOpened(path, err)
	}
	if there, err := os.Lstat(place); err != nil || !os.SameFile(opened, there) || w.hides(place) {
		return outside(path)
	}
	return nil
}

func outside(path string) error {
	return domain.Errorf(domain.CodePathOutsideWorkspace, "%s is outside the working directory.", path)
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
