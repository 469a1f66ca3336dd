package checkpoint

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"signoff/internal/workspace"
)

// Step is what a rollback does to one path: it puts After in the place of Before, or leaves the path as it is.
type Step struct {
	Path   string
	Before Entry // the entry that the step replaces; the zero value: none
	After  Entry // the entry that takes its place; the zero value: none
}

// Conflict is why a step did not happen.
type Conflict string

// Conflicts.
const (
	NoConflict    Conflict = ""
	OtherContent  Conflict = "otherContent"  // the file differs from the last checkpoint
	Occupied      Conflict = "occupied"      // something is there now, or a folder holds something
	InUse         Conflict = "inUse"         // somebody has the file open for writing
	SecondName    Conflict = "secondName"    // the file has a second name, a hard link, which may lie anywhere
	NotReachable  Conflict = "notReachable"  // the folder is gone, hidden or guarded
	NotPermitted  Conflict = "notPermitted"  // the server may not write it, or the file system cannot exchange two files
	OwnerNotKept  Conflict = "ownerNotKept"  // the file belonged to somebody else, and only root can give it back
	StagedRemains Conflict = "stagedRemains" // a file that somebody wrote in that moment lies beside the path, under a name with .signoff-
)

// maxTarget is the longest path of a link.
const maxTarget = 4096

// restorer does steps. Each is a compare-and-swap: the new file is made beside the old one, the two names are exchanged, and what came out is compared with
// what was expected. If it is another, the names are exchanged back. So there is no moment in which a foreign file can be lost.
type restorer struct {
	folder *os.File // of the path
	root   *os.Root // the same
	name   string
	step   Step
}

// do does one step. content is that of After where it is a file, or the target of a link.
func (r *restorer) do(content io.Reader) (Conflict, error) {
	before, after := r.step.Before, r.step.After
	switch {
	case before.Mode.IsDir() || after.Mode.IsDir():
		return r.folders()
	case after == Entry{}:
		return r.remove()
	case before.Object == after.Object && before.Mode.Type() == after.Mode.Type():
		return r.chmod()
	}
	staged, err := r.stage(content)
	if err != nil {
		return r.refused(err)
	}
	conflict, err := r.swap(staged)
	if conflict != StagedRemains {
		_ = r.root.Remove(staged) // where it has taken its place, the name is gone already
	}
	return conflict, err
}

// swap puts the staged file in the place of what is expected there.
func (r *restorer) swap(staged string) (Conflict, error) {
	if r.step.Before == (Entry{}) {
		return r.refused(moveTo(r.fd(), staged, r.name))
	}
	if conflict := r.compare(r.name, r.step.Before); conflict != NoConflict { // most conflicts end here, before anything moves
		return conflict, nil
	}
	if err := exchange(r.fd(), staged, r.name); err != nil {
		return r.refused(err)
	}
	conflict, release := r.reserved(staged, r.step.Before)
	defer release()
	if conflict == NoConflict {
		return r.refused(r.root.Remove(staged))
	}
	if err := exchange(r.fd(), staged, r.name); err != nil {
		return StagedRemains, fmt.Errorf("checkpoint: %s could not be put back, it is in %s beside it: %w", r.step.Path, staged, err)
	}
	written, releaseStaged := r.reserved(staged, r.step.After) // for a moment it had the name, and somebody may have written to it
	defer releaseStaged()
	if written != NoConflict {
		return StagedRemains, nil
	}
	return conflict, nil
}

func (r *restorer) fd() int { return int(r.folder.Fd()) }

