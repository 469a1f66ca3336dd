package checkpoint

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
)

// Reason says why a path is not covered.
type Reason string

// Reasons.
const (
	TooLarge         Reason = "tooLarge"         // larger than [Limits.File]
	IgnoredTooLarge  Reason = "ignoredTooLarge"  // named by a .gitignore, and larger than [Limits.IgnoredFile]
	IgnoredTooMany   Reason = "ignoredTooMany"   // named by a .gitignore, beyond the first [Limits.IgnoredFiles]
	Generated        Reason = "generated"        // a folder of dependencies or of build output
	NestedRepository Reason = "nestedRepository" // a git repository in the folder, or a submodule
	OtherMount       Reason = "otherMount"       // on another file system
	Special          Reason = "special"          // a socket, a pipe or a device
	Unreadable       Reason = "unreadable"       // the server may not read it
	Hidden           Reason = "hidden"           // hidden from executions, such as the server's data
	Changing         Reason = "changing"         // it was written while it was read
	NotText          Reason = "notText"          // its name is not UTF-8
	TooDeep          Reason = "tooDeep"          // below more than 200 folders
)

// NotCovered is a file or folder that a checkpoint does not have.
type NotCovered struct {
	Path   string // relative to the workspace
	Reason Reason
	Bytes  int64 // of a file; 0 for a folder, whose content nobody has counted
}

// Limits bound what a checkpoint copies.
type Limits struct {
	File         int64 // bytes of one file
	IgnoredFile  int64 // bytes of one file that a .gitignore names
	IgnoredFiles int   // files that a .gitignore names
}

// DefaultLimits are those of every execution.
var DefaultLimits = Limits{File: 64 << 20, IgnoredFile: 1 << 20, IgnoredFiles: 10_000}

// generated says when a folder is passed over.
type generated int

const (
	generatedAlways    generated = iota + 1 // by its name alone
	generatedIfIgnored                      // if a .gitignore names it: the name is an ordinary one, too
)

// generatedFolders hold files that a command makes again out of the others.
var generatedFolders = map[string]generated{
	"node_modules": generatedAlways, "bower_components": generatedAlways, ".venv": generatedAlways, "__pycache__": generatedAlways,
	".tox": generatedAlways, ".nox": generatedAlways, ".mypy_cache": generatedAlways, ".pytest_cache": generatedAlways, ".ruff_cache": generatedAlways,
	".gradle": generatedAlways, ".terraform": generatedAlways, ".next": generatedAlways, ".nuxt": generatedAlways, ".svelte-kit": generatedAlways,
	".parcel-cache": generatedAlways, ".turbo": generatedAlways, ".dart_tool": generatedAlways, ".eggs": generatedAlways,
	"target": generatedIfIgnored, "build": generatedIfIgnored, "dist": generatedIfIgnored, "out": generatedIfIgnored, "vendor": generatedIfIgnored,
	"venv": generatedIfIgnored, "env": generatedIfIgnored, "bin": generatedIfIgnored, "obj": generatedIfIgnored, ".cache": generatedIfIgnored,
	"coverage": generatedIfIgnored, "Pods": generatedIfIgnored, "_build": generatedIfIgnored, "deps": generatedIfIgnored, ".bundle": generatedIfIgnored,
}

// ignoring remembers which paths a .gitignore names, for as long as no .gitignore changes.
type ignoring struct {
	files    map[string]look // each .gitignore
	verdicts map[string]bool // a folder's path ends in a slash
}

