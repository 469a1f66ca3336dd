package checkpoint

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
)

// Repository keeps the contents that one workspace has had.
type Repository struct {
	folder    string
	runner    Runner
	workspace string // empty: unknown
	store     *Store // bounds the size of the repository; nil: nothing does

	cannotMerge atomic.Bool
}

// configuration is what git reads of its repository. The format with SHA-256 is there since git 2.29. Everything that could run a program, or change a
// byte or a name, is off; gc waits for the server's own pruning, which knows who is writing.
const configuration = `[core]
	repositoryFormatVersion = 1
	bare = true
	fileMode = true
	ignoreCase = false
	precomposeUnicode = false
	protectHFS = false
	protectNTFS = false
	logAllRefUpdates = false
	hooksPath = /dev/null
	attributesFile = /dev/null
	excludesFile = /dev/null
	fsmonitor = false
	fsync = all
	bigFileThreshold = 16m
[extensions]
	objectFormat = sha256
[gc]
	auto = 0
[maintenance]
	auto = false
[fastimport]
	unpackLimit = 20
[pack]
	threads = 1
	windowMemory = 64m
[repack]
	writeBitmaps = false
`

// OpenRepository opens the repository in a folder, and makes it where there is none. Its parents exist. The folder is the server's own: mode 0700.
func OpenRepository(runner Runner, folder string) (*Repository, error) {
	r := &Repository{folder: folder, runner: runner}
	return r, r.make()
}

// make makes the repository, or the files that it lacks. It begins again if somebody removes the repository at the same time.
func (r *Repository) make() error {
	var err error
	for range 10 {
		if err = r.makeOnce(); !errors.Is(err, os.ErrNotExist) {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("checkpoint: making the repository: %w", err)
	}
	return nil
}

func (r *Repository) makeOnce() error {
	for _, name := range []string{"", "objects", "refs"} {
		if err := os.Mkdir(filepath.Join(r.folder, name), 0o700); err != nil && !errors.Is(err, os.ErrExist) {
			return err
		}
	}
	files := map[string]string{"config": configuration, "HEAD": "ref: refs/heads/none\n"}
	if r.workspace != "" {
		files[workspaceFile] = r.workspace + "\n"
	}
	for name, content := range files {
		if err := write(filepath.Join(r.folder, name), content); err != nil {
			return err
		}
	}
	return nil
}

// room reports whether the repository may grow.
func (r *Repository) room() error {
	if r.store == nil {
		return nil
	}
	return r.store.room(r)
}

// grew tells the store how many bytes a checkpoint has written.
func (r *Repository) grew(bytes int64) {
	if r.store != nil {
		r.store.grew(r, bytes)
	}
}

// write replaces a file by one with the content, unless it has it.
func write(path, content string) error {
	if there, err := os.ReadFile(path); err == nil && string(there) == content {
		return nil
	}
	return replace(path, []byte(content))
}

// stagedFiles matches the names of files that replace others once they are complete.
const stagedFiles = ".new-*"

// replace gives a file another content, or leaves it as it is.
func replace(path string, content []byte) error {
	return replaceFrom(filepath.Dir(path), path, content)
}

// unlockRef removes the lock of a ref that a killed git has left: git would refuse the ref for ever. A series has one driver, and everything that an earlier
// one had started is dead, so nobody holds the lock.
func (r *Repository) unlockRef(ref string) error {
	if err := os.Remove(filepath.Join(r.folder, ref+".lock")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("checkpoint: removing a lock that was left: %w", err)
	}
	return nil
}

// setRef makes a ref name a commit, as git itself would. The caller holds the lock of the repository.
func (r *Repository) setRef(ref, commit string) error {
	path := filepath.Join(r.folder, ref)
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = replaceFrom(r.folder, path, []byte(commit+"\n"))
	}
	if err != nil {
		return fmt.Errorf("checkpoint: writing the ref of a series: %w", err)
	}
	return nil
}

// replaceFrom is replace with a temporary file in another folder of the same file system.
func replaceFrom(folder, path string, content []byte) error {
	file, err := os.CreateTemp(folder, stagedFiles)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	err = errors.Join(err, file.Sync(), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		_ = os.Remove(file.Name())
	}
	return err
}
