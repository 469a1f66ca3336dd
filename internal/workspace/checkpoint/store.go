package checkpoint

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Store has the repositories of all workspaces, each in a folder of its own.
type Store struct {
	folder string
	runner Runner
	bounds Bounds
	free   func(folder string) (free, size int64, err error)
}

// Bounds are how much room checkpoints may take.
type Bounds struct {
	Workspace int64 // bytes of one repository
	All       int64 // bytes of all together
	Reserve   int64 // bytes that stay free on the disk, or a twentieth of it, whichever is less: the events of executions may lie on it
}

// DefaultBounds are those of a server whose operator says nothing.
var DefaultBounds = Bounds{Workspace: 8 << 30, All: 32 << 30, Reserve: 1 << 30}

// NewStore returns the store below a folder of the server's own, which it makes with mode 0700.
func NewStore(runner Runner, folder string, bounds Bounds) (*Store, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("checkpoint: making the folder of checkpoints: %w", err)
	}
	return &Store{folder: folder, runner: runner, bounds: bounds, free: freeOn}, nil
}

func freeOn(folder string) (free, size int64, err error) {
	var stat unix.Statfs_t
	if err := unix.Statfs(folder, &stat); err != nil {
		return 0, 0, err
	}
	return int64(stat.Bavail) * int64(stat.Bsize), int64(stat.Blocks) * int64(stat.Bsize), nil //nolint:unconvert // types differ between systems
}

// workspaceFile names the workspace of a repository, for people.
const workspaceFile = "signoff-workspace"

// Repository opens the repository of a workspace, which is absolute and has no links in it.
func (s *Store) Repository(workspace string) (*Repository, error) {
	sum := sha256.Sum256([]byte(workspace))
	folder := filepath.Join(s.folder, hex.EncodeToString(sum[:8]))
	r, err := OpenRepository(s.runner, folder)
	if err != nil {
		return nil, err
	}
	r.room = s.room
	return r, write(filepath.Join(folder, workspaceFile), workspace+"\n")
}

// Errors of a checkpoint for which there is no room.
var (
	ErrDiskFull      = errors.New("the disk of the checkpoints is nearly full")
	ErrWorkspaceFull = errors.New("the checkpoints of this workspace have all the room that they may take")
	ErrStoreFull     = errors.New("the checkpoints of all workspaces have all the room that they may take")
)

// room reports whether a repository may grow.
func (s *Store) room(r *Repository) error {
	free, size, err := s.free(s.folder)
	if err != nil {
		return fmt.Errorf("checkpoint: looking at the disk: %w", err)
	}
	if free < min(s.bounds.Reserve, size/20) {
		return ErrDiskFull
	}
	usage, err := s.Usage()
	if err != nil {
		return err
	}
	all := int64(0)
	for _, one := range usage {
		all += one.Bytes
		if one.Folder == r.folder && one.Bytes >= s.bounds.Workspace {
			return ErrWorkspaceFull
		}
	}
	if all >= s.bounds.All {
		return ErrStoreFull
	}
	return nil
}

// Usage is the room that one repository takes.
type Usage struct {
	Folder    string
	Workspace string
	Bytes     int64
}

// Usage lists the repositories.
func (s *Store) Usage() ([]Usage, error) {
	entries, err := os.ReadDir(s.folder)
	if err != nil {
		return nil, fmt.Errorf("checkpoint: listing the repositories: %w", err)
	}
	var all []Usage
	for _, entry := range entries {
		folder := filepath.Join(s.folder, entry.Name())
		workspace, err := os.ReadFile(filepath.Join(folder, workspaceFile))
		if err != nil {
			continue // no repository, or one that is just being made
		}
		one := Usage{Folder: folder, Workspace: strings.TrimSuffix(string(workspace), "\n")}
		if one.Bytes, err = bytesBelow(folder); err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

// bytesBelow sums the sizes of files on disk. Those that go away meanwhile count nothing.
func bytesBelow(folder string) (sum int64, err error) {
	err = filepath.WalkDir(folder, func(_ string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil {
			sum += info.Size()
		}
		return err
	})
	return sum, err
}
