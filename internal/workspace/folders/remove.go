package folders

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"signoff/internal/domain"
)

// Remove removes the own folder of an execution if there is one. Nobody may use the folder any more.
func (f *Folders) Remove(id domain.ExecutionID) error {
	if _, err := domain.ParseExecutionID(string(id)); err != nil {
		return err
	}
	root, err := os.OpenRoot(f.base)
	if err != nil {
		return err
	}
	defer root.Close()
	removed := f.claim(removedPrefix, string(id))
	defer f.release(removed)
	switch err := root.Rename(string(id), removed); {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	}
	return removeAll(root, removed)
}

// removeAll removes a folder below root. It restores the rights on each folder first: a command may have taken them away, and a server that is not root could
// not remove the folder.
func removeAll(root *os.Root, name string) error {
	err := root.RemoveAll(name)
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	_ = fs.WalkDir(root.FS(), filepath.ToSlash(name), func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			_ = root.Chmod(path, 0o700) // before the walk reads it
		}
		return nil
	})
	return root.RemoveAll(name)
}
