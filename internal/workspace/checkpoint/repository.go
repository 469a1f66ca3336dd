package checkpoint

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Repository keeps the contents that one workspace has had.
type Repository struct {
	folder string
	runner Runner
	room   func(*Repository) error // refuses to let it grow; nil: nobody does
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
`

// OpenRepository opens the repository in a folder, and makes it where there is none. Its parents exist. The folder is the server's own: mode 0700.
func OpenRepository(runner Runner, folder string) (*Repository, error) {
	r := &Repository{folder: folder, runner: runner}
	for _, name := range []string{"", "objects", "refs"} {
		if err := os.Mkdir(filepath.Join(folder, name), 0o700); err != nil && !errors.Is(err, os.ErrExist) {
			return nil, fmt.Errorf("checkpoint: making the repository: %w", err)
		}
	}
	for name, content := range map[string]string{"config": configuration, "HEAD": "ref: refs/heads/none\n"} {
		if err := write(filepath.Join(folder, name), content); err != nil {
			return nil, fmt.Errorf("checkpoint: making the repository: %w", err)
		}
	}
	return r, nil
}

// write replaces a file by one with the content, unless it has it.
func write(path, content string) error {
	if there, err := os.ReadFile(path); err == nil && string(there) == content {
		return nil
	}
	return replace(path, []byte(content))
}

// replace gives a file another content, or leaves it as it is.
func replace(path string, content []byte) error {
	file, err := os.CreateTemp(filepath.Dir(path), ".new-*")
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
