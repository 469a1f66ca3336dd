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

// quarantine moves away the files that the command has left in watched places of the folders that it could write, and returns a note for each. The supervisor
// does it last, when nothing of the command lives, also when the server is dead.
func (p plan) quarantine() []string {
	if !p.Method.isolates() {
		return nil
	}
	var all []string
	for _, one := range p.Watched {
		for _, note := range one.quarantine() {
			if one.Mount {
				note = "in " + one.Path + ", " + note
			}
			all = append(all, note)
		}
	}
	return all
}

func (w watchedFolder) quarantine() []string {
	here, err := identify(w.Path)
	if err != nil || here != w.Folder {
		return nil // nothing that the command could have left anything in
	}
	folder, err := os.OpenRoot(w.Path) // another command may work here right now, and make links that lead out
	if err != nil {
		return []string{"the folder cannot be looked through any more: " + err.Error()}
	}
	defer folder.Close()
	q := quarantine{folder}
	var all []string
	for _, one := range w.Places {
		if done := q.check(one); done != "" {
			all = append(all, done)
		}
	}
	return all
}

// quarantine checks the watched places of one folder.
type quarantine struct{ folder *os.Root }

func (q quarantine) check(one watchedPlace) string {
	if one.Link != "" {
		return q.restore(one)
	}
	path, info, err := q.find(one.Path)
	if isAbsent(err) || err == nil && q.harmless(path, info) {
		return ""
	}
	note := q.moveAway(path)
	if path == gitConfig && err == nil && info.Mode().IsRegular() {
		return cmp.Or(q.replaceConfig(note), note)
	}
	return note
}

// find looks path up. It returns a link on the way instead: the link is new, wherever it leads.
func (q quarantine) find(path string) (string, fs.FileInfo, error) {
	for _, part := range parents(path) {
		info, err := q.folder.Lstat(part)
		if err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return part, info, nil
		}
	}
	info, err := q.folder.Lstat(path)
	return path, info, err
}

// harmless reports whether a new file may stay: git init and git clone are ordinary work.
func (q quarantine) harmless(path string, info fs.FileInfo) bool {
	switch path {
	case ".git":
		return info.IsDir()
	case gitConfig:
		text, whole := q.read(path)
		return whole && isAlone(info) && plainConfig(text) == text
	case ".git/hooks":
		return info.IsDir() && q.onlySamples(path)
	}
	return false
}

const gitConfig = ".git/config"

// isAlone reports whether a file has this name only. By a second one it could be written to later, when this one is guarded.
func isAlone(info fs.FileInfo) bool {
	stat, known := info.Sys().(*syscall.Stat_t)
	return known && info.Mode().IsRegular() && stat.Nlink == 1
}

// read returns the beginning of a file, and whether that is all of it. It does not wait for somebody at the other end of
// what turns out to be a pipe.
func (q quarantine) read(path string) (text string, whole bool) {
	file, err := q.folder.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
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

// onlySamples reports whether a folder of hooks holds nothing but the examples that git puts there itself.
func (q quarantine) onlySamples(path string) bool {
	folder, err := q.folder.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_DIRECTORY, 0)
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

// moveAway renames and does not delete: the content may be somebody's work. A command can have taken the right to rename from its own
// folder, so that is taken back first.
func (q quarantine) moveAway(path string) string {
	target := path + ".planted-" + strings.ToLower(rand.Text()[:8])
	err := q.folder.Rename(path, target)
	if os.IsPermission(err) {
		q.unlock(path)
		err = q.folder.Rename(path, target)
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
func (q quarantine) unlock(path string) {
	for _, parent := range append([]string{"."}, parents(path)...) {
		if info, err := q.folder.Stat(parent); err == nil {
			_ = q.folder.Chmod(parent, info.Mode().Perm()|0o700)
		}
	}
}

// restore puts a link back that leads to a protected file.
func (q quarantine) restore(one watchedPlace) string {
	target, err := q.folder.Readlink(one.Path)
	if err == nil && target == one.Link {
		return ""
	}
	note := q.moveAway(one.Path)
	q.unlock(one.Path)
	if err := q.folder.Symlink(one.Link, one.Path); err != nil {
		return fmt.Sprintf("%s was a link, and cannot be made again", one.Path)
	}
	return cmp.Or(note, fmt.Sprintf("%s is a link again", one.Path))
}

// replaceConfig writes the harmless settings of a config that was moved away: without a config, git sees no repository.
func (q quarantine) replaceConfig(note string) string {
	_, name, moved := strings.Cut(note, " is now ")
	if !moved {
		return ""
	}
	text, _ := q.read(filepath.Join(".git", name))
	fresh, err := q.folder.OpenFile(gitConfig, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return ""
	}
	defer fresh.Close()
	_, _ = io.WriteString(fresh, plainConfig(text))
	return note + ", without what could run programs in its place"
}
