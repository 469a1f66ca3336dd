package checkpoint

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Series takes the checkpoints of one execution in its workspace.
type Series struct {
	repository *Repository
	workspace  string
	ref        string
	hidden     []string // relative to the workspace
	limits     Limits
	now        func() time.Time

	last    string // the commit of the last checkpoint; empty: there is none
	base    string // a tree with the contents of read, until there is a checkpoint; empty: there is none
	first   root   // the first checkpoint of another series, which has that tree; the zero value: there is none
	loaded  bool   // the last checkpoint and the index were read
	walked  bool   // this process has walked over the whole folder
	listed  *listing
	read    map[string]reading // what was last read of each covered file
	user    *UserRepository    // as it was at the last checkpoint of this process; nil: there is none
	ignored ignoring
	unsaved struct { // read since the index was saved
		files int
		bytes int64
	}
}

// seriesRefs begins the name of the ref of each series, which names its last checkpoint. The name of the series follows.
const seriesRefs = "refs/executions/"

// reading is what a file was when it was read, and what was in it.
type reading struct {
	look
	at     time.Time
	object string
	acl    string // a change of it changes the look: it moves ctime
}

// entry is the reading as a tree of git has it: without an owner.
func (r reading) entry() Entry { return Entry{Mode: r.mode, Object: r.object} }

// Config is what a series needs to know.
type Config struct {
	Repository *Repository
	Workspace  string   // absolute, without links
	Name       string   // of the series in its repository: the id of the execution
	Last       string   // the id of the last checkpoint of the series; empty: it has none
	Hidden     []string // absolute paths that no execution sees
	Limits     Limits
}

// NewSeries returns the series with that name.
func NewSeries(config Config) *Series {
	s := &Series{
		repository: config.Repository, workspace: config.Workspace, ref: seriesRefs + config.Name, limits: config.Limits, now: time.Now,
		last:    config.Last,
		listed:  &listing{entries: map[string]Entry{}},
		ignored: ignoring{verdicts: map[string]bool{}},
	}
	for _, path := range config.Hidden {
		if relative, err := filepath.Rel(config.Workspace, path); err == nil && filepath.IsLocal(relative) && relative != "." {
			s.hidden = append(s.hidden, relative)
		}
	}
	return s
}

// Held counts the files that the series lists in memory.
func (s *Series) Held() int { return len(s.read) }

// Forget drops the list of files from memory. The next checkpoint reads it from the repository again.
func (s *Series) Forget() {
	if s.last == "" {
		return
	}
	s.loaded, s.listed, s.read = false, &listing{entries: map[string]Entry{}}, nil
	s.ignored = ignoring{verdicts: map[string]bool{}}
}

// Repository returns the repository of the series.
func (s *Series) Repository() *Repository { return s.repository }

// Checkpoint is one moment of a workspace.
type Checkpoint struct {
	ID         string   // of its commit
	Changes    []Change // since the checkpoint before, by path; the first of a series has none
	NotCovered []NotCovered
	Files      int    // that it holds
	Bytes      int64  // in them
	Read       int64  // bytes that were read for it
	First      bool   // of its series
	Moved      *Moved // what has moved in the user's repository since the checkpoint before; nil: nothing
}

// Attribute says who changed a path since the last checkpoint.
type Attribute func(path string, how Difference) By

// Difference is the difference of a path from the last checkpoint.
type Difference struct {
	Before, After Entry     // the zero value: the path does not exist
	Changed       time.Time // of the last change of the path by the times of the file system; of its folder if the path is gone; zero: unknown
	Created       time.Time // when the file came into being, under whichever name; zero: unknown
	Written       time.Time // when its content was last written
	Moved         bool      // a file with this content has left another path of the folder
	InUse         bool      // somebody has the file open for writing
}

// Take records the content of the folder, and who has changed it. Where nothing differs from the last checkpoint, that one is returned again, without
// changes.
func (s *Series) Take(ctx context.Context, by Attribute) (Checkpoint, error) {
	release, err := s.use(ctx)
	if err != nil {
		return Checkpoint{}, err
	}
	defer release()
	return s.takeAll(ctx, by)
}

