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
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Store has the repositories of all workspaces, each in a folder of its own.
type Store struct {
	folder string
	runner Runner
	bounds Bounds
	free   func(folder string) (free, size int64, err error)
	now    func() time.Time

	counting  sync.Mutex
	counted   map[string]int64 // bytes by repository; nil: not counted
	countedAt time.Time
	grown     bool // grew has added bytes since the count
}

// Bounds limit the size of the repositories.
type Bounds struct {
	Workspace int64 // bytes of one repository
	All       int64 // bytes of all repositories together
	Reserve   int64 // bytes that stay free on the disk, or a twentieth of the disk if that is less: the events of executions may lie on the same disk
}

// DefaultBounds are the bounds of a server without a configuration of them.
var DefaultBounds = Bounds{Workspace: 8 << 30, All: 32 << 30, Reserve: 1 << 30}

// NewStore returns the store below a folder of the server's own, which it makes with mode 0700.
func NewStore(runner Runner, folder string, bounds Bounds) (*Store, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("checkpoint: making the folder of checkpoints: %w", err)
	}
	return &Store{folder: folder, runner: runner, bounds: bounds, free: freeOn, now: time.Now}, nil
}

func freeOn(folder string) (free, size int64, err error) {
	var stat unix.Statfs_t
	if err := unix.Statfs(folder, &stat); err != nil {
		return 0, 0, err
	}
	return int64(stat.Bavail) * int64(stat.Bsize), int64(stat.Blocks) * int64(stat.Bsize), nil //nolint:unconvert // types differ between systems
}

// workspaceFile names the workspace of a repository, for people and for [Store.Usage].
const workspaceFile = "signoff-workspace"

// Repository opens the repository of a workspace, which is absolute and has no links in it.
func (s *Store) Repository(workspace string) (*Repository, error) {
	r := &Repository{folder: s.folderOf(workspace), runner: s.runner, workspace: workspace, store: s}
	return r, r.make()
}

func (s *Store) folderOf(workspace string) string {
	sum := sha256.Sum256([]byte(workspace))
	return filepath.Join(s.folder, hex.EncodeToString(sum[:8]))
}

// ErrNoRepository: the store has no repository of that workspace.
var ErrNoRepository = errors.New("checkpoint: there is no repository of this workspace")

// Existing opens the repository of a workspace, but does not make it.
func (s *Store) Existing(workspace string) (*Repository, error) {
	if _, err := os.Stat(filepath.Join(s.folderOf(workspace), workspaceFile)); err != nil {
		return nil, errors.Join(ErrNoRepository, err)
	}
	return s.Repository(workspace)
}

// ErrNoWorkspace: there is no folder under the path of the workspace any more.
var ErrNoWorkspace = errors.New("the folder is gone, or a link is in its place")

// Errors of a checkpoint for which there is no room.
var (
	ErrDiskFull      = errors.New("the disk of the checkpoints is nearly full")
	ErrWorkspaceFull = errors.New("the checkpoints of this workspace have all the room that they may take")
	ErrStoreFull     = errors.New("the checkpoints of all workspaces have all the room that they may take")
)

// recount is the interval between two counts of the files of all repositories. In between, a count misses the files that other servers write.
const recount = time.Minute

// room returns an error if a repository may not grow. It counts again before it refuses: since the last count it has added the sizes of contents, which are
// smaller once git has packed them.
func (s *Store) room(r *Repository) error {
	free, size, err := s.free(s.folder)
	if err != nil {
		return fmt.Errorf("checkpoint: looking at the disk: %w", err)
	}
	if free < min(s.bounds.Reserve, size/20) {
		return ErrDiskFull
	}
	s.counting.Lock()
	defer s.counting.Unlock()
	if now := s.now(); s.counted == nil || now.Sub(s.countedAt) >= recount || s.full(r) != nil && s.grown {
		if err := s.count(now); err != nil {
			return err
		}
	}
	return s.full(r)
}

func (s *Store) count(now time.Time) error {
	usage, err := s.Usage()
	if err != nil {
		return err
	}
	s.counted, s.countedAt, s.grown = map[string]int64{}, now, false
	for _, one := range usage {
		s.counted[one.Folder] = one.Bytes
	}
	return nil
}

// full returns an error if the last count leaves no room.
func (s *Store) full(r *Repository) error {
	all := int64(0)
	for _, bytes := range s.counted {
		all += bytes
	}
	switch {
	case s.counted[r.folder] >= s.bounds.Workspace:
		return ErrWorkspaceFull
	case all >= s.bounds.All:
		return ErrStoreFull
	default:
		return nil
	}
}

// grew adds bytes that were written to a repository to the count.
func (s *Store) grew(r *Repository, bytes int64) {
	s.counting.Lock()
	defer s.counting.Unlock()
	if s.counted != nil {
		s.counted[r.folder] += bytes
		s.grown = true
	}
}

// forget makes the next checkpoint count again.
func (s *Store) forget() {
	s.counting.Lock()
	defer s.counting.Unlock()
	s.counted = nil
}

// Usage is the size of one repository.
type Usage struct {
	Folder    string
	Workspace string
	Bytes     int64
}

// Usage lists the repositories with their sizes.
func (s *Store) Usage() ([]Usage, error) { return UsageIn(s.folder) }

// UsageIn lists the repositories of the store in a folder, which may not be there.
func UsageIn(folder string) ([]Usage, error) {
	entries, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("checkpoint: listing the repositories: %w", err)
	}
	var all []Usage
	for _, entry := range entries {
		repository := filepath.Join(folder, entry.Name())
		workspace, err := os.ReadFile(filepath.Join(repository, workspaceFile))
		if err != nil {
			continue // it is no repository, or a checkpoint makes it at this moment
		}
		one := Usage{Folder: repository, Workspace: strings.TrimSuffix(string(workspace), "\n")}
		if one.Bytes, err = bytesBelow(repository); err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

// bytesBelow sums the sizes of the files below a folder. Files that go away meanwhile do not count.
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
