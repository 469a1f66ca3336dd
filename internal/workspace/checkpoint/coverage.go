package checkpoint

import (
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
	files    map[string]look // each .gitignore; nil: no walk has looked for them yet
	verdicts map[string]bool // a folder's path ends in a slash
}

// ignoring returns the verdicts of the index. It returns none if the index does not know the content of each .gitignore.
func (x index) ignoring() ignoring {
	all := ignoring{files: map[string]look{}, verdicts: x.verdicts}
	for relative, one := range x.read {
		if path.Base(relative) != ".gitignore" {
			continue
		}
		if !one.settled(one.at) {
			return ignoring{verdicts: map[string]bool{}}
		}
		all.files[relative] = one.look
	}
	return all
}

// verdicts returns the verdicts for the index: those on paths that the folder still has. It returns none if the index does not have each .gitignore.
func (s *Series) verdicts() map[string]bool {
	all := map[string]bool{}
	for relative, seen := range s.ignored.files {
		if s.read[relative].look != seen {
			return all
		}
	}
	add := func(relative string) {
		if ignored, known := s.ignored.verdicts[relative]; known {
			all[relative] = ignored
		}
	}
	for relative, one := range s.listed.entries {
		add(relative)
		if one.Mode.IsDir() {
			add(relative + "/")
		}
	}
	for _, one := range s.listed.notCovered {
		add(one.Path)
		add(one.Path + "/")
	}
	return all
}

// maxWalks bounds the walks of one checkpoint. Each walk enters the folders that no .gitignore names, as the walk before has found out.
const maxWalks = 5

// find walks over the folder, or over some paths of it, and returns the paths that a checkpoint covers.
func (s *Series) find(ctx context.Context, only scope) (*walk, error) {
	for walks := 1; ; walks++ {
		found, err := s.walkAndJudge(ctx, only)
		if err != nil {
			return nil, err
		}
		if walks < maxWalks && !s.fits(found) {
			continue
		}
		for relative := range found.pending {
			found.pass(relative, Generated, 0)
		}
		s.limit(found)
		return found, nil
	}
}

// walkAndJudge walks over the folder, and gets the verdict on each path for which a verdict matters. It enters a folder that may be generated if the folder was
// not ignored the last time: most likely it is still not ignored.
func (s *Series) walkAndJudge(ctx context.Context, only scope) (*walk, error) {
	found, err := s.walkOver(ctx, only, func(relative string) bool {
		ignored, known := s.ignored.verdicts[relative+"/"]
		return known && !ignored
	})
	if err != nil {
		return nil, err
	}
	if only != nil {
		if err := s.findPart(found, only); err != nil {
			return nil, err
		}
	}
	return found, s.judge(ctx, found)
}

// fits reports whether the walk has entered all folders that are not ignored, and no ignored one.
func (s *Series) fits(found *walk) bool {
	for relative := range found.pending {
		if !s.ignored.verdicts[relative+"/"] {
			return false
		}
	}
	return !slices.ContainsFunc(found.entered, func(relative string) bool { return s.ignored.verdicts[relative+"/"] })
}

// judge asks git which of the paths that it matters for are ignored.
func (s *Series) judge(ctx context.Context, found *walk) error {
	rules := s.rules(found)
	if s.ignored.files == nil || !maps.Equal(rules, s.ignored.files) {
		if found.part != nil {
			return errNotInPart
		}
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
	for _, relative := range found.entered {
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

// rules returns the files named .gitignore.
func (s *Series) rules(found *walk) map[string]look {
	rules := map[string]look{}
	if found.part != nil {
		maps.Copy(rules, s.ignored.files)
		maps.DeleteFunc(rules, func(relative string, _ look) bool { return found.part.has(relative) })
	}
	for relative, seen := range found.files {
		if path.Base(relative) == ".gitignore" {
			rules[relative] = seen
		}
	}
	return rules
}

// mattersIfIgnored reports whether a file is covered or not depending on what a .gitignore says.
func (s *Series) mattersIfIgnored(found *walk, seen look) bool {
	return found.candidates() > s.limits.IgnoredFiles || seen.size > s.limits.IgnoredFile && seen.size <= s.limits.File
}

// askGit keeps the verdict on each path. It asks about a folder without the slash at its end: with it, git applies the .gitignore inside the folder to the folder
// itself, and an empty rule there ignores it.
func (s *Series) askGit(ctx context.Context, paths []string) error {
	slices.Sort(paths)
	asked := make(map[string]string, len(paths))
	var questions strings.Builder
	for _, relative := range paths {
		question := strings.TrimSuffix(relative, "/")
		asked[question] = relative
		questions.WriteString(question + "\x00")
	}
	out, err := s.repository.run(ctx, strings.NewReader(questions.String()), s.workspace, "git", "check-ignore", "--no-index", "-z", "--stdin")
	if exit := (*ExitError)(nil); errors.As(err, &exit) && exit.Code == 1 {
		err = nil // none is ignored
	}
	if err != nil {
		return err
	}
	for _, relative := range paths {
		s.ignored.verdicts[relative] = false
	}
	for question := range strings.SplitSeq(string(out), "\x00") {
		if relative, isAnswer := asked[question]; isAnswer {
			s.ignored.verdicts[relative] = true
		}
	}
	return nil
}

// limit drops the files that are too large or too many.
func (s *Series) limit(found *walk) {
	ignored := 0
	for _, relative := range found.sorted() {
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
