package writers

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// Watch looks for writers below one folder.
type Watch struct {
	observer *Observer
	views    []view
	excluded []string

	seen map[string]bool
	more bool
	lost bool
}

// Stop ends the watch and returns its sighting. The second Stop returns the same.
func (w *Watch) Stop() Sighting {
	o := w.observer
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.watches[w] {
		o.drain()
		delete(o.watches, w)
		o.unmark(w.views)
		closeAll(w.views)
	}
	return Sighting{Paths: slices.Sorted(maps.Keys(w.seen)), More: w.more, Lost: w.lost}
}

// locate asks the kernel where the folder is now: it may have been moved.
func (w *Watch) locate() {
	for i := range w.views {
		w.views[i].locate()
	}
}

// take adds an event to the sighting if its file lies below the folder.
func (w *Watch) take(e event) {
	if e.dropped {
		w.lost = true
		return
	}
	for _, v := range w.views {
		path, below := strings.CutPrefix(e.path, v.prefix)
		switch {
		case !below || w.excludes(path):
		case len(w.seen) < MaxPaths || w.seen[path]:
			w.seen[path] = true
		default:
			w.more = true
		}
	}
}

func (w *Watch) excludes(path string) bool {
	return slices.ContainsFunc(w.excluded, func(name string) bool {
		return path == name || strings.HasPrefix(path, filepath.Clean(name)+"/")
	})
}