// find walks over the folder and keeps of it what a checkpoint covers.
func (s *Series) find(ctx context.Context) (*walk, error) {
	found, err := s.walkAndJudge(ctx, func(relative string) bool { // a folder that was not ignored the last time is most likely not ignored now
		ignored, known := s.ignored.verdicts[relative+"/"]
		return known && !ignored
	})
	if err != nil {
		return nil, err
	}
	for relative := range found.pending {
		if s.ignored.verdicts[relative+"/"] {
			continue
		}
		found, err = s.walkAndJudge(ctx, func(relative string) bool { return !s.ignored.verdicts[relative+"/"] })
		if err != nil {
			return nil, err
		}
		break
	}
	for relative := range found.pending {
		found.pass(relative, Generated, 0)
	}
	s.limit(found)
	slices.SortFunc(found.notCovered, func(a, b NotCovered) int { return strings.Compare(a.Path, b.Path) })
	found.notCovered = slices.CompactFunc(found.notCovered, func(a, b NotCovered) bool { return a.Path == b.Path })
	return found, nil
}

// walkAndJudge walks over the folder, and has a verdict on each path for which that counts.
func (s *Series) walkAndJudge(ctx context.Context, enter func(relative string) bool) (*walk, error) {
	found, err := s.walkOver(ctx, enter)
	if err != nil {
		return nil, err
	}
	return found, s.judge(ctx, found)
}

// judge asks git which of the paths that it matters for are ignored.
func (s *Series) judge(ctx context.Context, found *walk) error {
	rules := map[string]look{}
	for relative, seen := range found.files {
		if path.Base(relative) == ".gitignore" {
			rules[relative] = seen
		}
	}
	if !maps.Equal(rules, s.ignored.files) {
		s.ignored = ignoring{files: rules, verdicts: map[string]bool{}}
	}
	var open []string
	ask := func(relative string) {
		if _, known := s.ignored.verdicts[relative]; !known {
			open = append(open, relative)
		}
	}
	for relative := range found.pending {
		ask(relative + "/")
	}
	for relative, seen := range found.files {
		if s.mattersIfIgnored(found, seen) {
			ask(relative)
		}
	}
	if len(open) == 0 {
		return nil
	}
	if len(rules) == 0 {
		for _, relative := range open {
			s.ignored.verdicts[relative] = false
		}
		return nil
	}
	return s.askGit(ctx, open)
}

// mattersIfIgnored reports whether a file is covered or not depending on what a .gitignore says.
func (s *Series) mattersIfIgnored(found *walk, seen look) bool {
	return len(found.files) > s.limits.IgnoredFiles || seen.size > s.limits.IgnoredFile && seen.size <= s.limits.File
}

// askGit keeps the verdict on each path.
func (s *Series) askGit(ctx context.Context, paths []string) error {
	slices.Sort(paths)
	out, err := s.repository.run(ctx, strings.NewReader(strings.Join(paths, "\x00")+"\x00"), s.workspace,
		"git", "check-ignore", "--no-index", "-z", "--stdin")
	if exit := (*ExitError)(nil); errors.As(err, &exit) && exit.Code == 1 {
		err = nil // none is ignored
	}
	if err != nil {
		return err
	}
	for _, relative := range paths {
		s.ignored.verdicts[relative] = false
	}
	for relative := range bytes.SplitSeq(bytes.TrimSuffix(out, []byte{0}), []byte{0}) {
		s.ignored.verdicts[string(relative)] = true
	}
	return nil
}

// limit drops the files that are too large or too many.
func (s *Series) limit(found *walk) {
	ignored := 0
	for _, relative := range slices.Sorted(maps.Keys(found.files)) {
		seen := found.files[relative]
		reason := Reason("")
		isIgnored := s.ignored.verdicts[relative] && s.mattersIfIgnored(found, seen)
		switch {
		case seen.mode&fs.ModeSymlink != 0:
		case seen.size > s.limits.File:
			reason = TooLarge
		case isIgnored && seen.size > s.limits.IgnoredFile:
			reason = IgnoredTooLarge
		case isIgnored && ignored >= s.limits.IgnoredFiles:
			reason = IgnoredTooMany
		case isIgnored:
			ignored++
		}
		if reason != "" {
			found.pass(relative, reason, seen.size)
		}
	}
	for _, one := range found.notCovered {
		delete(found.files, one.Path)
		delete(found.folders, one.Path)
	}
}
