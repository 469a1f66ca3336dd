package sandbox

import (
	"os"
	"path/filepath"
	"slices"

	"signoff/internal/domain"
)

// showClone adds the clone in which an execution works to the view of a command in dir: the whole work tree, of which dir is a folder, and, read-only, the
// objects that the clone borrows from a user's repository.
func (s *Sandbox) showClone(v *view, dir string, e domain.Environment, all *guards) error {
	if e.Clone == nil || !within(e.Clone.Folder, dir) {
		return nil
	}
	var shows []shown
	if e.Clone.Folder != dir {
		shows = append(shows, shown{Path: e.Clone.Folder, Write: !e.ReadOnly})
	}
	for _, store := range e.Clone.ObjectStores {
		if slices.ContainsFunc(s.ownHidden(e), func(hidden string) bool { return within(hidden, store) }) {
			return domain.Errorf(domain.CodeEnvironmentUnavailable, "The environment %s hides the repository from which this clone borrows its objects.", e.Name)
		}
		if !v.inSight(store) && !within(e.Clone.Folder, store) {
			shows = append(shows, shown{Path: store})
		}
	}
	added := view{Shown: shows}
	if err := added.checkMounts(); err != nil {
		return err
	}
	added.guardMounts(dir, all)
	v.Shown = append(shows, v.Shown...)
	return nil
}

// cloneFolders lists the folders of the clone that an environment shows.
func cloneFolders(e domain.Environment) []domain.Mount {
	if e.Clone == nil {
		return nil
	}
	all := []domain.Mount{{Path: e.Clone.Folder, Access: accessOf(!e.ReadOnly)}}
	for _, store := range e.Clone.ObjectStores {
		if _, err := os.Lstat(filepath.Clean(store)); err == nil {
			all = append(all, domain.Mount{Path: store, Access: domain.AccessRead})
		}
	}
	return all
}
