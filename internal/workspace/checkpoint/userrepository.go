package checkpoint

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
)

// UserRepository is where the user's own repository stands, which no checkpoint covers. It is read to tell what a command has moved there, and never
// written.
type UserRepository struct {
	Head     string            // the content of HEAD: "ref: refs/heads/main", or a commit; empty: there is no repository
	Branches map[string]string // refs and the commits that they name
	Index    string            // a hash of the index; empty: it has none, or one of more than 64 MiB
}

// Moved is how the user's repository differs between two moments.
type Moved struct {
	HeadFrom, HeadTo string   // empty: HEAD is as it was
	Branches         []string // refs that are new, gone, or elsewhere, sorted
	Index            bool
}

const (
	maxRefFiles   = 10_000
	maxRefBytes   = 4 << 10
	maxPackedRefs = 16 << 20
	maxIndexBytes = 64 << 20
)

// readUserRepository reads the repository of a workspace. A .git that is a file, as in a linked work tree, names a folder elsewhere, which is not read: then,
// as where there is none, the answer is the zero value.
func readUserRepository(root *os.Root) UserRepository {
	head, err := readBelow(root, ".git/HEAD", maxRefBytes)
	if err != nil {
		return UserRepository{}
	}
	state := UserRepository{Head: strings.TrimSpace(string(head)), Branches: map[string]string{}}
	state.readPacked(root)
	state.readLoose(root, ".git/refs")
	if content, err := readBelow(root, ".git/index", maxIndexBytes); err == nil {
		state.Index = ObjectOf(content)
	}
	return state
}

// readPacked reads lines of "COMMIT REF".
func (u UserRepository) readPacked(root *os.Root) {
	content, err := readBelow(root, ".git/packed-refs", maxPackedRefs)
	if err != nil {
		return
	}
	scanner := bufio.NewScanner(strings.NewReader(string(content)))
	for scanner.Scan() {
		commit, name, isRef := strings.Cut(scanner.Text(), " ")
		if isRef && strings.HasPrefix(name, "refs/") && len(u.Branches) < maxRefFiles {
			u.Branches[name] = commit
		}
	}
}

// readLoose reads the refs that have a file each. They count more than the packed ones.
func (u UserRepository) readLoose(root *os.Root, folder string) {
	opened, err := root.Open(folder)
	if err != nil {
		return
	}
	defer opened.Close()
	entries, _ := opened.ReadDir(maxRefFiles)
	for _, entry := range entries {
		name := path.Join(folder, entry.Name())
		switch {
		case len(u.Branches) >= maxRefFiles:
			return
		case entry.IsDir():
			u.readLoose(root, name)
		case entry.Type().IsRegular():
			if content, err := readBelow(root, name, maxRefBytes); err == nil {
				u.Branches[strings.TrimPrefix(name, ".git/")] = strings.TrimSpace(string(content))
			}
		}
	}
}

var errTooLong = errors.New("checkpoint: the file is too long")

// readBelow reads a regular file of at most limit bytes.
func readBelow(root *os.Root, name string, limit int64) ([]byte, error) {
	file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(err, fs.ErrInvalid)
	}
	content, err := io.ReadAll(io.LimitReader(file, limit+1))
	if int64(len(content)) > limit {
		return nil, errTooLong
	}
	return content, err
}

// movedTo compares two moments; nil: nothing has moved.
func (u UserRepository) movedTo(now UserRepository) *Moved {
	moved := Moved{Index: u.Index != now.Index}
	if u.Head != now.Head {
		moved.HeadFrom, moved.HeadTo = u.Head, now.Head
	}
	for name := range u.Branches {
		if u.Branches[name] != now.Branches[name] {
			moved.Branches = append(moved.Branches, name)
		}
	}
	for name := range now.Branches {
		if _, was := u.Branches[name]; !was {
			moved.Branches = append(moved.Branches, name)
		}
	}
	slices.Sort(moved.Branches)
	if moved.HeadFrom == moved.HeadTo && len(moved.Branches) == 0 && !moved.Index {
		return nil
	}
	return &moved
}
