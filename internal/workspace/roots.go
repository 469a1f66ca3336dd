package workspace

import (
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"signoff/internal/domain"
)

// Root is a folder below which executions work.
type Root struct {
	Name string
	Path string // absolute, symlinks resolved
}

// DefaultRoot is the name of the root in which relative directories start.
const DefaultRoot = "default"

var rootName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,63}$`)

// New returns the workspace with one root, which must be an existing folder. Hidden files and folders, the server's own data for one, are out of
// the reach of executions also if they lie inside; they need not exist yet.
func New(root string, hidden ...string) (*Workspace, error) {
	return NewRoots(map[string]string{DefaultRoot: root}, hidden...)
}

// NewRoots returns the workspace with several roots by name, of which one is the default. No root lies in another: a folder would have two names,
// and the guards of the outer root would hold for it or not. What is hidden may lie in the default root alone, where it does by default; the other
// roots have nothing of the server's in them. Errors point below /workspaces.
func NewRoots(folders map[string]string, hidden ...string) (*Workspace, error) {
	w := &Workspace{kernel: kernelFiles()}
	for _, path := range hidden {
		absolute, err := filepath.Abs(path)
		if err != nil {
			return nil, domain.Errorf(domain.CodeInvalid, "The path %s cannot be hidden.", path).With(err)
		}
		if real, err := filepath.EvalSymlinks(absolute); err == nil {
			absolute = real
		}
		w.hidden = append(w.hidden, absolute)
	}
	if err := w.add(DefaultRoot, folders[DefaultRoot]); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(folders)) {
		if name == DefaultRoot {
			continue
		}
		if err := w.add(name, folders[name]); err != nil {
			return nil, err
		}
	}
	return w, nil
}

func (w *Workspace) add(name, folder string) error {
	at := domain.Pointer("workspaces", name)
	if !rootName.MatchString(name) {
		return domain.Invalid(at, "%q cannot be a name here: a name begins with a letter and has letters, digits, - and _, at most 64.", name)
	}
	path, err := resolve(folder)
	if err != nil {
		return domain.Invalid(at, "The workspace root %s is not a folder that can be used.", folder).With(err)
	}
	for _, other := range w.roots {
		if within(other.Path, path) || within(path, other.Path) {
			return domain.Invalid(at, "%s and %s, the folder of the workspace %s, lie in one another; name the outer one alone.", path, other.Path, other.Name)
		}
	}
	if name != DefaultRoot {
		if err := w.checkNamed(at, path); err != nil {
			return err
		}
	}
	w.roots = append(w.roots, Root{name, path})
	return nil
}

func (w *Workspace) checkNamed(at, path string) error {
	if path == "/" {
		return domain.Invalid(at, "The whole machine cannot be a workspace; name the folder that executions work in.")
	}
	for _, hidden := range w.hidden {
		if within(path, hidden) || within(hidden, path) {
			return domain.Invalid(at, "%s holds, or lies in, the server's data folder %s: an execution that reads it could approve its own calls.", path, hidden)
		}
	}
	return nil
}

// Roots lists the roots, the default one first and the others by name.
func (w *Workspace) Roots() []Root { return slices.Clone(w.roots) }

// Root returns the folder of the default root.
func (w *Workspace) Root() string { return w.roots[0].Path }

// Resolve returns the absolute folder that a request's workingDirectory means. Empty is the default root; a relative path starts there, and
// NAME:path in the root of that name. An absolute path lies in a root, or in one of the mounts, which are the absolute folders that the environment
// of the request may write. Symlinks are followed before the check, so that none leads outside. A folder in the own folder of an execution must be one of the
// mounts: otherwise a request could name the folder of another execution. Errors point at /workingDirectory.
func (w *Workspace) Resolve(directory string, mounts ...string) (string, error) {
	absolute, err := w.absolute(directory)
	if err != nil {
		return "", err
	}
	resolved, err := resolve(absolute)
	if err != nil || !w.Holds(resolved, mounts...) || w.ownOf(resolved) != "" && !slices.Contains(mounts, resolved) {
		// The same words for both: an answer must not tell what lies outside.
		return "", domain.Invalid("/workingDirectory", "This folder does not exist inside the workspace%s.", orMounts(mounts)).With(err)
	}
	if root := w.rootOf(resolved); hasNames(strings.Split(strings.TrimPrefix(resolved, root), "/"), ".git") {
		// Its hooks and configuration are read-only to commands that work beside it; who works in it could write them.
		return "", domain.Invalid("/workingDirectory", "A folder of git's own cannot be a working directory.")
	}
	return resolved, nil
}

func orMounts(mounts []string) string {
	if len(mounts) == 0 {
		return ""
	}
	return ", or in a folder that the environment may write: " + strings.Join(mounts, ", ")
}

// absolute is the path that a request means, before links are followed. A folder of the default root with a colon in its name is written ./NAME:path.
func (w *Workspace) absolute(directory string) (string, error) {
	name, path, named := strings.Cut(directory, ":")
	switch {
	case filepath.IsAbs(directory):
		return directory, nil
	case !named || !rootName.MatchString(name):
		return filepath.Join(w.Root(), directory), nil
	case path != "" && !filepath.IsLocal(path):
		return "", domain.Invalid("/workingDirectory", "%q is not a path inside the workspace %s.", path, name)
	}
	i := slices.IndexFunc(w.roots, func(r Root) bool { return r.Name == name })
	if i < 0 {
		return "", domain.Invalid("/workingDirectory", "There is no workspace %q; there are: %s.", name, strings.Join(w.names(), ", "))
	}
	return filepath.Join(w.roots[i].Path, path), nil
}

func (w *Workspace) names() []string {
	var all []string
	for _, root := range w.roots {
		all = append(all, root.Name)
	}
	return all
}

// Holds reports whether executions may work in a resolved directory: it lies in the own folder of an execution; or in a root or in one of the mounts, and is
// not hidden.
func (w *Workspace) Holds(resolved string, mounts ...string) bool {
	mounted := slices.ContainsFunc(mounts, func(mount string) bool { return within(mount, resolved) })
	return (w.rootOf(resolved) != "" || mounted) && !w.hides(resolved, resolved)
}

// InDefault reports whether a resolved directory lies in the default root.
func (w *Workspace) InDefault(resolved string) bool {
	return w.ownOf(resolved) == "" && within(w.Root(), resolved)
}

// RootOf returns the folder of the root in which a resolved directory lies; empty: it lies in none, is hidden, or is an own folder.
func (w *Workspace) RootOf(resolved string) string {
	if w.ownOf(resolved) != "" || w.hides(resolved, resolved) {
		return ""
	}
	return w.rootOf(resolved)
}

// Hidden lists what is hidden from executions, absolute.
func (w *Workspace) Hidden() []string { return slices.Clone(w.hidden) }

// Own sets the folder in which the own folders of executions lie. The folder exists, is absolute and has no links in it. The caller sets it before the first
// execution.
func (w *Workspace) Own(folder string) { w.own = folder }

// ownOf returns the own folder in which a path lies; empty: it lies in none.
func (w *Workspace) ownOf(path string) string {
	inside, below := strings.CutPrefix(path, w.own+"/")
	if w.own == "" || !below || inside == "" {
		return ""
	}
	name, _, _ := strings.Cut(inside, "/")
	return filepath.Join(w.own, name)
}

// rootOf returns the folder of the root, or the own folder, in which a path lies; empty: it lies in none.
func (w *Workspace) rootOf(path string) string {
	if own := w.ownOf(path); own != "" {
		return own
	}
	for _, root := range w.roots {
		if within(root.Path, path) {
			return root.Path
		}
	}
	return ""
}
