package sandbox

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// sweep puts away what the command has left in watched places, and returns what became of each. It is the supervisor's
// last work, when nothing of the command lives, and is done also when the server is dead.
func (p plan) sweep() []string {
	if !p.Method.walled() {
		return nil
	}
	here, err := identify(p.Dir)
	if err != nil || here != p.Folder {
		return nil // nothing that the command could have left anything in
	}
	folder, err := os.OpenRoot(p.Dir) // another command may work here right now, and make links that lead out
	if err != nil {
		return []string{"the working directory cannot be looked through any more: " + err.Error()}
	}
	defer folder.Close()
	b := broom{folder}
	var all []string
	for _, one := range p.Watched {
		if done := b.sweep(one); done != "" {
			all = append(all, done)
		}
	}
	return all
}

// broom sweeps one workspace.
type broom struct{ folder *os.Root }

func (b broom) sweep(one place) string {
	if one.Link != "" {
		return b.restore(one)
	}
	path, info, err := b.find(one.Path)
	if isAbsent(err) || err == nil && b.harmless(path, info) {
		return ""
	}
	told := b.putAway(path)
	if path == gitConfig && err == nil && info.Mode().IsRegular() {
		return cmp.Or(b.replaceConfig(told), told)
	}
	return told
}

// find looks path up. A link on the way is what is found: it was not there before, wherever it leads.
func (b broom) find(path string) (string, fs.FileInfo, error) {
	for _, part := range parents(path) {
		info, err := b.folder.Lstat(part)
		if err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return part, info, nil
		}
	}
	info, err := b.folder.Lstat(path)
	return path, info, err
}

// harmless tells whether what has appeared may stay: git init and git clone are ordinary work.
func (b broom) harmless(path string, info fs.FileInfo) bool {
	switch path {
	case ".git":
		return info.IsDir()
	case gitConfig:
		text, whole := b.read(path)
		return whole && isAlone(info) && plainConfig(text) == text
	case ".git/hooks":
		return info.IsDir() && b.onlySamples(path)
	}
	return false
}

const gitConfig = ".git/config"

// isAlone tells whether a file has this name only. By a second one it could be written to later, when this one is guarded.
func isAlone(info fs.FileInfo) bool {
	stat, known := info.Sys().(*syscall.Stat_t)
	return known && info.Mode().IsRegular() && stat.Nlink == 1
}

// read returns the beginning of a file, and whether that is all of it. It does not wait for somebody at the other end of
// what turns out to be a pipe.
func (b broom) read(path string) (text string, whole bool) {
	file, err := b.folder.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", false
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return "", false
	}
	all, err := io.ReadAll(io.LimitReader(file, maxConfig+1))
	return string(all), err == nil && len(all) <= maxConfig
}

// onlySamples tells whether a folder of hooks holds nothing but the examples that git puts there itself.
func (b broom) onlySamples(path string) bool {
	folder, err := b.folder.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_DIRECTORY, 0)
	if err != nil {
		return false
	}
	defer folder.Close()
	names, err := folder.Readdirnames(maxSamples + 1)
	for _, name := range names {
		if !strings.HasSuffix(name, ".sample") {
			return false
		}
	}
	return len(names) <= maxSamples && (err == nil || errors.Is(err, io.EOF))
}

const maxSamples = 100 // git brings about fifteen

// putAway renames: what was written may be somebody's work. A command can have taken the right to rename from its own
// folder, so that is taken back first.
func (b broom) putAway(path string) string {
	target := path + ".planted-" + strings.ToLower(rand.Text()[:8])
	err := b.folder.Rename(path, target)
	if os.IsPermission(err) {
		b.unlock(path)
		err = b.folder.Rename(path, target)
	}
	switch {
	case isAbsent(err):
		return ""
	case err != nil:
		return fmt.Sprintf("%s is not to be trusted, and cannot be put away", path)
	}
	return fmt.Sprintf("%s is now %s", path, filepath.Base(target))
}

// unlock gives the owner of the folders above path his rights back.
func (b broom) unlock(path string) {
	for _, parent := range append([]string{"."}, parents(path)...) {
		if info, err := b.folder.Stat(parent); err == nil {
			_ = b.folder.Chmod(parent, info.Mode().Perm()|0o700)
		}
	}
}

// restore puts a link back that leads to a protected file.
func (b broom) restore(one place) string {
	target, err := b.folder.Readlink(one.Path)
	if err == nil && target == one.Link {
		return ""
	}
	told := b.putAway(one.Path)
	b.unlock(one.Path)
	if err := b.folder.Symlink(one.Link, one.Path); err != nil {
		return fmt.Sprintf("%s was a link, and cannot be made again", one.Path)
	}
	return cmp.Or(told, fmt.Sprintf("%s is a link again", one.Path))
}

// replaceConfig writes what is harmless of a config that was put away: without any, the repository would be none.
func (b broom) replaceConfig(told string) string {
	_, name, moved := strings.Cut(told, " is now ")
	if !moved {
		return ""
	}
	text, _ := b.read(filepath.Join(".git", name))
	fresh, err := b.folder.OpenFile(gitConfig, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return ""
	}
	defer fresh.Close()
	_, _ = io.WriteString(fresh, plainConfig(text))
	return told + ", without what could run programs in its place"
}
