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

	"signoff/internal/failpoint"
	"signoff/internal/workspace"
)

// Step is what a rollback does to one path: it puts After in the place of Before, or leaves the path as it is.
type Step struct {
	Path   string
	Before Entry // the entry that the step replaces; the zero value: none
	After  Entry // the entry that takes its place; the zero value: none
}

// maxTarget is the longest path of a link.
const maxTarget = 4096

// restorer does steps. Each is a compare-and-swap: the new file is made beside the old one, the two names are exchanged, and what came out is compared with
// what was expected. If it is another, the names are exchanged back. So there is no moment in which a foreign file can be lost.
//
// A file on its way has one of two names beside the path, both of which the next driver finds if this one dies. Under fresh lies what is being made: it is ours,
// whatever there is of it. Under aside lies our whole file before an exchange, and after it what came out, which may be somebody's.
type restorer struct {
	folder       *os.File // of the path
	root         *os.Root // the same
	name         string
	fresh, aside string
	step         Step
	ours         string // the name under which our own file lies beside the path; empty: there is none
	done         bool   // the path is as the step wants it, whatever fails afterwards
}

// do does one step. content is that of After where it is a file, or the target of a link.
func (r *restorer) do(content io.Reader) (KeptReason, error) {
	before, after := r.step.Before, r.step.After
	switch {
	case before.Mode.IsDir() || after.Mode.IsDir():
		return r.folders()
	case after == Entry{}:
		return r.remove()
	case before.Object == after.Object && before.Mode.Type() == after.Mode.Type():
		return r.chmod()
	}
	defer r.discard()
	if err := r.stage(content); err != nil {
		return r.refused(err)
	}
	return r.swap()
}

// discard deletes our own file, where it has not taken its place.
func (r *restorer) discard() {
	if r.ours != "" {
		_ = r.root.Remove(r.ours)
		r.ours = ""
	}
}

// swap puts the staged file in the place of what is expected there.
func (r *restorer) swap() (KeptReason, error) {
	if r.step.Before == (Entry{}) {
		return r.place()
	}
	if conflict := r.compare(r.name, r.step.Before); conflict != NoConflict { // most conflicts end here, before anything moves
		return conflict, nil
	}
	if err := moveTo(r.fd(), r.fresh, r.aside); err != nil {
		return r.refused(err)
	}
	r.ours = r.aside
	if err := exchange(r.fd(), r.aside, r.name); err != nil {
		return r.refused(err)
	}
	r.ours = ""
	conflict, release := r.reserved(r.aside, r.step.Before)
	defer release()
	if conflict == NoConflict {
		return NoConflict, r.drop()
	}
	return r.putBack(conflict)
}

// place gives what was made the name, which nothing has.
func (r *restorer) place() (KeptReason, error) {
	err := moveTo(r.fd(), r.fresh, r.name)
	if err == nil {
		r.ours = ""
	}
	return r.refused(err)
}

// putBack exchanges the names back. For a moment our file had the name, and somebody may have written to it.
func (r *restorer) putBack(conflict KeptReason) (KeptReason, error) {
	if err := exchange(r.fd(), r.aside, r.name); err != nil {
		return StagedRemains, fmt.Errorf("checkpoint: %s could not be put back, it is in %s beside it: %w", r.step.Path, r.aside, err)
	}
	written, release := r.reserved(r.aside, r.step.After)
	defer release()
	if written != NoConflict {
		return StagedRemains, nil
	}
	r.ours = r.aside
	r.discard()
	return conflict, nil
}

func (r *restorer) fd() int { return int(r.folder.Fd()) }

