package workspace

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"signoff/internal/domain"
)

// maxChanges bounds the folders that are open at once.
const maxChanges = 256

// Change makes all of the changes below directory, or none. Before each file that it replaces it asks whether it still may.
//
// Everything that can fail early is done first: what a file is to hold is written beside it, as a staged file. Then the
// staged files take their places, one rename each: whoever reads sees the old content or the new one. What was there keeps
// a second name until the last rename is done, so a failure in the middle is undone and leaves nothing behind.
func (w *Workspace) Change(directory string, changes []domain.FileChange, still func() error) error {
	if len(changes) > maxChanges {
		return domain.Errorf(domain.CodeToolFailed, "At most %d files can be changed at once.", maxChanges)
	}
	root, err := openRoot(directory)
	if err != nil {
		return err
	}
	defer root.Close()
	set := &changeSet{workspace: w, directory: directory, root: root}
	defer set.close()
	for _, change := range changes {
		if err := set.stage(change); err != nil {
			return errors.Join(set.undo(), err)
		}
	}
	w.swap.Lock()
	defer w.swap.Unlock()
	for _, file := range set.files {
		err := still()
		if err == nil {
			err = file.put()
		}
		if err != nil {
			return errors.Join(set.undo(), err)
		}
	}
	for _, file := range set.files {
		file.forget()
	}
	return nil
}

// changeSet is what one call changes, and what it has to undo.
type changeSet struct {
	workspace *Workspace
	directory string
	root      *os.Root // of directory
	files     []*changedFile
	made      []madeFolder
	opened    []*os.Root
}

// madeFolder is a folder that was missing on the way to a file.
type madeFolder struct {
	below *os.Root
	path  string
}

// stage opens the folder of a file, looks at what is there and writes the staged file.
func (s *changeSet) stage(change domain.FileChange) error {
	relative, err := local(s.directory, change.Path)
	if err != nil {
		return err
	}
	relative = filepath.Clean(relative)
	folder, place, err := s.folder(relative, change)
	if err != nil {
		return err
	}
	file := &changedFile{FileChange: change, folder: folder, name: filepath.Base(relative), place: place}
	if slices.ContainsFunc(s.files, func(other *changedFile) bool { return other.place == place }) {
		return domain.Errorf(domain.CodeToolFailed, "%s is changed twice at once.", change.Path)
	}
	s.files = append(s.files, file)
	return file.stage(s.workspace)
}

// folder opens the folder of a file that is to be changed and makes what is missing of it. It looks first where the
// part that exists really is, and makes the rest below the very folder that was looked at. Then it looks at the whole:
// a link that came in between, to where git keeps what it runs, leads nowhere.
func (s *changeSet) folder(relative string, change domain.FileChange) (folder *os.Root, place string, err error) {
	there, missing := s.existing(filepath.Dir(relative))
	below, err := s.open(s.root, there)
	if err != nil {
		return nil, "", notWritten(change.Path, err)
	}
	if _, err := s.judge(below, there, filepath.Join(missing, filepath.Base(relative)), change.Path); err != nil {
		return nil, "", err
	}
	if missing != "." && !change.Delete {
		if err := s.make(below, missing); err != nil {
			return nil, "", notWritten(change.Path, err)
		}
	}
	if folder, err = s.open(below, missing); err != nil {
		return nil, "", notWritten(change.Path, err)
	}
	place, err = s.judge(folder, filepath.Dir(relative), filepath.Base(relative), change.Path)
	return folder, place, err
}

// existing splits the path of a folder into what is there and what is missing below it.
func (s *changeSet) existing(folder string) (there, missing string) {
	there, missing = folder, "."
	for there != "." {
		if _, err := s.root.Stat(there); err == nil {
			break
		}
		there, missing = filepath.Dir(there), filepath.Join(filepath.Base(there), missing)
	}
	return there, missing
}

func (s *changeSet) open(below *os.Root, path string) (*os.Root, error) {
	folder, err := below.OpenRoot(path)
	if err == nil {
		s.opened = append(s.opened, folder)
	}
	return folder, err
}

