package checkpoint

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Entry is a file, a link or a folder of a checkpoint.
type Entry struct {
	Mode     fs.FileMode // type, permissions, setuid, setgid, sticky
	UID, GID uint32
	Object   string // git's id of the content, or of the target of a link; empty for a folder
	ACLs     acls
}

// listing is everything that a checkpoint holds, by paths relative to the workspace.
type listing struct {
	entries    map[string]Entry // files, links and folders
	usual      usual
	notCovered []NotCovered
	by         map[string]By // who changed each path since the checkpoint before; nil: unknown, or not read

	holding map[string]bool // folders that hold an entry; nil: not counted yet
}

// differing are the paths at which two listings differ.
func (l *listing) differing(other *listing) []string {
	var all []string
	for name, is := range l.entries {
		if was, there := other.entries[name]; !there || was != is {
			all = append(all, name)
		}
	}
	for name := range other.entries {
		if _, there := l.entries[name]; !there {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all
}

// cover sets the list of paths that are not covered, each path once.
func (l *listing) cover(all []NotCovered) {
	slices.SortFunc(all, func(a, b NotCovered) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), cmp.Compare(a.Reason, b.Reason))
	})
	l.notCovered = slices.CompactFunc(all, func(a, b NotCovered) bool { return a.Path == b.Path })
}

// usual are the modes and the owner that most entries have. A manifest names only what differs.
type usual struct {
	plain, executable, folder fs.FileMode
	uid, gid                  uint32
}

// usualOf counts. Of equally frequent ones the smallest counts, so that one listing has one manifest.
func usualOf(entries map[string]Entry) usual {
	plain, executable, folder := map[fs.FileMode]int{}, map[fs.FileMode]int{}, map[fs.FileMode]int{}
	owners := map[[2]uint32]int{}
	for _, one := range entries {
		owners[[2]uint32{one.UID, one.GID}]++
		switch {
		case one.Mode.IsDir():
			folder[one.Mode]++
		case one.gitMode() == gitExecutable:
			executable[one.Mode]++
		case one.gitMode() == gitPlain:
			plain[one.Mode]++
		}
	}
	owner := most(owners, [2]uint32{}, func(a, b [2]uint32) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) })
	return usual{
		plain: most(plain, 0o644, cmp.Compare[fs.FileMode]), executable: most(executable, 0o755, cmp.Compare[fs.FileMode]),
		folder: most(folder, fs.ModeDir|0o755, cmp.Compare[fs.FileMode]), uid: owner[0], gid: owner[1],
	}
}

func most[K comparable](counted map[K]int, otherwise K, compare func(a, b K) int) K {
	best, count := otherwise, 0
	for one, n := range counted {
		if n > count || n == count && compare(one, best) < 0 {
			best, count = one, n
		}
	}
	return best
}

// of is the usual entry of a kind.
func (u usual) of(kind gitMode) Entry {
	switch kind {
	case gitFolder:
		return Entry{Mode: u.folder, UID: u.uid, GID: u.gid}
	case gitExecutable:
		return Entry{Mode: u.executable, UID: u.uid, GID: u.gid}
	case gitLink:
		return Entry{Mode: fs.ModeSymlink | 0o777, UID: u.uid, GID: u.gid}
	default:
		return Entry{Mode: u.plain, UID: u.uid, GID: u.gid}
	}
}

// gitMode is the mode of an entry in a tree.
type gitMode string

const (
	gitPlain      gitMode = "100644"
	gitExecutable gitMode = "100755"
	gitLink       gitMode = "120000"
	gitFolder     gitMode = "040000"
)

func (e Entry) gitMode() gitMode {
	switch {
	case e.Mode.IsDir():
		return gitFolder
	case e.Mode&fs.ModeSymlink != 0:
		return gitLink
	case e.Mode&0o100 != 0:
		return gitExecutable
	default:
		return gitPlain
	}
}

