package checkpoint

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Recover puts in order what a rollback has left that was killed while it did the steps of a plan. It deletes the files that the rollback was making, and those
// that it had taken away. What somebody wrote in the moment of an exchange goes back under its name. It returns the steps whose paths are now as they want it,
// and the paths that are kept because of somebody's file.
func (r *Repository) Recover(ctx context.Context, p Plan, token string, places Places) (done []Step, kept []Kept, err error) {
	for _, step := range p.Steps {
		if ctx.Err() != nil {
			return done, sortedKept(kept), context.Cause(ctx)
		}
		isDone, conflict, err := r.recoverStep(ctx, step, token, places)
		if isDone {
			done = append(done, step)
		}
		if conflict != NoConflict {
			kept = append(kept, Kept{step.Path, conflict})
		}
		if err != nil {
			return done, sortedKept(kept), fmt.Errorf("%s: %w", step.Path, err)
		}
	}
	return done, sortedKept(kept), nil
}

func (r *Repository) recoverStep(ctx context.Context, step Step, token string, places Places) (done bool, conflict KeptReason, err error) {
	one, err := open(places, step, token)
	if err != nil { // the folder has not come yet, or is gone: then nothing lies in it
		return step.After == (Entry{}) && errors.Is(err, fs.ErrNotExist), NoConflict, nil
	}
	defer one.close()
	if token != "" { // the journals of older versions have none
		conflict, err = one.tidy(func(each func(io.Reader) error) error {
			return r.Contents(ctx, []string{step.After.Object}, func(_ string, _ int64, content io.Reader) error { return each(content) })
		})
	}
	return conflict == NoConflict && one.isDone(), conflict, err
}

// isDone reports whether the path is as the step wants it.
func (r *restorer) isDone() bool {
	if r.step.After == (Entry{}) {
		return !r.has(r.name)
	}
	return r.compare(r.name, r.step.After) == NoConflict
}

func (r *restorer) has(name string) bool {
	_, err := r.root.Lstat(name)
	return !errors.Is(err, fs.ErrNotExist)
}

// wholeContent reads the content of the step's After.
type wholeContent func(each func(io.Reader) error) error

// tidy puts in order what a killed step has left beside the path. A folder and a file change places in two steps, and what one of them makes is not the other's.
func (r *restorer) tidy(content wholeContent) (KeptReason, error) {
	before, after := r.step.Before, r.step.After
	if after != (Entry{}) && r.has(r.fresh) {
		made, release, err := r.made(content)
		defer release()
		if err != nil || !made {
			return StagedRemains, err
		}
		if err := r.root.Remove(r.fresh); err != nil {
			return StagedRemains, nil
		}
	}
	if before != (Entry{}) && !before.Mode.IsDir() && r.has(r.aside) {
		return r.settle()
	}
	return NoConflict, nil
}

// made reports whether what lies under fresh is what a step was making: an empty folder, the link, or the content as far as it was written. Somebody may have
// found the file since, and written to it.
func (r *restorer) made(content wholeContent) (made bool, release func(), err error) {
	release = func() {}
	info, err := r.root.Lstat(r.fresh)
	switch {
	case err != nil:
		return false, release, err
	case info.IsDir():
		return r.step.After.Mode.IsDir(), release, nil // only an empty one can be removed
	case r.step.After.Object == "":
		return false, release, nil
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := r.root.Readlink(r.fresh)
		return ObjectOf([]byte(target)) == r.step.After.Object, release, err
	case !info.Mode().IsRegular():
		return false, release, nil
	}
	var inUse bool
	if inUse, release = reserve(r.root, r.fresh); inUse {
		return false, release, nil
	}
	file, err := r.root.OpenFile(r.fresh, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return false, release, nil
	}
	defer file.Close()
	var stat unix.Stat_t
	if err := unix.Fstat(int(file.Fd()), &stat); err != nil || stat.Nlink > 1 {
		return false, release, err
	}
	err = content(func(whole io.Reader) error {
		made, err = begins(whole, file)
		return err
	})
	return made, release, err
}

// begins reports whether a content begins with what a file holds.
func begins(content, file io.Reader) (bool, error) {
	held, expected := make([]byte, 64<<10), make([]byte, 64<<10)
	for {
		n, err := io.ReadFull(file, held)
		ended := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !ended {
			return false, err
		}
		m, _ := io.ReadFull(content, expected[:n]) // a content that cannot be read is shorter
		if m < n || !bytes.Equal(held[:n], expected[:n]) {
			return false, nil
		}
		if ended {
			return true, nil
		}
	}
}

// settle decides about what lies under aside: our own file before an exchange or after it was taken back, or what came out of the path.
func (r *restorer) settle() (KeptReason, error) {
	conflict, deleted, err := r.deletes(r.step.Before)
	if !deleted && err == nil && r.step.After != (Entry{}) {
		_, deleted, err = r.deletes(r.step.After)
	}
	switch {
	case deleted || err != nil:
		return NoConflict, err
	case r.step.After == Entry{}:
		if !r.takesName(r.aside) {
			return StagedRemains, nil
		}
		return conflict, r.folder.Sync()
	case r.isDone():
		conflict, err := r.putBack(conflict)
		return conflict, errors.Join(err, r.folder.Sync())
	default:
		return StagedRemains, nil
	}
}

// takesName moves a file to the path. It reports false if something else has the name, or the file cannot be moved.
func (r *restorer) takesName(from string) bool { return moveTo(r.fd(), from, r.name) == nil }

// deletes removes the file under aside if it is an entry that a checkpoint holds, and nobody has it open for writing.
func (r *restorer) deletes(held Entry) (conflict KeptReason, deleted bool, err error) {
	conflict, release := r.reserved(r.aside, held)
	defer release()
	if conflict != NoConflict {
		return conflict, false, nil
	}
	if err := r.root.Remove(r.aside); err != nil {
		return conflict, false, err
	}
	return conflict, true, r.folder.Sync()
}