// use locks the repository so that nobody removes it, and reads the last checkpoint from it.
func (s *Series) use(ctx context.Context) (release func(), err error) {
	release, err = s.repository.use(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.load(ctx); err != nil {
		release()
		return nil, err
	}
	return release, nil
}

func (s *Series) takeAll(ctx context.Context, by Attribute) (Checkpoint, error) {
	point, err := s.take(ctx, by)
	if err != nil && ctx.Err() == nil && s.last == "" && s.base != "" { // the objects that the index names may be gone
		s.base, s.first, s.read = "", root{}, map[string]reading{}
		point, err = s.take(ctx, by)
	}
	return point, err
}

func (s *Series) take(ctx context.Context, by Attribute) (Checkpoint, error) {
	found, err := s.find(ctx, nil)
	if err != nil {
		return Checkpoint{}, err
	}
	return s.record(ctx, found, by)
}

// record writes a checkpoint of the files that a walk found.
func (s *Series) record(ctx context.Context, found *walk, by Attribute) (Checkpoint, error) {
	root, err := os.OpenRoot(s.workspace)
	if err != nil {
		return Checkpoint{}, fmt.Errorf("checkpoint: opening the workspace: %w", err)
	}
	defer root.Close()
	t := s.newTaking(found, by, root)
	written, err := t.write(ctx)
	if err != nil {
		if t.out.begun() {
			s.repository.requirePruning()
		}
		return Checkpoint{}, err
	}
	point := Checkpoint{ID: cmp.Or(written.id, s.last), First: s.last == "", Read: t.bytes}
	if !point.First && written.id != "" {
		point.Changes = complete(written.changes, s.listed, t.next, slices.Collect(maps.Keys(t.next.by)), t.next.by)
	}
	s.keep(t, point.ID)
	s.repository.mergePacks(ctx)
	point.NotCovered, point.Files = s.listed.notCovered, len(s.read)
	for _, one := range s.read {
		point.Bytes += one.size
	}
	if found.part != nil {
		return point, nil
	}
	user := readUserRepository(root)
	if s.user != nil {
		point.Moved = s.user.movedTo(user)
	}
	s.user, s.walked = &user, true
	s.unsaved.files, s.unsaved.bytes = s.unsaved.files+t.reads, s.unsaved.bytes+t.bytes
	isNew := written.id != "" && (!written.reused || t.reads > 0)
	hasReadMuch := s.unsaved.files >= mostUnsavedFiles || s.unsaved.bytes >= mostUnsavedBytes
	if isNew && (point.First || hasReadMuch) {
		s.remember(written, point.First)
	}
	return point, nil
}

// After so much reading, a series saves the index again. Writing the index of 100,000 files takes a fifth of a second, for which the next call would wait.
const (
	mostUnsavedFiles = 500
	mostUnsavedBytes = 64 << 20
)

// remember saves the index for the next series.
func (s *Series) remember(written imported, first bool) {
	known := index{tree: written.tree, read: s.read, verdicts: s.verdicts()}
	if first {
		known.first = root{commit: written.id, manifest: ObjectOf(s.listed.manifest())}
	}
	if err := s.repository.saveIndex(known); err != nil {
		slog.Warn("the index of checkpoints was not written; the next execution reads the whole workspace", "error", err)
	}
	s.unsaved.files, s.unsaved.bytes = 0, 0
}

// keep makes a checkpoint the last one.
func (s *Series) keep(t *taking, id string) {
	if t.found.part == nil {
		s.last, s.listed, s.read = id, t.next, t.read
		return
	}
	for path := range t.before.entries {
		delete(s.read, path)
	}
	maps.Copy(s.read, t.read)
	if id != s.last {
		s.last, s.listed = id, t.next
	}
}

// load reads the last checkpoint of the series, and the index. Until the series has a checkpoint, it reads the index each time: a pruning may have removed the
// objects that the index named before.
func (s *Series) load(ctx context.Context) error {
	if s.loaded && s.last != "" {
		return nil
	}
	known := s.repository.loadIndex()
	if s.ignored.files == nil {
		s.ignored = known.ignoring()
	}
	if s.last != "" {
		var err error
		if s.listed, err = s.repository.listing(ctx, s.last); err != nil {
			return err
		}
		maps.DeleteFunc(known.read, func(path string, one reading) bool { // another execution may have read it with another content or mode since
			return !s.listed.entries[path].sameInTree(one.entry())
		})
		for path, one := range s.listed.entries {
			if _, isKnown := known.read[path]; !isKnown && one.Object != "" {
				known.read[path] = reading{look: look{mode: one.Mode}, object: one.Object} // it is read again
			}
		}
	}
	s.read, s.base, s.first, s.loaded = known.read, known.tree, known.first, true
	return nil
}