// refused makes a conflict of an error that concerns this path alone.
func (r *restorer) refused(err error) (KeptReason, error) {
	switch {
	case err == nil:
		r.done = true
		return NoConflict, r.folder.Sync()
	case errors.Is(err, fs.ErrExist), errors.Is(err, unix.ENOTEMPTY), errors.Is(err, fs.ErrNotExist):
		return ContentConflict, nil
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
func (r *restorer) stage(content io.Reader) error {
	after := r.step.After
	if after.Mode&fs.ModeSymlink != 0 {
		target, err := io.ReadAll(io.LimitReader(content, maxTarget))
		if err != nil {
			return err
		}
		if err := unix.Symlinkat(string(target), r.fd(), r.fresh); err != nil {
			return err
		}
		r.ours = r.fresh
		return r.own(r.fresh)
	}
	file, err := r.root.OpenFile(r.fresh, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	r.ours = r.fresh
	_, err = io.Copy(file, content)
	if err == nil {
		err = r.own(r.fresh)
	}
	if err == nil {
		err = r.permit(file)
	}
	return errors.Join(err, file.Sync(), file.Close())
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
func (r *restorer) compare(name string, expected Entry) KeptReason {
	found, err := r.look(name)
	switch {
	case errors.Is(err, errSecondName):
		return SecondName
	case err != nil || found != expected:
		return ContentConflict
	default:
		return NoConflict
	}
}

// reserved compares what came out. Until release, nobody begins to write to it unnoticed.
func (r *restorer) reserved(name string, expected Entry) (conflict KeptReason, release func()) {
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
		opened, err := r.root.OpenFile(name, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
		if err != nil {
			return Entry{}, err
		}
		defer opened.Close()
		found.ACLs, err = aclsOf(opened, true)
		return found, err
	case seen.mode&fs.ModeSymlink != 0:
		target, err := r.root.Readlink(name)
		found.Mode, found.Object = fs.ModeSymlink|0o777, ObjectOf([]byte(target))
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
	if found.ACLs, err = aclsOf(file, false); err != nil {
		return Entry{}, err
	}
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
func (r *restorer) remove() (KeptReason, error) {
	if conflict := r.compare(r.name, r.step.Before); conflict != NoConflict {
		return conflict, nil
	}
	failpoint.Hit(failpoint.BeforeTakeAside)
	if err := moveTo(r.fd(), r.name, r.aside); err != nil {
		return r.refused(err)
	}
	failpoint.Hit(failpoint.AfterTakeAside)
	conflict, release := r.reserved(r.aside, r.step.Before)
	defer release()
	if conflict == NoConflict {
		return NoConflict, r.drop()
	}
	if err := moveTo(r.fd(), r.aside, r.name); err != nil {
		return StagedRemains, fmt.Errorf("checkpoint: %s could not be put back, it is in %s beside it: %w", r.step.Path, r.aside, err)
	}
	return conflict, nil
}

// drop deletes what was at the path. It is what the last checkpoint holds.
func (r *restorer) drop() error {
	r.done = true
	if err := r.root.Remove(r.aside); err != nil {
		return fmt.Errorf("checkpoint: what was at %s is in %s beside it: %w", r.step.Path, r.aside, err)
	}
	failpoint.Hit(failpoint.AfterDrop)
	return r.folder.Sync()
}

// chmod changes the mode and the owner of a file whose content is as it should be. It opens the file, so that another one that takes its name meanwhile is not
// touched.
func (r *restorer) chmod() (KeptReason, error) {
	if conflict := r.compare(r.name, r.step.Before); conflict != NoConflict {
		return conflict, nil
	}
	if r.step.After.Mode&fs.ModeSymlink != 0 {
		return r.refused(r.own(r.name))
	}
	return r.chmodOpened(os.O_RDONLY | syscall.O_NONBLOCK)
}

func (r *restorer) chmodOpened(flags int) (KeptReason, error) {
	file, err := r.root.OpenFile(r.name, flags, 0)
	if err != nil {
		return r.refused(err)
	}
	defer file.Close()
	opened, err := lookAt(file)
	has, aclErr := aclsOf(file, opened.mode.IsDir())
	if errors.Join(err, aclErr) != nil || has != r.step.Before.ACLs || opened.mode != r.step.Before.Mode || opened.uid != r.step.Before.UID || opened.gid != r.step.Before.GID {
		return ContentConflict, nil
	}
	after := r.step.After
	if opened.uid != after.UID || opened.gid != after.GID {
		if err := unix.Fchown(int(file.Fd()), int(after.UID), int(after.GID)); err != nil {
			return OwnerNotKept, nil
		}
	}
	return r.refused(r.permit(file))
}

// permit gives a file the ACLs and the mode of After, when it has its owner: a new owner takes setuid away. No moment of it is wider than the end. The folder may have
// left an ACL to the file, which must not stay; and the group's bits of the mode are the mask of an ACL, so they wait until that has come or gone.
func (r *restorer) permit(file *os.File) error {
	after := r.step.After
	is, err := aclsOf(file, after.Mode.IsDir())
	if err != nil {
		return err
	}
	if is.Default != after.ACLs.Default {
		if err := setACL(file, defaultACL, after.ACLs.Default); err != nil {
			return err
		}
	}
	if is.Access != "" && after.ACLs.Access == "" {
		if err := unix.Fchmod(int(file.Fd()), bits(after.Mode)&0o700); err != nil {
			return err
		}
	}
	if is.Access != after.ACLs.Access {
		if err := setACL(file, accessACL, after.ACLs.Access); err != nil {
			return err
		}
	}
	return unix.Fchmod(int(file.Fd()), bits(after.Mode))
}

// folders makes, removes or changes a folder. What it holds is the matter of other steps.
func (r *restorer) folders() (KeptReason, error) {
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
		defer r.discard()
		if err := r.makeFolder(); err != nil {
			return r.refused(err)
		}
		return r.place()
	default:
		return ContentConflict, nil // a file and a folder change places in two steps
	}
}

// makeFolder makes the folder beside its place: under its name it would be seen with another mode than it gets.
func (r *restorer) makeFolder() error {
	if err := unix.Mkdirat(r.fd(), r.fresh, 0o700); err != nil {
		return err
	}
	r.ours = r.fresh
	if err := r.own(r.fresh); err != nil {
		return err
	}
	made, err := r.root.OpenFile(r.fresh, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	defer made.Close()
	return r.permit(made)
}

// Places opens the folder of a path that may be changed, and names the path in it: [workspace.Workspace.Place].
type Places func(path string) (folder *os.Root, name string, err error)

// Foresee keeps the paths at which the disk shows already that their steps cannot be done: files with a second name, files that nobody may change, and what the
// server does not reach. It asks for no lease, which a program that opens the file would have to wait for; so a file that is open for writing shows only in the
// rollback itself.
func (p *Plan) Foresee(places Places) {
	stays := map[string]bool{}
	for _, step := range p.Steps {
		if why := foreseen(places, step); why != NoConflict {
			stays[step.Path] = true
			p.Kept = append(p.Kept, Kept{step.Path, why})
		}
	}
	p.keepBelow(stays)
	p.keepFolders()
	p.Kept = sortedKept(p.Kept)
}

func foreseen(places Places, step Step) KeptReason {
	if step.Before == (Entry{}) {
		return NoConflict // its folder may come with another step
	}
	r, err := open(places, step, "")
	if err != nil {
		return NotReachable
	}
	defer r.close()
	var stat unix.Stat_t
	switch err := unix.Fstatat(r.fd(), r.name, &stat, unix.AT_SYMLINK_NOFOLLOW); {
	case err != nil:
		return ContentConflict
	case lookOf(stat).mode.IsRegular() && stat.Nlink > 1:
		return SecondName
	case immutable(r.fd(), r.name):
		return NotPermitted
	default:
		return NoConflict
	}
}

// apply does one step. done says whether the path is as the step wants it, which it may be in spite of an error.
func apply(ctx context.Context, places Places, step Step, token string, content io.Reader) (done bool, conflict KeptReason, err error) {
	if ctx.Err() != nil {
		return false, NoConflict, context.Cause(ctx)
	}
	r, err := open(places, step, token)
	if err != nil {
		return false, NotReachable, nil
	}
	defer r.close()
	conflict, err = r.do(content)
	return r.done, conflict, err
}

// open opens the folder of a step.
func open(places Places, step Step, token string) (*restorer, error) {
	root, name, err := places(step.Path)
	if err != nil {
		return nil, err
	}
	folder, err := root.Open(".")
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return &restorer{
		folder: folder, root: root, name: name, step: step,
		fresh: workspace.StagedNameOf(token, step.Path, ".new"), aside: workspace.StagedNameOf(token, step.Path, ""),
	}, nil
}

func (r *restorer) close() {
	r.folder.Close()
	r.root.Close()
}
