package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"unicode/utf8"
)

// TakePaths takes a checkpoint after a file tool has written some paths: files, and folders with all that they hold, relative to the workspace. It does not
// look at other paths; the checkpoint has them as the last one does. It also records the new folders above the paths. It does the same as [Series.Take] if
// the other paths cannot stay, for instance after a change of a .gitignore, and if this process has not yet looked at the whole folder. It does not look at
// the user's repository; the next Take does.
func (s *Series) TakePaths(ctx context.Context, paths []string, by Attribute) (Checkpoint, error) {
	release, err := s.use(ctx)
	if err != nil {
		return Checkpoint{}, err
	}
	defer release()
	if s.last == "" || !s.walked {
		return s.takeAll(ctx, by)
	}
	only, err := scopeOf(paths)
	var found *walk
	if err == nil {
		found, err = s.find(ctx, only)
	}
	if err == nil && s.mayExceed(found) {
		err = errNotInPart
	}
	switch {
	case errors.Is(err, errNotInPart):
		return s.takeAll(ctx, by)
	case err != nil:
		return Checkpoint{}, err
	}
	return s.record(ctx, found, by)
}

// errNotInPart: a walk over some paths is not enough, the checkpoint needs one over the whole folder.
var errNotInPart = errors.New("checkpoint: the whole folder counts")

// scope confines a walk to some paths. For each folder above the paths it has the names to look at. The walk looks at every name in the other folders.
type scope map[string][]string

func scopeOf(paths []string) (scope, error) {
	only := scope{"": nil}
	cleaned := make([]string, 0, len(paths))
	for _, path := range paths {
		path = filepath.Clean(path)
		switch {
		case !filepath.IsLocal(path):
			return nil, fmt.Errorf("checkpoint: %.200q is no path in the workspace", path)
		case path == ".", !utf8.ValidString(path): // a checkpoint lists a name that is not UTF-8 under another name, which several files may share
			return nil, errNotInPart
		}
		cleaned = append(cleaned, path)
	}
	slices.Sort(cleaned)
	named := map[string]bool{}
	for _, path := range cleaned {
		if !under(path, named) {
			named[path] = true
			only.add(path)
		}
	}
	return only, nil
}

// under reports whether a path, or a folder above it, is in a set.
func under(path string, all map[string]bool) bool {
	for ; path != "."; path = filepath.Dir(path) {
		if all[path] {
			return true
		}
	}
	return false
}

func (o scope) add(path string) {
	for path != "." {
		folder, name := filepath.Dir(path), filepath.Base(path)
		if folder == "." {
			o[""] = addName(o[""], name)
			return
		}
		o[folder] = addName(o[folder], name)
		path = folder
	}
}

func addName(names []string, name string) []string {
	if slices.Contains(names, name) {
		return names
	}
	return append(names, name)
}

// part is the part of the last checkpoint that a confined walk replaces.
type part struct {
	roots      map[string]bool // the walk replaces these paths and all paths below them
	notCovered []NotCovered    // the paths elsewhere that the last checkpoint does not cover
	elsewhere  int             // the number of files elsewhere, at most
}

func (p *part) has(path string) bool { return under(path, p.roots) }

// findPart finds the part of the last checkpoint that the walk replaces. A folder above the paths belongs to the part only if it is new, gone, or no longer
// covered. The next Take records a change of its mode.
func (s *Series) findPart(found *walk, only scope) error {
	p := &part{roots: map[string]bool{}, elsewhere: len(s.read) + len(s.listed.notCovered)}
	passed := maps.Clone(found.pending)
	for _, one := range found.notCovered {
		passed[one.Path] = look{}
	}
	for folder, names := range only {
		for _, name := range names {
			path := filepath.Join(folder, name)
			_, isAbove := only[path]
			_, entered := found.folders[path]
			if _, without := passed[path]; without {
				entered = false
			}
			switch {
			case isAbove && found.files[path].mode&fs.ModeSymlink != 0: // the link leads the paths elsewhere
				return errNotInPart
			case isAbove && entered && s.listed.entries[path].Mode.IsDir():
				delete(found.folders, path)
			case isAbove && entered && s.listed.lacks(path): // the folder is now covered, and the walk has not looked at its other paths
				return errNotInPart
			default:
				p.roots[path] = true
			}
		}
	}
	for _, one := range s.listed.notCovered {
		if !p.has(one.Path) {
			p.notCovered = append(p.notCovered, one)
		}
	}
	found.part = p
	return nil
}

// mayExceed reports whether the folder may have more ignored files than the limit. Then the order of all paths decides which of them are covered.
func (s *Series) mayExceed(found *walk) bool {
	if slices.ContainsFunc(s.listed.notCovered, func(one NotCovered) bool { return one.Reason == IgnoredTooMany }) {
		return true
	}
	ignored, isNew := 0, false
	for path := range found.files {
		if _, had := s.read[path]; !had {
			isNew = true
		}
		if s.ignored.verdicts[path] {
			ignored++
		}
	}
	if !isNew || found.candidates() <= s.limits.IgnoredFiles {
		return false
	}
	for path := range s.read {
		isIgnored, known := s.ignored.verdicts[path]
		if isIgnored {
			ignored++
		}
		if !known || ignored > s.limits.IgnoredFiles {
			return true
		}
	}
	return false
}

// of returns the entries of a listing that lie in the part.
func (p *part) of(l *listing) *listing {
	all := map[string]Entry{}
	hasFolder := false
	for root := range p.roots {
		if one, there := l.entries[root]; there {
			all[root] = one
			hasFolder = hasFolder || one.Mode.IsDir()
		}
	}
	if hasFolder {
		for path, one := range l.entries {
			if p.has(path) {
				all[path] = one
			}
		}
	}
	return &listing{entries: all}
}

// complete adds the entries of the last checkpoint that lie outside the part.
func (l *listing) complete(last, part *listing) {
	found := l.entries
	l.entries, l.usual = maps.Clone(last.entries), last.usual
	for path := range part.entries {
		delete(l.entries, path)
	}
	maps.Copy(l.entries, found)
}
