package folders

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"signoff/internal/domain"
)

// CopyBounds bound the copy of one folder.
type CopyBounds struct {
	Files int   // files, links and folders
	Bytes int64 // of all files
}

// DefaultCopyBounds are the bounds of every server.
var DefaultCopyBounds = CopyBounds{Files: 200_000, Bytes: 10 << 30}

// copyInto copies a folder into a new one.
func (f *Folders) copyInto(ctx context.Context, folder string, own domain.OwnFolder) error {
	if real, err := filepath.EvalSymlinks(own.From); err != nil || real != own.From {
		return domain.Errorf(domain.CodeEnvironmentUnavailable, "The folder %s is gone or was replaced since the execution was created.", own.From).With(err)
	}
	source, err := os.OpenRoot(own.From)
	if err != nil {
		return err
	}
	defer source.Close()
	target, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer target.Close()
	top, err := source.Stat(".")
	if err != nil {
		return err
	}
	c := &copying{ctx: ctx, bounds: f.bounds, own: own, hidden: append(slices.Clone(f.hidden), own.Without...), device: deviceOf(top), source: source, target: target}
	if err := fs.WalkDir(source.FS(), ".", c.take); err != nil {
		return err
	}
	return errors.Join(c.closeFolders(), namesNoWorkTree(target))
}

// copying makes one copy.
type copying struct {
	ctx            context.Context
	bounds         CopyBounds
	own            domain.OwnFolder
	hidden         []string
	device         uint64
	source, target *os.Root
	folders        []copiedFolder
	files          int
	bytes          int64
}

// copiedFolder is a folder that gets its mode and its time only when its content is complete: a read-only folder could not be filled.
type copiedFolder struct {
	path string
	info fs.FileInfo
}

// take copies one entry. It leaves out paths that are hidden from executions, paths on another file system, and everything but files, links and folders. It also
// leaves out a .git that only names a repository: git in the copy would write the index and the branches of the user's work tree.
func (c *copying) take(path string, entry fs.DirEntry, err error) error {
	if err != nil {
		return c.failed(path, err)
	}
	if err := c.ctx.Err(); err != nil {
		return context.Cause(c.ctx)
	}
	if path == "." {
		return nil
	}
	info, err := c.source.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it was removed during the copy
	}
	if err != nil {
		return c.failed(path, err)
	}
	if c.leavesOut(path, info) {
		if info.IsDir() {
			return fs.SkipDir
		}
		return nil
	}
	if c.files++; c.files > c.bounds.Files {
		return domain.Errorf(domain.CodeEnvironmentUnavailable, "%s has more than %d files and folders, so it is not copied.", c.own.From, c.bounds.Files)
	}
	switch {
	case info.IsDir():
		c.folders = append(c.folders, copiedFolder{path, info})
		err = c.target.Mkdir(path, 0o700)
	case info.Mode()&fs.ModeSymlink != 0:
		var to string
		if to, err = c.source.Readlink(path); err == nil {
			err = c.target.Symlink(to, path)
		}
	default:
		err = c.file(path, info)
	}
	return c.failed(path, err)
}

func (c *copying) leavesOut(path string, info fs.FileInfo) bool {
	regular := info.Mode().IsRegular()
	return slices.Contains(c.hidden, filepath.Join(c.own.From, path)) || deviceOf(info) != c.device ||
		!regular && !info.IsDir() && info.Mode()&fs.ModeSymlink == 0 ||
		strings.EqualFold(filepath.Base(path), ".git") && !info.IsDir()
}

// file copies a regular file. It shares the bytes if the file system can do so.
func (c *copying) file(path string, info fs.FileInfo) error {
	if c.bytes += info.Size(); c.bytes > c.bounds.Bytes {
		return domain.Errorf(domain.CodeEnvironmentUnavailable, "%s has more than %d MiB, so it is not copied.", c.own.From, c.bounds.Bytes>>20)
	}
	from, err := c.source.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer from.Close()
	if opened, err := from.Stat(); err != nil || !os.SameFile(opened, info) {
		return errors.Join(err, fs.ErrInvalid)
	}
	to, err := c.target.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if err = share(to, from); err != nil {
		if err = roomFor(to, info.Size()); err == nil {
			_, err = io.CopyN(to, from, info.Size())
		}
		if errors.Is(err, io.EOF) {
			err = nil // the file became shorter during the copy
		}
	}
	return errors.Join(err, to.Chmod(info.Mode().Perm()), to.Close(), c.target.Chtimes(path, info.ModTime(), info.ModTime()))
}

func (c *copying) closeFolders() error {
	var failures []error
	for _, folder := range slices.Backward(c.folders) {
		failures = append(failures, c.target.Chtimes(folder.path, folder.info.ModTime(), folder.info.ModTime()), c.target.Chmod(folder.path, folder.info.Mode().Perm()))
	}
	return errors.Join(failures...)
}

func (c *copying) failed(path string, err error) error {
	var coded *domain.Error
	if err == nil || errors.As(err, &coded) || c.ctx.Err() != nil {
		return err
	}
	return domain.Errorf(domain.CodeEnvironmentUnavailable, "%s cannot be copied.", filepath.Join(c.own.From, path)).With(err)
}

var workTree = regexp.MustCompile(`(?im)^\s*worktree\s*=`)

// namesNoWorkTree refuses a copy with a repository whose configuration names its work tree: git in the copy would change the user's work tree.
func namesNoWorkTree(root *os.Root) error {
	for _, name := range []string{".git/config", ".git/config.worktree"} {
		content, err := root.ReadFile(name)
		if err == nil && workTree.Match(content) {
			return domain.Errorf(domain.CodeEnvironmentUnavailable, "The repository of this folder names its work tree in its configuration, so a copy of it would change the original.")
		}
	}
	return nil
}

// deviceOf returns the id of the file system on which a file lies.
func deviceOf(info fs.FileInfo) uint64 {
	if stat, isUnix := info.Sys().(*syscall.Stat_t); isUnix {
		return uint64(stat.Dev) //nolint:unconvert // Dev is smaller elsewhere
	}
	return 0
}
