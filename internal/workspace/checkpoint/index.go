package checkpoint

import (
	"bufio"
	"bytes"
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

// index remembers what was last read of each file of a workspace, and a tree of the repository that has the contents. It saves the next series, and one that
// goes on after a restart, from reading the whole folder again. It is no more than that: without it, or with one of another time, checkpoints are the same.
type index struct {
	tree string // the root tree of a checkpoint; baseRef holds it
	read map[string]reading
}

const (
	indexFile    = "signoff-index" // git has one of its own
	indexVersion = "signoff index 1"
	baseRef      = "refs/base"
)

// saveIndex replaces the index of the repository. Of several series, the last one counts.
func (r *Repository) saveIndex(x index) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s\x00", indexVersion, x.tree)
	for _, path := range slices.Sorted(maps.Keys(x.read)) {
		one := x.read[path]
		fmt.Fprintf(&b, "%o %d %d %d %d %d %d %d %d %s %s\x00", uint32(one.mode), one.size, one.modified, one.changed, int64(one.device), int64(one.inode),
			one.uid, one.gid, one.at.UnixNano(), one.object, path)
	}
	return replace(filepath.Join(r.folder, indexFile), b.Bytes())
}

var errIndex = errors.New("checkpoint: the index cannot be read")

// loadIndex returns an empty index where there is none that can be read.
func (r *Repository) loadIndex() index {
	empty := index{read: map[string]reading{}}
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
	tree, known := strings.CutPrefix(scanner.Text(), indexVersion+" ")
	if !known || !isObject(tree) {
		return index{}, errIndex
	}
	x := index{tree: tree, read: map[string]reading{}}
	for scanner.Scan() {
		path, one, err := readReading(scanner.Text())
		if err != nil {
			return index{}, err
		}
		x.read[path] = one
	}
	return x, scanner.Err()
}

func readReading(record string) (path string, one reading, err error) {
	fields := strings.SplitN(record, " ", 11)
	if len(fields) != 11 || !isObject(fields[9]) {
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
	return fields[10], reading{
		look: look{
			mode: fs.FileMode(mode), size: numbers[0], modified: numbers[1], changed: numbers[2], device: uint64(numbers[3]), inode: uint64(numbers[4]),
			uid: uint32(numbers[5]), gid: uint32(numbers[6]),
		},
		at: time.Unix(0, numbers[7]), object: fields[9],
	}, nil
}
