package folders

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"signoff/internal/domain"
)

// Folders makes, removes and finds the own folders of executions. Several goroutines may call its methods at once.
type Folders struct {
	base  string
	git   Git    // nil: there is none
	noGit string // why there is no git

	homeInside string // the path of [Command.Home] as git sees it
	hidden     []string
	bounds     CopyBounds

	mu     sync.Mutex
	making map[string]bool // names in the base that this process makes or removes
}

// Config is the configuration of own folders.
type Config struct {
	Base       string // the folder of all own folders; Open makes it if it is missing
	Git        Git
	HomeInside string // the path of [Command.Home] as git sees it
	NoGit      string // why there is no git, and so no clones; empty: there is git

	Hidden []string   // absolute paths that a copy leaves out
	Bounds CopyBounds // of copies
}

// Open opens the base.
func Open(config Config) (*Folders, error) {
	absolute, err := filepath.Abs(config.Base)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(absolute, 0o700); err != nil {
		return nil, err
	}
	real, err := filepath.EvalSymlinks(absolute)
	if err != nil {
		return nil, err
	}
	return &Folders{base: real, git: config.Git, noGit: config.NoGit, homeInside: config.HomeInside, hidden: config.Hidden, bounds: config.Bounds, making: map[string]bool{}}, nil
}

// Base returns the folder of all own folders, absolute and without links.
func (f *Folders) Base() string { return f.base }

// Directory returns the working directory of an execution with an own folder.
func (f *Folders) Directory(id domain.ExecutionID, own domain.OwnFolder) string {
	return filepath.Join(f.base, string(id), within(own))
}

// Clone returns the clone in which an execution works; nil: it works in none.
func (f *Folders) Clone(id domain.ExecutionID, own domain.OwnFolder) *domain.Clone {
	if own.Repository == nil {
		return nil
	}
	return &domain.Clone{Folder: filepath.Join(f.base, string(id)), ObjectStores: own.Repository.Objects}
}

const (
	makingPrefix  = ".making-"
	removedPrefix = ".removed-"
)

// Make makes the own folder of an execution, unless the folder is there. After the first turn it does not make a missing folder again.
func (f *Folders) Make(ctx context.Context, execution domain.Execution) error {
	own := execution.Request.OwnFolder
	if own == nil {
		return nil
	}
	if filepath.Dir(filepath.Join(f.base, string(execution.ID))) != f.base {
		return domain.Errorf(domain.CodeInternal, "%q is no id of an execution.", execution.ID)
	}
	root, err := os.OpenRoot(f.base)
	if err != nil {
		return notMade(err)
	}
	defer root.Close()
	name := string(execution.ID)
	switch _, err := root.Lstat(name); {
	case err == nil:
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		return notMade(err)
	case execution.Turn > 0:
		return domain.Errorf(domain.CodeEnvironmentUnavailable,
			"The own folder of this execution is not on this server, with what the execution has done in it: %s", filepath.Join(f.base, name))
	}
	making := f.claim(makingPrefix, name)
	defer f.release(making)
	err = root.Mkdir(making, 0o700)
	if err == nil {
		err = f.fill(ctx, filepath.Join(f.base, making), execution.ID, *own)
	}
	if err == nil {
		err = root.Rename(making, name)
	}
	if err == nil {
		return nil
	}
	return notMade(errors.Join(err, removeAll(root, making)))
}

// fill gives a new folder its content.
func (f *Folders) fill(ctx context.Context, folder string, id domain.ExecutionID, own domain.OwnFolder) error {
	switch own.Mode {
	case domain.WorkspaceNew:
		return nil
	case domain.WorkspaceWorktree:
		return f.cloneInto(ctx, folder, id, own)
	case domain.WorkspaceCopy:
		return f.copyInto(ctx, folder, own)
	default:
		return domain.Errorf(domain.CodeInvalid, "This server makes no own folder of the mode %s.", own.Mode)
	}
}

// claim returns a new name, which [Folders.Sweep] of this process leaves alone until release.
func (f *Folders) claim(prefix, name string) string {
	claimed := prefix + name + "-" + rand.Text()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.making[claimed] = true
	return claimed
}

func (f *Folders) release(claimed string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.making, claimed)
}

func (f *Folders) claimed(name string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.making[name]
}

// notMade adds a code to an error that has none.
func notMade(err error) error {
	var coded *domain.Error
	if errors.As(err, &coded) {
		return err
	}
	return domain.Errorf(domain.CodeEnvironmentUnavailable, "The own folder of the execution cannot be made.").With(err)
}