// refused makes a conflict of an error that concerns this path alone.
func (r *restorer) refused(err error) (Conflict, error) {
	switch {
	case err == nil:
		return NoConflict, r.folder.Sync()
	case errors.Is(err, fs.ErrExist), errors.Is(err, unix.ENOTEMPTY):
		return Occupied, nil
	case errors.Is(err, fs.ErrNotExist):
		return OtherContent, nil
	case errors.Is(err, errOwner):
		return OwnerNotKept, nil
	case errors.Is(err, fs.ErrPermission), errors.Is(err, unix.EINVAL), errors.Is(err, errors.ErrUnsupported), errors.Is(err, unix.EROFS), errors.Is(err, unix.EXDEV):
		return NotPermitted, nil
	default:
		return NoConflict, err // the disk is full, say: the whole rollback stops
	}
}

var errOwner = errors.New("checkpoint: the owner cannot be restored")

// stage makes the new file beside the old one, closed to others until it has its mode.
func (r *restorer) stage(content io.Reader) (name string, err error) {
	name = workspace.StagedName()
	defer func() {
		if err != nil {
			_ = r.root.Remove(name)
		}
	}()
	after := r.step.After
	if after.Mode&fs.ModeSymlink != 0 {
		target, err := io.ReadAll(io.LimitReader(content, maxTarget))
		if err != nil {
			return name, err
		}
		if err := unix.Symlinkat(string(target), r.fd(), name); err != nil {
			return name, err
		}
		return name, r.own(name)
	}
	file, err := r.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return name, err
	}
	_, err = io.Copy(file, content)
	if err == nil {
		err = r.own(name)
	}
	if err == nil {
		err = unix.Fchmod(int(file.Fd()), bits(after.Mode)) // after the owner: that takes setuid away
	}
	return name, errors.Join(err, file.Sync(), file.Close())
}

// own gives the new file the owner that it had.
func (r *restorer) own(name string) error {
	var stat unix.Stat_t
	if err := unix.Fstatat(r.fd(), name, &stat, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return err
	}
	if stat.Uid == r.step.After.UID && stat.Gid == r.step.After.GID {
		return nil
	}
	if err := unix.Fchownat(r.fd(), name, int(r.step.After.UID), int(r.step.After.GID), unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return errOwner
	}
	return nil
}

// compare reports whether what has the name is what is expected there.
func (r *restorer) compare(name string, expected Entry) Conflict {
	found, err := r.look(name)
	switch {
	case errors.Is(err, errSecondName):
		return SecondName
	case err != nil || found != expected:
		return OtherContent
	default:
		return NoConflict
	}
}

// reserved compares what came out. Until release, nobody begins to write to it unnoticed.
func (r *restorer) reserved(name string, expected Entry) (conflict Conflict, release func()) {
	release = func() {}
	if expected.Mode.IsRegular() {
		var inUse bool
		if inUse, release = reserve(r.root, name); inUse {
			return InUse, release
		}
	}
	return r.compare(name, expected), release
}

var errSecondName = errors.New("checkpoint: the file has a second name")

// look returns what has the name now.
func (r *restorer) look(name string) (Entry, error) {
	var stat unix.Stat_t
	if err := unix.Fstatat(r.fd(), name, &stat, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return Entry{}, err
	}
	seen := lookOf(stat)
	found := Entry{Mode: seen.mode, UID: seen.uid, GID: seen.gid}
	switch {
	case seen.mode.IsDir():
		return found, nil
	case seen.mode&fs.ModeSymlink != 0:
		target, err := r.root.Readlink(name)
		found.Mode, found.Object = fs.ModeSymlink|0o777, objectOf([]byte(target))
		return found, err
	case !seen.mode.IsRegular():
		return found, nil
	case stat.Nlink > 1:
		return Entry{}, errSecondName
	}
	file, err := r.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return Entry{}, err
	}
	defer file.Close()
	sum := newObject(seen.size)
	if _, err := io.Copy(sum, io.LimitReader(file, seen.size+1)); err != nil {
		return Entry{}, err
	}
	if after, err := lookAt(file); err != nil || after.size != seen.size || after.inode != seen.inode || after.modified != seen.modified {
		return Entry{}, errChanging
	}
	found.Object = hex.EncodeToString(sum.Sum(nil))
	return found, nil
}