func (s *changeSet) make(below *os.Root, missing string) error {
	path := ""
	for name := range strings.SplitSeq(missing, "/") {
		path = filepath.Join(path, name)
		switch err := below.Mkdir(path, 0o777); {
		case err == nil:
			s.made = append(s.made, madeFolder{below, path})
		case !errors.Is(err, fs.ErrExist):
			return err
		}
	}
	return nil
}

// judge returns the true name of a file below an opened folder, where it may be changed. What is hidden or guarded may
// not, whatever links lead there, nor what is guarded by the name that was given.
func (s *changeSet) judge(folder *os.Root, named, rest, path string) (place string, err error) {
	real, err := filepath.EvalSymlinks(filepath.Join(s.directory, named))
	if err != nil || !s.is(folder, real) {
		return "", outside(path)
	}
	place = filepath.Join(real, rest)
	switch {
	case s.workspace.hides(s.directory, place):
		return "", outside(path)
	case s.workspace.guards(place), s.workspace.guards(filepath.Join(s.directory, named, rest)):
		return "", domain.Errorf(domain.CodePathOutsideWorkspace,
			"%s is guarded: programs outside of the sandbox take commands from it. It can be read, and changed by a person only.", path)
	}
	return place, nil
}

// is tells whether an opened folder has this true name, inside.
func (s *changeSet) is(folder *os.Root, name string) bool {
	opened, err := folder.Stat(".")
	if err != nil || s.workspace.Kernel(opened) {
		return false
	}
	there, err := os.Stat(name)
	return err == nil && os.SameFile(opened, there) && within(s.directory, name)
}

// undo puts everything back. Its error says what could not be put back.
func (s *changeSet) undo() error {
	var failures []error
	for _, file := range slices.Backward(s.files) {
		failures = append(failures, file.undo())
	}
	for _, folder := range slices.Backward(s.made) {
		_ = folder.below.Remove(folder.path) // refused where somebody else has put something into it
	}
	return errors.Join(failures...)
}

func (s *changeSet) close() {
	for _, folder := range s.opened {
		folder.Close()
	}
}

// changedFile is one file on its way.
type changedFile struct {
	domain.FileChange
	folder *os.Root
	name   string // in the folder
	place  string // its true name
	staged string // what it is to hold lies beside it, under this name
	kept   string // what was there lies beside it, under this name
	placed bool   // the staged file has taken the name
}

// stage writes the staged file. The mode of what is there is kept.
func (f *changedFile) stage(w *Workspace) error {
	there, err := f.look()
	if errors.Is(err, errLinked) {
		w.removeLeftovers(f.folder, f.name)
		there, err = f.look()
	}
	if err != nil || f.Delete {
		return err
	}
	mode := fs.FileMode(0o644)
	if there != nil {
		mode = there.Mode().Perm()
	}
	f.staged = StagedName()
	file, err := f.folder.OpenFile(f.staged, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		f.staged = ""
		return notWritten(f.Path, err)
	}
	if there != nil {
		err = file.Chmod(mode) // the umask has taken some of it
	}
	if err == nil {
		_, err = file.Write(f.Content)
	}
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return notWritten(f.Path, err)
	}
	return nil
}

// look returns what is there now, nil for nothing, where it is what the change takes for granted.
func (f *changedFile) look() (fs.FileInfo, error) {
	there, err := f.folder.Lstat(f.name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if f.Expect == domain.SameFile {
			return nil, domain.Errorf(domain.CodeConflict, "%s does not exist any more.", f.Path)
		}
		return nil, nil //nolint:nilnil // nothing is there, as it may be
	case err != nil:
		return nil, notWritten(f.Path, err)
	case !there.Mode().IsRegular():
		return nil, domain.Errorf(domain.CodeToolFailed, "%s is not a regular file.", f.Path)
	case linked(there):
		return nil, secondName(f.Path)
	case f.Expect == domain.NoFile:
		return nil, domain.Errorf(domain.CodeConflict, "%s exists already.", f.Path)
	case there.Mode().Perm()&0o200 == 0: // to replace it by a rename takes no more than the folder, but somebody did not want that
		return nil, domain.Errorf(domain.CodeToolFailed, "%s is read-only: not even its owner may write it.", f.Path)
	case f.Expect == domain.SameFile && !f.same(there):
		return nil, domain.Errorf(domain.CodeConflict, "%s has changed since it was read.", f.Path)
	case f.Expect == domain.ViewedFile:
		return there, f.viewed(there)
	}
	return there, nil
}

