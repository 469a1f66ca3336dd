package workspace

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
)

const leftoverPrefix = ".signoff-"

// StagedName is a name that nobody else has, for a file on its way to its place. Whoever dies on that way leaves a leftover.
func StagedName() string { return leftoverPrefix + rand.Text() }

// StagedNameOf is such a name for the path of a change that a token names. It is the same each time, so that whoever goes on with the change after a death finds
// what is left of it. part tells the names of one path apart.
func StagedNameOf(token, path, part string) string {
	sum := sha256.Sum256([]byte(path))
	return leftoverPrefix + token + "-" + hex.EncodeToString(sum[:8]) + part
}

// errLinked is what a file with a second name is refused for.
var errLinked = errors.New("workspace: the file has a second name")

// removeLeftoversAt removes leftovers beside the file that a path leads to.
func (w *Workspace) removeLeftoversAt(root *os.Root, directory, relative string) {
	place, err := filepath.EvalSymlinks(filepath.Join(directory, relative))
	if err != nil {
		return
	}
	inside, err := filepath.Rel(directory, place)
	if err != nil {
		return
	}
	folder, err := root.OpenRoot(filepath.Dir(inside))
	if err != nil {
		return
	}
	defer folder.Close()
	w.removeLeftovers(folder, filepath.Base(place))
}

// removeLeftovers removes the second names that a change has given a file and could not take away, because the server was killed in its
// middle. Nobody could read or change the file otherwise until a person found out why. It waits for the change that is
// on its way: the names of that are no leftovers.
func (w *Workspace) removeLeftovers(folder *os.Root, name string) {
	w.swap.Lock()
	defer w.swap.Unlock()
	there, err := folder.Lstat(name)
	if err != nil || !linked(there) {
		return
	}
	for _, other := range namesIn(folder) {
		if !strings.HasPrefix(other, leftoverPrefix) || other == name {
			continue
		}
		if info, err := folder.Lstat(other); err == nil && os.SameFile(info, there) {
			_ = folder.Remove(other)
		}
	}
}

func namesIn(folder *os.Root) []string {
	opened, err := folder.Open(".")
	if err != nil {
		return nil
	}
	defer opened.Close()
	names, err := opened.Readdirnames(MaxEntries)
	if err != nil {
		return nil
	}
	return names
}