// sameInTree reports whether a tree of git keeps both alike: their contents are equal, and their modes are as far as git keeps them.
func (e Entry) sameInTree(other Entry) bool {
	return e.Object == other.Object && e.gitMode() == other.gitMode()
}

// manifestVersion is the first line of a manifest.
const manifestVersion = "signoff manifest 1"

// manifest writes what git does not keep. Records end with a zero byte, which no path has.
func (l *listing) manifest() []byte {
	var b bytes.Buffer
	u := l.usual
	fmt.Fprintf(&b, "%s\x00", manifestVersion)
	fmt.Fprintf(&b, "usual %o %o %o %d %d\x00", bits(u.plain), bits(u.executable), bits(u.folder), u.uid, u.gid)
	for _, name := range l.exceptions() {
		one, kind := l.entries[name], "file"
		if one.Mode.IsDir() {
			kind = "folder"
		}
		fmt.Fprintf(&b, "%s %o %d %d %s\x00", kind, bits(one.Mode), one.UID, one.GID, name)
		if one.ACLs != (acls{}) {
			fmt.Fprintf(&b, "acl %s %s %s\x00", written(one.ACLs.Access), written(one.ACLs.Default), name)
		}
	}
	for _, one := range l.notCovered {
		fmt.Fprintf(&b, "without %s %d %s\x00", one.Reason, one.Bytes, one.Path)
	}
	return b.Bytes()
}

