package checkpoint

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strconv"
)

// taking is one checkpoint on its way.
type taking struct {
	series *Series
	by     Attribute
	found  *walk
	files  reader
	next   *listing
	read   map[string]reading
	bytes  int64 // read so far
	out    *importer
}

// write reads what differs and has git write it. Git starts with the first content that it does not have yet.
func (t *taking) write(ctx context.Context) (imported, error) {
	t.out = &importer{ctx: ctx, series: t.series}
	err := t.writeContents()
	if err == nil {
		t.complete()
		err = t.writeManifest()
	}
	return t.out.finish(err)
}

// writeContents takes away what is gone, and then reads the rest: a folder may have taken the place of a file, or the reverse.
func (t *taking) writeContents() error {
	for _, path := range slices.Sorted(maps.Keys(t.series.read)) {
		if _, stays := t.found.files[path]; !stays {
			if err := t.out.remove(path); err != nil {
				return err
			}
		}
	}
	for _, path := range slices.Sorted(maps.Keys(t.found.files)) {
		if err := t.out.ctx.Err(); err != nil {
			return context.Cause(t.out.ctx)
		}
		if err := t.file(path, t.found.files[path]); err != nil {
			return err
		}
	}
	return nil
}

// file records one file or link.
func (t *taking) file(path string, seen look) error {
	before, known := t.series.read[path]
	if known && before.look == seen && seen.settled(before.at) {
		t.keep(path, before)
		return nil
	}
	if seen.mode&fs.ModeSymlink != 0 {
		return t.link(path, seen)
	}
	now := reading{look: seen, at: t.series.now()}
	err := t.content(path, &now)
	var unfit *os.PathError
	switch {
	case errors.Is(err, errChanging), errors.Is(err, fs.ErrNotExist):
		return t.without(path, Changing, seen.size)
	case errors.As(err, &unfit):
		return t.without(path, Unreadable, seen.size)
	case err != nil:
		return err
	}
	t.keep(path, now)
	return nil
}

func (t *taking) keep(path string, now reading) {
	t.read[path] = now
	mode := now.mode
	if mode&fs.ModeSymlink != 0 {
		mode = fs.ModeSymlink | 0o777 // it differs between systems and means nothing
	}
	t.next.entries[path] = Entry{Mode: mode, UID: now.uid, GID: now.gid, Object: now.object}
}

// without lists a path that could not be read. What the last checkpoint had of it is no longer part of this one.
func (t *taking) without(path string, why Reason, size int64) error {
	t.found.pass(path, why, size)
	if _, had := t.series.read[path]; had {
		return t.out.remove(path)
	}
	return nil
}

func (t *taking) link(path string, seen look) error {
	target, err := t.files.root.Readlink(path)
	if err != nil {
		return t.without(path, Changing, seen.size)
	}
	now := reading{look: seen, at: t.series.now(), object: objectOf([]byte(target))}
	if !t.inTree(path, now) {
		if err := t.out.file(path, gitLink, []byte(target)); err != nil {
			return err
		}
	}
	t.keep(path, now)
	return nil
}

// inTree reports whether the tree with which this checkpoint begins has the content and the mode, as far as git keeps that.
func (t *taking) inTree(path string, now reading) bool {
	before, known := t.series.read[path]
	return known && before.entry().sameInTree(now.entry())
}

// heldBytes is how much of a file is held in memory. A longer one is read twice: git wants to know its length first, and the second reading must find
// what the first has found.
const heldBytes = 4 << 20

// content reads a file, and writes what git does not have of it yet.
func (t *taking) content(path string, now *reading) error {
	file, err := t.files.open(path, now.look)
	if err != nil {
		return err
	}
	defer file.Close()
	mode := now.entry().gitMode()
	if now.size <= heldBytes {
		content, err := io.ReadAll(io.LimitReader(file, now.size+1))
		if err != nil {
			return err
		}
		t.bytes += int64(len(content))
		if err := t.still(file, *now, int64(len(content))); err != nil {
			return err
		}
		if now.object = objectOf(content); t.inTree(path, *now) {
			return nil
		}
		return t.out.file(path, mode, content)
	}
	if now.object, err = t.hash(file, *now); err != nil || t.inTree(path, *now) {
		return err
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	sum := newObject(now.size)
	if err := t.out.stream(path, mode, now.size, io.TeeReader(file, sum)); err != nil {
		return err
	}
	if hex.EncodeToString(sum.Sum(nil)) != now.object {
		return errors.Join(errChanging, t.out.remove(path))
	}
	return t.still(file, *now, now.size)
}

// still reports whether a file that was read is still as it was looked at.
func (t *taking) still(file *os.File, now reading, read int64) error {
	if after, err := lookAt(file); err != nil || after != now.look || read != now.size {
		return errChanging
	}
	return nil
}

func (t *taking) hash(file *os.File, now reading) (string, error) {
	sum := newObject(now.size)
	n, err := io.Copy(sum, io.LimitReader(file, now.size))
	t.bytes += n
	if err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), t.still(file, now, n)
}

// newObject begins the id of a content of that length, as git computes it.
func newObject(size int64) hash.Hash {
	sum := sha256.New()
	io.WriteString(sum, "blob "+strconv.FormatInt(size, 10)+"\x00") //nolint:errcheck // a hash has no errors
	return sum
}

func objectOf(content []byte) string {
	sum := newObject(int64(len(content)))
	sum.Write(content)
	return hex.EncodeToString(sum.Sum(nil))
}

// complete adds the folders, and what is not covered.
func (t *taking) complete() {
	for path, seen := range t.found.folders {
		t.next.entries[path] = Entry{Mode: seen.mode, UID: seen.uid, GID: seen.gid}
	}
	t.next.usual = usualOf(t.next.entries)
	t.next.notCovered = t.found.notCovered
	if t.series.last == "" {
		return
	}
	t.next.by = map[string]By{}
	for _, path := range t.next.differing(t.series.listed) {
		t.next.by[path] = t.by(path, t.series.listed.entries[path], t.next.entries[path])
	}
}

// writeManifest writes the manifest, unless nothing differs from the last checkpoint.
func (t *taking) writeManifest() error {
	if t.series.last != "" && !t.out.begun() && len(t.next.by) == 0 && slices.Equal(t.next.notCovered, t.series.listed.notCovered) {
		return nil
	}
	return t.out.entry(manifestFile, gitPlain, append(t.next.manifest(), t.next.attribution()...))
}
