package sessions

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"signoff/internal/domain"
)

// Workspace is the folder below which every execution works.
type Workspace struct {
	root string // absolute, symlinks resolved
}

// NewWorkspace returns the workspace below root, which must be an existing folder.
func NewWorkspace(root string) (*Workspace, error) {
	resolved, err := resolve(root)
	if err != nil {
		return nil, domain.Errorf(domain.CodeInvalid, "The workspace root %s is not a folder that can be used.", root).With(err)
	}
	return &Workspace{root: resolved}, nil
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
	if resolved != w.root && !strings.HasPrefix(resolved, strings.TrimSuffix(w.root, "/")+"/") {
		// The same words as for a folder that does not exist: an answer must not tell what lies outside.
		return "", domain.Invalid("/workingDirectory", "This folder does not exist inside the workspace.")
	}
	return resolved, nil
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

// openFile opens a regular file below directory for reading. [os.Root] holds the boundary against `..` and symlinks
// also while somebody swaps them; devices and pipes are refused here, since reading them could block for ever.
func openFile(directory, path string) (fs.File, error) {
	if resolved, err := filepath.EvalSymlinks(directory); err != nil || resolved != directory {
		return nil, domain.Errorf(domain.CodePathOutsideWorkspace, "The working directory is gone or was replaced.")
	}
	relative := path
	if filepath.IsAbs(path) {
		inside, err := filepath.Rel(directory, path)
		if err != nil {
			return nil, outside(path)
		}
		relative = inside
	}
	if !filepath.IsLocal(relative) {
		return nil, outside(path)
	}
	root, err := os.OpenRoot(directory)
	if err != nil {
		return nil, domain.Errorf(domain.CodePathOutsideWorkspace, "The working directory cannot be opened.").With(err)
	}
	defer root.Close()
	file, err := root.OpenFile(relative, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, opening(path, err)
	}
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		file.Close()
		return nil, domain.Errorf(domain.CodeToolFailed, "%s is not a regular file.", path)
	}
	return file, nil
}

func outside(path string) error {
	return domain.Errorf(domain.CodePathOutsideWorkspace, "%s is outside the working directory.", path)
}

func opening(path string, err error) error {
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
