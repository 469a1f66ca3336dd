package checkpoint

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"time"
)

// taking takes one checkpoint.
type taking struct {
	series *Series
	by     Attribute
	found  *walk
	files  reader
	before *listing // the part of the last checkpoint that the walk covers
	next   *listing // the entries that the walk found, and in the end all entries of the checkpoint
	read   map[string]reading
	reads  int    // files and links that were not as the index has them, so far
	bytes  int64  // in them
	held   []byte // the buffer for the content of one file after the other
	out    *importer
}

func (s *Series) newTaking(found *walk, by Attribute, root *os.Root) *taking {
	t := &taking{
		series: s, by: by, found: found, files: reader{root}, before: s.listed,
		next: &listing{entries: make(map[string]Entry, len(found.files)+len(found.folders))}, read: make(map[string]reading, len(found.files)),
	}
	if found.part != nil {
		t.before = found.part.of(s.listed)
	}
	return t
}

// write reads what differs and has git write it. Git starts with the first content that it does not have yet.
func (t *taking) write(ctx context.Context) (imported, error) {
	t.out = &importer{ctx: ctx, series: t.series}
	err := t.writeContents()
	if err == nil {
		t.complete()
		if t.equals(t.series.first) {
			return t.reuse()
		}
		err = t.writeManifest()
	}
	return t.out.finish(err)
}

// equals reports whether the first checkpoint of this series holds the same as the first one of another series.
func (t *taking) equals(first root) bool {
	return t.series.last == "" && first != root{} && !t.out.begun() && ObjectOf(t.next.manifest()) == first.manifest
}

// reuse begins this series with the first checkpoint of another one. Each start of git in isolation takes a tenth of a second, and many executions find their
// folder as the one before has left it.
func (t *taking) reuse() (imported, error) {
	commit := t.series.first.commit
	return imported{id: commit, tree: t.series.base, reused: true}, t.series.repository.setRef(t.series.ref, commit)
}

// writeContents removes the files that are gone, and then reads the others: a folder may have taken the place of a file, or a file that of a folder.
func (t *taking) writeContents() error {
	for _, path := range t.gone() {
		if err := t.out.remove(path); err != nil {
			return err
		}
	}
	for _, path := range t.found.sorted() {
		seen, isCovered := t.found.files[path]
		if !isCovered {
			continue
		}
		if err := t.out.ctx.Err(); err != nil {
			return context.Cause(t.out.ctx)
		}
		if err := t.file(path, seen); err != nil {
			return err
		}
	}
	return nil
}

// gone lists the files of the tree with which this checkpoint begins that the folder has no longer.
func (t *taking) gone() []string {
	var all []string
	add := func(path string) {
		if _, stays := t.found.files[path]; !stays {
			all = append(all, path)
		}
	}
	if t.found.part == nil { // the first checkpoint begins with the tree of the index
		for path := range t.series.read {
			add(path)
		}
	} else {
		for path, one := range t.before.entries {
			if one.Object != "" {
				add(path)
			}
		}
	}
	slices.Sort(all)
	return all
}

// file records one file or link.
func (t *taking) file(path string, seen look) error {
	before, known := t.series.read[path]
	if known && before.look == seen && seen.settled(before.at) {
		t.keep(path, before)
		return nil
	}
	t.reads++
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
	t.next.entries[path] = Entry{Mode: mode, UID: now.uid, GID: now.gid, Object: now.object, ACLs: acls{Access: now.acl}}
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
	now := reading{look: seen, at: t.series.now(), object: ObjectOf([]byte(target))}
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
	if now.acl, err = aclOf(file, accessACL); err != nil {
		return err
	}
	mode := now.entry().gitMode()
	if now.size <= heldBytes {
		t.held = slices.Grow(t.held[:0], int(now.size))
		content := t.held[:now.size]
		n, err := io.ReadFull(file, content)
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return err
		}
		t.bytes += int64(n)
		if err := t.still(file, *now, int64(n)); err != nil {
			return err
		}
		if now.object = ObjectOf(content); t.inTree(path, *now) {
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

// ObjectOf returns the id that git gives a content, as [Entry.Object] has it.
func ObjectOf(content []byte) string {
	sum := newObject(int64(len(content)))
	sum.Write(content)
	return hex.EncodeToString(sum.Sum(nil))
}

// complete adds the folders, and what is not covered.
func (t *taking) complete() {
	for path, seen := range t.found.folders {
		t.next.entries[path] = Entry{Mode: seen.mode, UID: seen.uid, GID: seen.gid, ACLs: t.found.acls[path]}
	}
	without := t.found.notCovered
	if t.found.part != nil {
		without = append(without, t.found.part.notCovered...)
	}
	t.next.cover(without)
	if t.series.last != "" {
		t.attribute()
	}
	switch {
	case t.found.part == nil:
		t.next.usual = usualOf(t.next.entries)
	case t.differs():
		t.next.complete(t.series.listed, t.before)
	}
}

// attribute asks who has changed each path since the last checkpoint.
func (t *taking) attribute() {
	t.next.by = map[string]By{}
	differing := t.next.differing(t.before)
	left := map[string]bool{} // contents
	for _, path := range differing {
		if _, stays := t.next.entries[path]; !stays {
			left[t.before.entries[path].Object] = true
		}
	}
	inUse := map[string]bool{} // asked before the first question who wrote: from then on, whoever closes such a file is seen
	for _, path := range differing {
		if after := t.next.entries[path]; after.Mode.IsRegular() && after.Object != t.before.entries[path].Object && t.files.inUse(path) {
			inUse[path] = true
		}
	}
	for _, path := range differing {
		how := Difference{Before: t.before.entries[path], After: t.next.entries[path], Changed: t.changed(path), InUse: inUse[path]}
		if how.After.Object != "" && how.After.Object != how.Before.Object {
			how.Created = createdAt(filepath.Join(t.series.workspace, path))
			how.Written, how.Moved = time.Unix(0, t.found.files[path].modified), left[how.After.Object]
		}
		t.next.by[path] = t.by(path, how)
	}
}

// changed is [Difference.Changed] of a path.
func (t *taking) changed(name string) time.Time {
	seen := t.found.files[name]
	if seen == (look{}) {
		seen = t.found.folders[name]
	}
	if _, stays := t.next.entries[name]; !stays {
		seen = t.found.top
		if folder := path.Dir(name); folder != "." {
			seen = t.found.folders[folder]
		}
	}
	if seen == (look{}) {
		return time.Time{}
	}
	return time.Unix(0, seen.changed)
}

// differs reports whether anything differs from the last checkpoint.
func (t *taking) differs() bool {
	return t.out.begun() || len(t.next.by) > 0 || t.series.last == "" || !slices.Equal(t.next.notCovered, t.series.listed.notCovered)
}

// writeManifest writes the manifest, unless nothing differs from the last checkpoint.
func (t *taking) writeManifest() error {
	if !t.differs() {
		return nil
	}
	return t.out.entry(manifestFile, gitPlain, append(t.next.manifest(), t.next.attribution()...))
}