func (f *changedFile) same(there fs.FileInfo) bool {
	file, err := f.open(there)
	if err != nil {
		return false
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, int64(len(f.Before))+1))
	return err == nil && bytes.Equal(content, f.Before)
}

// viewed refuses to replace a content that whoever wants the change has not viewed.
func (f *changedFile) viewed(there fs.FileInfo) error {
	switch {
	case there.Size() > domain.MaxViewedBytes:
		return domain.Errorf(domain.CodeToolFailed, "%s is longer than %d MiB; change it with a command.", f.Path, domain.MaxViewedBytes>>20)
	case f.Viewed == "":
		return domain.Errorf(domain.CodeConflict, "%s exists, and you have not read it. Read it first.", f.Path)
	}
	file, err := f.open(there)
	if err != nil {
		return domain.ChangedSinceViewed(f.Path)
	}
	defer file.Close()
	if hash, err := domain.HashContent(file); err != nil || hash != f.Viewed {
		return domain.ChangedSinceViewed(f.Path)
	}
	return nil
}

// errReplaced: the name stands for another file than a moment ago.
var errReplaced = errors.New("workspace: the file was replaced")

// open opens the very file that was found.
func (f *changedFile) open(there fs.FileInfo) (*os.File, error) {
	file, err := f.folder.OpenFile(f.name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if opened, err := file.Stat(); err != nil || !os.SameFile(opened, there) {
		file.Close()
		return nil, errReplaced
	}
	return file, nil
}

// put makes the change. Where it fails, undo makes it unhappen.
func (f *changedFile) put() error {
	there, err := f.look()
	if err != nil {
		return err
	}
	if there != nil {
		if err := f.keep(); err != nil {
			return notWritten(f.Path, err)
		}
	}
	if f.Delete {
		return nil
	}
	if err := f.folder.Rename(f.staged, f.name); err != nil {
		return notWritten(f.Path, err)
	}
	f.placed = true
	return nil
}

// keep gives what is there a second name. What is to go, or lies on a file system without hard links, gets it instead
// of the first.
func (f *changedFile) keep() error {
	kept := StagedName()
	err := errors.ErrUnsupported
	if !f.Delete {
		err = f.folder.Link(f.name, kept)
	}
	if err != nil {
		err = f.folder.Rename(f.name, kept)
	}
	if err == nil {
		f.kept = kept
	}
	return err
}

// undo puts back what was there.
func (f *changedFile) undo() error {
	if f.staged != "" && !f.placed {
		_ = f.folder.Remove(f.staged)
	}
	switch {
	case f.kept != "":
		if err := f.folder.Rename(f.kept, f.name); err != nil {
			return domain.Errorf(domain.CodeToolFailed, "What was in %s could not be put back; it is in %s beside it.", f.Path, f.kept).With(err)
		}
		f.forget() // a rename between two names of one file leaves both
	case f.placed:
		_ = f.folder.Remove(f.name)
	}
	return nil
}

func (f *changedFile) forget() {
	if f.kept != "" {
		_ = f.folder.Remove(f.kept)
	}
}

func notWritten(path string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return domain.Errorf(domain.CodeToolFailed, "%s does not exist.", path).With(err)
	case errors.Is(err, fs.ErrPermission):
		return domain.Errorf(domain.CodeToolFailed, "%s may not be written.", path).With(err)
	case strings.Contains(err.Error(), "escapes"): // as in notOpened
		return outside(path)
	default:
		return domain.Errorf(domain.CodeToolFailed, "%s cannot be written.", path).With(err)
	}
}
