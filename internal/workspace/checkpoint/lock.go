package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// The locks of a repository, by flock(2). They hold between servers that share the folder, and end with the process that has them.
const (
	// A checkpoint holds lockFile shared, and a pruning that removes objects holds it exclusively. git-fast-import relies on every object that it finds, even
	// on one that no ref holds any more. Without the lock, a pruning could remove such an object before the new ref holds it, and the checkpoint would be broken.
	lockFile = "signoff-lock"
	// The server that merges packs holds mergeFile.
	mergeFile = "signoff-gather"
)

// use makes the repository if there is none. Nobody removes the repository or an object of it until release.
func (r *Repository) use(ctx context.Context) (release func(), err error) {
	for {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err := r.make(); err != nil {
			return nil, err
		}
		file, err := r.openLock(lockFile)
		if errors.Is(err, fs.ErrNotExist) {
			continue // the repository was removed meanwhile
		}
		if err != nil {
			return nil, err
		}
		if err := wait(ctx, file); err != nil {
			file.Close()
			return nil, err
		}
		if r.isThere(file) {
			return func() { file.Close() }, nil
		}
		file.Close()
	}
}

// wait waits for a shared lock. If ctx ends first, the goroutine still waits; the caller closes the file, so the lock ends as soon as it comes.
func wait(ctx context.Context, file *os.File) error {
	fd := int(file.Fd())
	err := unix.Flock(fd, unix.LOCK_SH|unix.LOCK_NB)
	if !errors.Is(err, unix.EWOULDBLOCK) {
		return err
	}
	locked := make(chan error, 1)
	go func() { locked <- unix.Flock(fd, unix.LOCK_SH) }()
	select {
	case err := <-locked:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// tryLock takes an exclusive lock, unless somebody else has the lock.
func (r *Repository) tryLock(name string) (release func(), locked bool, err error) {
	file, err := r.openLock(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil // the repository was removed meanwhile
	}
	if err != nil {
		return nil, false, err
	}
	err = unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == nil && r.isThere(file) {
		return func() { file.Close() }, true, nil
	}
	file.Close()
	if errors.Is(err, unix.EWOULDBLOCK) {
		err = nil
	}
	return nil, false, err
}

func (r *Repository) openLock(name string) (*os.File, error) {
	file, err := os.OpenFile(filepath.Join(r.folder, name), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("checkpoint: locking the repository: %w", err)
	}
	return file, nil
}

// isThere reports whether a file still has its name: a repository that was removed takes its locks along.
func (r *Repository) isThere(file *os.File) bool {
	opened, err := file.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(filepath.Join(r.folder, filepath.Base(file.Name())))
	return err == nil && os.SameFile(opened, there)
}
