package workspace

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Guard tells the workspace what is guarded. It is called before the first execution. Git's folder is guarded anyway.
func (w *Workspace) Guard(guards Guards) {
	for _, path := range guards.Files {
		named := realName(path)
		w.guarded.Files = append(w.guarded.Files, named)
		if target, err := filepath.EvalSymlinks(named); err == nil && target != named {
			w.guarded.Files = append(w.guarded.Files, target) // by a link, both are the server's
		}
	}
	w.guarded.Names = append(w.guarded.Names, guards.Names...)
	w.guarded.Git = append(w.guarded.Git, guards.Git...)
}

// realName is an absolute path whose folder has no links in it, as far as it exists. A file that is not there yet must be
// known by the name that it will have.
func realName(path string) string {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	folder, name := filepath.Split(absolute)
	for missing := name; ; {
		if real, err := filepath.EvalSymlinks(folder); err == nil {
			return filepath.Join(real, missing)
		}
		folder = filepath.Clean(folder)
		if folder == filepath.Dir(folder) {
			return absolute
		}
		missing = filepath.Join(filepath.Base(folder), missing)
		folder = filepath.Dir(folder)
	}
}

// guards tells whether an absolute path is guarded. Names are compared without case: to git, and on some file systems,
// .GIT is .git.
func (w *Workspace) guards(path string) bool {
	if slices.ContainsFunc(w.guarded.Files, func(file string) bool { return withinFolded(file, path) }) {
		return true
	}
	root := w.rootOf(path)
	inside, below := strings.CutPrefix(path, strings.TrimSuffix(root, "/")+"/")
	if !below || root == "" {
		return false
	}
	parts := strings.Split(inside, "/")
	return hasNames(parts, ".git") || w.guardsBare(root, parts) ||
		slices.ContainsFunc(w.guarded.Names, func(name string) bool { return hasNames(parts, strings.Split(name, "/")...) })
}

// guardsBare knows the folders of git that are not called .git: a repository without a working tree is one by what is in it.
// The file HEAD is what makes a folder one, so it is guarded wherever it is.
func (w *Workspace) guardsBare(root string, parts []string) bool {
	if len(w.guarded.Git) == 0 {
		return false
	}
	if strings.EqualFold(parts[len(parts)-1], "HEAD") {
		return true
	}
	for i, part := range parts {
		if !slices.ContainsFunc(w.guarded.Git, func(name string) bool { return strings.EqualFold(name, part) }) {
			continue
		}
		if i > 0 && strings.HasSuffix(strings.ToLower(parts[i-1]), ".git") {
			return true
		}
		if _, err := os.Lstat(filepath.Join(root, filepath.Join(parts[:i]...), "HEAD")); err == nil {
			return true
		}
	}
	return false
}

// withinFolded is [within] without case.
func withinFolded(folder, path string) bool {
	return len(path) >= len(folder) && strings.EqualFold(path[:len(folder)], folder) && within(path[:len(folder)], path)
}