// remove takes the file away by a name of its own, looks at what that name has now, and only then deletes it.
func (r *restorer) remove() (Conflict, error) {
	if conflict := r.compare(r.name, r.step.Before); conflict != NoConflict {
		return conflict, nil
	}
	aside := workspace.StagedName()
	if err := moveTo(r.fd(), r.name, aside); err != nil {
		return r.refused(err)
	}
	conflict, release := r.reserved(aside, r.step.Before)
	defer release()
	if conflict != NoConflict {
		if err := moveTo(r.fd(), aside, r.name); err != nil {
			return StagedRemains, fmt.Errorf("checkpoint: %s could not be put back, it is in %s beside it: %w", r.step.Path, aside, err)
		}
		return conflict, nil
	}
	return r.refused(r.root.Remove(aside))
}

// chmod changes the mode and the owner of a file whose content is as it should be. It opens the file, so that another one that takes its name meanwhile is not
// touched.
func (r *restorer) chmod() (Conflict, error) {
	if conflict := r.compare(r.name, r.step.Before); conflict != NoConflict {
		return conflict, nil
	}
	if r.step.After.Mode&fs.ModeSymlink != 0 {
		return r.refused(r.own(r.name))
	}
	return r.chmodOpened(os.O_RDONLY | syscall.O_NONBLOCK)
}

func (r *restorer) chmodOpened(flags int) (Conflict, error) {
	file, err := r.root.OpenFile(r.name, flags, 0)
	if err != nil {
		return r.refused(err)
	}
	defer file.Close()
	opened, err := lookAt(file)
	if err != nil || opened.mode != r.step.Before.Mode || opened.uid != r.step.Before.UID || opened.gid != r.step.Before.GID {
		return OtherContent, nil
	}
	after := r.step.After
	if opened.uid != after.UID || opened.gid != after.GID {
		if err := unix.Fchown(int(file.Fd()), int(after.UID), int(after.GID)); err != nil {
			return OwnerNotKept, nil
		}
	}
	return r.refused(unix.Fchmod(int(file.Fd()), bits(after.Mode)))
}

// folders makes, removes or changes a folder. What it holds is the matter of other steps.
func (r *restorer) folders() (Conflict, error) {
	before, after := r.step.Before, r.step.After
	switch {
	case before.Mode.IsDir() && after.Mode.IsDir():
		return r.chmodOpened(os.O_RDONLY | syscall.O_DIRECTORY)
	case before.Mode.IsDir() && after == Entry{}:
		if conflict := r.compare(r.name, before); conflict != NoConflict {
			return conflict, nil
		}
		return r.refused(unix.Unlinkat(r.fd(), r.name, unix.AT_REMOVEDIR))
	case before == Entry{}:
		if err := unix.Mkdirat(r.fd(), r.name, 0o700); err != nil {
			return r.refused(err)
		}
		if err := r.own(r.name); err != nil {
			return r.refused(errors.Join(err, unix.Unlinkat(r.fd(), r.name, unix.AT_REMOVEDIR)))
		}
		return r.refused(unix.Fchmodat(r.fd(), r.name, bits(after.Mode), 0))
	default:
		return Occupied, nil // a file and a folder change places in two steps
	}
}

// Places opens the folder of a path that may be changed, and names the path in it: [workspace.Workspace.Place].
type Places func(path string) (folder *os.Root, name string, err error)

// apply does one step.
func apply(ctx context.Context, places Places, step Step, content io.Reader) (Conflict, error) {
	if ctx.Err() != nil {
		return NoConflict, context.Cause(ctx)
	}
	root, name, err := places(step.Path)
	if err != nil {
		return NotReachable, nil
	}
	defer root.Close()
	folder, err := root.Open(".")
	if err != nil {
		return NotReachable, nil
	}
	defer folder.Close()
	return (&restorer{folder: folder, root: root, name: name, step: step}).do(content)
}