// exceptions returns the entries that differ from usual, and the empty folders.
func (l *listing) exceptions() []string {
	var all []string
	for name, one := range l.entries {
		expected := l.usual.of(one.gitMode())
		expected.Object = one.Object
		if one != expected || one.Mode.IsDir() && !l.occupied()[name] {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all
}

// attribution is the last part of a manifest. It is about the way to the checkpoint, and no part of what the checkpoint holds.
func (l *listing) attribution() []byte {
	var b bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(l.by)) {
		fmt.Fprintf(&b, "by %s %s\x00", l.by[name], name)
	}
	return b.Bytes()
}

// readAttribution reads the attribution of a manifest.
func readAttribution(manifest []byte, each func(name string, by By)) error {
	for record := range strings.SplitSeq(strings.TrimSuffix(string(manifest), "\x00"), "\x00") {
		rest, isAttribution := strings.CutPrefix(record, "by ")
		if !isAttribution {
			continue
		}
		who, name, whole := strings.Cut(rest, " ")
		if !whole {
			return errManifest
		}
		each(name, By(who))
	}
	return nil
}

// occupied returns the folders that hold an entry.
func (l *listing) occupied() map[string]bool {
	if l.holding == nil {
		l.holding = map[string]bool{}
		for entry := range l.entries {
			for folder := path.Dir(entry); folder != "." && !l.holding[folder]; folder = path.Dir(folder) {
				l.holding[folder] = true
			}
		}
	}
	return l.holding
}

// bits are a mode as chmod(1) has it, without the type.
func bits(mode fs.FileMode) uint32 {
	all := uint32(mode.Perm())
	for flag, bit := range modeBits {
		if mode&flag != 0 {
			all |= bit
		}
	}
	return all
}

var modeBits = map[fs.FileMode]uint32{fs.ModeSetuid: 0o4000, fs.ModeSetgid: 0o2000, fs.ModeSticky: 0o1000}

func modeOf(all uint32) fs.FileMode {
	mode := fs.FileMode(all & 0o777)
	for flag, bit := range modeBits {
		if all&bit != 0 {
			mode |= flag
		}
	}
	return mode
}

var errManifest = errors.New("checkpoint: the manifest cannot be read")

// readListing puts the tree, as `git ls-tree -r -z` prints it, and the manifest together.
func readListing(tree, manifest []byte) (*listing, error) {
	records := strings.Split(strings.TrimSuffix(string(manifest), "\x00"), "\x00")
	if len(records) < 2 || records[0] != manifestVersion {
		return nil, errManifest
	}
	u, err := readUsual(records[1])
	if err != nil {
		return nil, err
	}
	l := &listing{entries: map[string]Entry{}, usual: u}
	if err := l.readTree(tree); err != nil {
		return nil, err
	}
	for _, record := range records[2:] {
		if err := l.readRecord(record); err != nil {
			return nil, err
		}
	}
	for folder := range l.occupied() {
		if _, listed := l.entries[folder]; !listed {
			l.entries[folder] = u.of(gitFolder)
		}
	}
	return l, nil
}

func readUsual(record string) (u usual, err error) {
	var plain, executable, folder uint32
	if n, err := fmt.Sscanf(record, "usual %o %o %o %d %d", &plain, &executable, &folder, &u.uid, &u.gid); err != nil || n != 5 {
		return u, errManifest
	}
	u.plain, u.executable, u.folder = modeOf(plain), modeOf(executable), fs.ModeDir|modeOf(folder)
	return u, nil
}

func (l *listing) readTree(tree []byte) error {
	scanner := bufio.NewScanner(bytes.NewReader(tree))
	scanner.Buffer(nil, 1<<20)
	scanner.Split(splitZero)
	for scanner.Scan() { // MODE blob ID TAB files/PATH
		about, name, hasName := strings.Cut(scanner.Text(), "\t")
		fields := strings.Fields(about)
		name, isFile := strings.CutPrefix(name, filesFolder)
		if !hasName || len(fields) < 3 || !isFile {
			continue
		}
		one := l.usual.of(gitMode(fields[0]))
		one.Object = fields[2]
		l.entries[name] = one
	}
	return scanner.Err()
}

// readRecord applies one exception.
func (l *listing) readRecord(record string) error {
	kind, rest, _ := strings.Cut(record, " ")
	switch kind {
	case "by":
		return nil // of the way to the checkpoint
	case "without":
		fields := strings.SplitN(rest, " ", 3)
		if len(fields) != 3 {
			return errManifest
		}
		size, err := strconv.ParseInt(fields[1], 10, 64)
		if err != nil {
			return errManifest
		}
		l.notCovered = append(l.notCovered, NotCovered{Path: fields[2], Reason: Reason(fields[0]), Bytes: size})
		return nil
	case "acl":
		return l.readACL(strings.SplitN(rest, " ", 3))
	}
	fields := strings.SplitN(rest, " ", 4)
	if len(fields) != 4 {
		return errManifest
	}
	mode, modeErr := strconv.ParseUint(fields[0], 8, 32)
	uid, uidErr := strconv.ParseUint(fields[1], 10, 32)
	gid, gidErr := strconv.ParseUint(fields[2], 10, 32)
	if errors.Join(modeErr, uidErr, gidErr) != nil {
		return errManifest
	}
	one := l.entries[fields[3]]
	one.Mode, one.UID, one.GID = one.Mode.Type()|modeOf(uint32(mode)), uint32(uid), uint32(gid)
	switch kind {
	case "folder":
		one.Mode |= fs.ModeDir
	case "file":
		if one.Object == "" {
			return errManifest
		}
	default:
		return errManifest
	}
	l.entries[fields[3]] = one
	return nil
}

// readACL applies the ACLs of an exception that stands before them.
func (l *listing) readACL(fields []string) error {
	if len(fields) != 3 {
		return errManifest
	}
	access, accessErr := readWritten(fields[0])
	byDefault, defaultErr := readWritten(fields[1])
	one, known := l.entries[fields[2]]
	if errors.Join(accessErr, defaultErr) != nil || !known {
		return errManifest
	}
	one.ACLs = acls{access, byDefault}
	l.entries[fields[2]] = one
	return nil
}

// splitZero splits at zero bytes.
func splitZero(data []byte, atEOF bool) (advance int, token []byte, err error) {
	if i := bytes.IndexByte(data, 0); i >= 0 {
		return i + 1, data[:i], nil
	}
	if atEOF && len(data) > 0 {
		return len(data), data, nil
	}
	return 0, nil, nil
}
