package checkpoints

import (
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"signoff/internal/domain"
)

// Observe begins to watch a folder, except the excluded paths in it, for programs outside this server that write. stop reports whether it saw one.
type Observe func(folder string, excluded ...string) (stop func() (seen bool), err error)

// activity lists the calls and turns of this server that may write at this moment.
type activity struct {
	observe Observe // nil: it cannot see programs outside this server

	mu     sync.Mutex
	active []*writing
}

// writing is a call or a turn that may write.
type writing struct {
	execution  domain.ExecutionID
	folders    []string
	all        *activity
	begun      time.Time
	overlapped bool // another execution could write in one of the folders meanwhile

	watches []func() (seen bool) // only its keeper uses them
	seen    bool                 // a program outside this server wrote in the folders
}

// begin adds a call or a turn that may write in the folders of an execution. The caller calls end.
func (a *activity) begin(execution domain.ExecutionID, folders []string) *writing {
	begun := &writing{execution: execution, folders: folders, all: a, begun: time.Now()}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, other := range a.active {
		if other.execution != execution && other.overlaps(begun) {
			other.overlapped, begun.overlapped = true, true
		}
	}
	a.active = append(a.active, begun)
	return begun
}

// busy reports whether a call or a turn of this server may write in the folders at this moment.
func (a *activity) busy(folders []string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	rollback := &writing{folders: folders}
	return slices.ContainsFunc(a.active, rollback.overlaps)
}

// end removes the call or the turn.
func (w *writing) end() {
	w.all.mu.Lock()
	defer w.all.mu.Unlock()
	w.all.active = slices.DeleteFunc(w.all.active, func(one *writing) bool { return one == w })
	w.stopWatching()
}

// watch begins to watch the folders for programs outside this server that write. It ends the earlier watches only then: otherwise it would miss a write in
// between. It skips a folder that it cannot watch.
func (w *writing) watch() {
	if w.all.observe == nil {
		return
	}
	before := w.watches
	w.watches = nil
	for _, folder := range w.folders {
		if one, err := w.all.observe(folder, ".git"); err == nil {
			w.watches = append(w.watches, one)
		}
	}
	w.endWatches(before)
}

func (w *writing) stopWatching() {
	w.endWatches(w.watches)
	w.watches = nil
}

func (w *writing) endWatches(watches []func() (seen bool)) {
	for _, stop := range watches {
		w.seen = stop() || w.seen
	}
}

// alone reports whether it has seen nobody else write in the folders since the beginning. It goes on watching.
func (w *writing) alone() bool {
	if len(w.watches) > 0 {
		w.watch()
	}
	w.all.mu.Lock()
	defer w.all.mu.Unlock()
	return !w.overlapped && !w.seen
}

func (w *writing) overlaps(other *writing) bool {
	return slices.ContainsFunc(w.folders, func(one string) bool {
		return slices.ContainsFunc(other.folders, func(another string) bool { return within(one, another) || within(another, one) })
	})
}

// within reports whether a path is a folder, or lies in it. Both are absolute and clean.
func within(path, folder string) bool {
	return path == folder || strings.HasPrefix(path, strings.TrimSuffix(folder, string(filepath.Separator))+string(filepath.Separator))
}
