package checkpoint

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// index lists the last reading of each file of a workspace, and a tree of the repository that has the contents. With it, the next series, and one that goes on
// after a restart, need not read the whole folder again. It is only a cache: without it, or with an old one, checkpoints hold the same.
type index struct {
	tree     string // the root tree of a checkpoint; a pruning that removes the tree removes the index
	first    root   // of that checkpoint; the zero value: it is not the first of its series
	read     map[string]reading
	verdicts map[string]bool // see [ignoring]; they follow from the files named .gitignore in read
}

// root is the first checkpoint of a series. Another series may begin with the same one.
type root struct {
	commit   string // it has no parent, so it holds no checkpoint of a deleted series
	manifest string // the id of its manifest
}

const (
	indexFile    = "signoff-index" // git has one of its own
	indexVersion = "signoff index 3"
)

// saveIndex replaces the index of the repository. Of several series, the last one counts.
func (r *Repository) saveIndex(x index) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s %s %s\x00", indexVersion, x.tree, cmp.Or(x.first.commit, "-"), cmp.Or(x.first.manifest, "-"))
	for _, path := range slices.Sorted(maps.Keys(x.read)) {
		one := x.read[path]
		fmt.Fprintf(&b, "%o %d %d %d %d %d %d %d %d %s %s %s\x00", uint32(one.mode), one.size, one.modified, one.changed, int64(one.device), int64(one.inode),
			one.uid, one.gid, one.at.UnixNano(), one.object, written(one.acl), path)
	}
	for _, path := range slices.Sorted(maps.Keys(x.verdicts)) {
		kind := verdictKept
		if x.verdicts[path] {
			kind = verdictIgnored
		}
		fmt.Fprintf(&b, "%s%s\x00", kind, path)
	}
	return replace(filepath.Join(r.folder, indexFile), b.Bytes())
}

// The first bytes of the records of verdicts. The other records begin with a digit.
const (
	verdictKept    = "-"
	verdictIgnored = "+"
)

var errIndex = errors.New("checkpoint: the index cannot be read")

// loadIndex returns an empty index where there is none that can be read.
func (r *Repository) loadIndex() index {
	empty := index{read: map[string]reading{}, verdicts: map[string]bool{}}
	content, err := os.ReadFile(filepath.Join(r.folder, indexFile))
	if err != nil {
		return empty
	}
	x, err := readIndex(content)
	if err != nil {
		return empty
	}
	return x
}

func readIndex(content []byte) (index, error) {
	scanner := bufio.NewScanner(bytes.NewReader(content))
	scanner.Buffer(nil, 1<<20)
	scanner.Split(splitZero)
	if !scanner.Scan() {
		return index{}, errIndex
	}
	head, known := strings.CutPrefix(scanner.Text(), indexVersion+" ")
	fields := strings.Fields(head)
	if !known || len(fields) != 3 || !isObject(fields[0]) {
		return index{}, errIndex
	}
	x := index{tree: fields[0], read: map[string]reading{}, verdicts: map[string]bool{}}
	if isObject(fields[1]) && isObject(fields[2]) {
		x.first = root{commit: fields[1], manifest: fields[2]}
	}
	for scanner.Scan() {
		if path, isKept := strings.CutPrefix(scanner.Text(), verdictKept); isKept {
			x.verdicts[path] = false
			continue
		}
		if path, isIgnored := strings.CutPrefix(scanner.Text(), verdictIgnored); isIgnored {
			x.verdicts[path] = true
			continue
		}
		path, one, err := readReading(scanner.Text())
		if err != nil {
			return index{}, err
		}
		x.read[path] = one
	}
	return x, scanner.Err()
}

func readReading(record string) (path string, one reading, err error) {
	fields := strings.SplitN(record, " ", 12)
	if len(fields) != 12 || !isObject(fields[9]) {
		return "", reading{}, errIndex
	}
	mode, err := strconv.ParseUint(fields[0], 8, 32)
	if err != nil {
		return "", reading{}, errIndex
	}
	var numbers [8]int64
	for i := range numbers {
		if numbers[i], err = strconv.ParseInt(fields[i+1], 10, 64); err != nil {
			return "", reading{}, errIndex
		}
	}
	acl, err := readWritten(fields[10])
	if err != nil {
		return "", reading{}, errIndex
	}
	return fields[11], reading{
		look: look{
			mode: fs.FileMode(mode), size: numbers[0], modified: numbers[1], changed: numbers[2], device: uint64(numbers[3]), inode: uint64(numbers[4]),
			uid: uint32(numbers[5]), gid: uint32(numbers[6]),
		},
		at: time.Unix(0, numbers[7]), object: fields[9], acl: acl,
	}, nil
}
