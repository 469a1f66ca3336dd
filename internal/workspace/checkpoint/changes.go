package checkpoint

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Change is how a path differs between two checkpoints.
type Change struct {
	Path   string
	From   string // the earlier path of a renamed file; empty: it was not renamed
	Kind   ChangeKind
	By     By
	Before Entry // the zero value: nothing was there
	After  Entry // the zero value: nothing is there
	Binary bool  // no text: additions and deletions are 0
	// Additions and Deletions are lines.
	Additions, Deletions int
}

// ChangeKind is what became of a path.
type ChangeKind string

// ChangeKinds.
const (
	Added       ChangeKind = "added"
	Modified    ChangeKind = "modified"
	Deleted     ChangeKind = "deleted"
	Renamed     ChangeKind = "renamed"
	TypeChanged ChangeKind = "typeChanged" // a file has become a link, or the reverse
	ModeChanged ChangeKind = "modeChanged" // only its mode or its owner is another
)

// Changes compares two checkpoints, also of different series. It attributes the changes only if the second checkpoint is a later one of the same series. If
// several writers have changed a path in between, others count before uncertain ones, and those before the execution.
func (r *Repository) Changes(ctx context.Context, from, to string) ([]Change, error) {
	before, err := r.listing(ctx, from)
	if err != nil {
		return nil, err
	}
	after, err := r.listing(ctx, to)
	if err != nil {
		return nil, err
	}
	compared, err := r.run(ctx, nil, "", "sh", "-c", compareScript, "sh", from, to)
	if err != nil {
		return nil, err
	}
	changes, err := readChanges(string(compared))
	if err != nil {
		return nil, err
	}
	by, err := r.attribution(ctx, from, to)
	if err != nil && !errors.Is(err, ErrNotInSeries) {
		return nil, err
	}
	return complete(changes, before, after, after.differing(before), by), nil
}

// compareScript compares two commits.
const compareScript = `exec git diff-tree -r -z --raw --numstat -M --no-ext-diff --no-textconv "$1" "$2" -- files`

var errChanges = errors.New("checkpoint: git's comparison cannot be read")

// readChanges reads the output of `git diff-tree -r -z --raw --numstat -M`. The raw records come first: a colon and five fields (two modes, two ids, a
// status), then the path, and for a rename a second path. The counts follow: "ADDED TAB DELETED TAB PATH", and for a rename an empty path and then both.
func readChanges(text string) ([]Change, error) {
	fields := strings.Split(strings.TrimSuffix(text, "\x00"), "\x00")
	next := func() (string, error) {
		if len(fields) == 0 {
			return "", errChanges
		}
		first := fields[0]
		fields = fields[1:]
		return first, nil
	}
	byPath := map[string]*Change{}
	var all []*Change
	for len(fields) > 0 && fields[0] != "" {
		head, _ := next()
		var err error
		if about, isRaw := strings.CutPrefix(head, ":"); isRaw {
			var one *Change
			if one, err = readRaw(about, next); err == nil {
				byPath[one.Path] = one
				all = append(all, one)
			}
		} else {
			err = readCounts(head, next, byPath)
		}
		if err != nil {
			return nil, err
		}
	}
	changes := make([]Change, 0, len(all))
	for _, one := range all {
		changes = append(changes, *one)
	}
	return changes, nil
}

func readRaw(about string, next func() (string, error)) (*Change, error) {
	parts := strings.Fields(about)
	if len(parts) != 5 {
		return nil, errChanges
	}
	path, err := next()
	one := &Change{}
	if err == nil && parts[4][0] == 'R' {
		one.From = strings.TrimPrefix(path, filesFolder)
		path, err = next()
	}
	if err != nil {
		return nil, err
	}
	one.Path = strings.TrimPrefix(path, filesFolder)
	if !strings.HasPrefix(path, filesFolder) {
		return nil, fmt.Errorf("%w: %.100q", errChanges, path)
	}
	one.Kind = map[byte]ChangeKind{'A': Added, 'D': Deleted, 'M': Modified, 'R': Renamed, 'T': TypeChanged}[parts[4][0]]
	if one.Kind == "" {
		return nil, fmt.Errorf("%w: status %.10q", errChanges, parts[4])
	}
	one.Before.Object, one.After.Object = parts[2], parts[3]
	if strings.Trim(one.Before.Object, "0") == "" {
		one.Before.Object = ""
	}
	if strings.Trim(one.After.Object, "0") == "" {
		one.After.Object = ""
	}
	return one, nil
}

func readCounts(head string, next func() (string, error), byPath map[string]*Change) error {
	parts := strings.SplitN(head, "\t", 3)
	if len(parts) != 3 {
		return errChanges
	}
	path := parts[2]
	if path == "" { // a rename: both paths follow
		if _, err := next(); err != nil {
			return err
		}
		var err error
		if path, err = next(); err != nil {
			return err
		}
	}
	one := byPath[strings.TrimPrefix(path, filesFolder)]
	if one == nil {
		return errChanges
	}
	if parts[0] == "-" {
		one.Binary = true
		return nil
	}
	var err, deletedErr error
	one.Additions, err = strconv.Atoi(parts[0])
	one.Deletions, deletedErr = strconv.Atoi(parts[1])
	return errors.Join(err, deletedErr)
}

// complete adds the differences that git does not see: modes, owners and empty folders. It also adds who changed each path.
func complete(changes []Change, before, after *listing, differing []string, by map[string]By) []Change {
	seen := map[string]bool{}
	for i := range changes {
		one := &changes[i]
		seen[one.Path], seen[one.From] = true, true
		if one.Before.Object != "" {
			one.Before = before.entries[cmp.Or(one.From, one.Path)]
		}
		if one.After.Object != "" {
			one.After = after.entries[one.Path]
		}
		if one.Kind == Modified && one.Before.Object == one.After.Object {
			one.Kind = ModeChanged
		}
	}
	for _, path := range differing {
		was, is := before.entries[path], after.entries[path]
		switch {
		case seen[path]:
		case was != Entry{} && is != Entry{} && was.Mode.Type() == is.Mode.Type():
			changes = append(changes, Change{Path: path, Kind: ModeChanged, Before: was, After: is})
		case was.Mode.IsDir() && !before.occupied()[path]:
			changes = append(changes, Change{Path: path, Kind: Deleted, Before: was})
		case is.Mode.IsDir() && !was.Mode.IsDir() && !after.occupied()[path]:
			changes = append(changes, Change{Path: path, Kind: Added, After: is})
		}
	}
	for i := range changes {
		one := &changes[i]
		one.By = by[one.Path]
		if one.From != "" {
			one.By = worse(one.By, by[one.From])
		}
	}
	slices.SortFunc(changes, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
	return changes
}
