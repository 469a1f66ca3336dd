package checkpoint

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"time"
)

// Series is the checkpoints that one execution takes of its workspace.
type Series struct {
	repository *Repository
	workspace  string
	ref        string
	hidden     []string // relative to the workspace
	limits     Limits
	now        func() time.Time

	last    string // the commit of the last checkpoint; empty: there is none
	base    string // a tree with the contents of read, until there is a checkpoint; empty: there is none
	loaded  bool   // the last checkpoint and the index were read
	listed  *listing
	read    map[string]reading // what was last read of each covered file
	user    *UserRepository    // as it was at the last checkpoint of this process; nil: there is none
	ignored ignoring
}

// reading is what a file was when it was read, and what was in it.
type reading struct {
	look
	at     time.Time
	object string
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
		repository: config.Repository, workspace: config.Workspace, ref: "refs/executions/" + config.Name, limits: config.Limits, now: time.Now,
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

// Attribute says who has changed a path since the last checkpoint: it was before, and is after now; the zero value is nothing.
type Attribute func(path string, before, after Entry) By

// Take records the content of the folder, and who has changed it. Where nothing differs from the last checkpoint, that one is returned again, without
// changes.
func (s *Series) Take(ctx context.Context, by Attribute) (Checkpoint, error) {
	if err := s.load(ctx); err != nil {
		return Checkpoint{}, err
	}
	point, err := s.take(ctx, by)
	if err != nil && ctx.Err() == nil && s.last == "" && s.base != "" { // what the index names may be gone
		s.base, s.read = "", map[string]reading{}
		return s.take(ctx, by)
	}
	return point, err
}

func (s *Series) take(ctx context.Context, by Attribute) (Checkpoint, error) {
	found, err := s.find(ctx)
	if err != nil {
		return Checkpoint{}, err
	}
	root, err := os.OpenRoot(s.workspace)
	if err != nil {
		return Checkpoint{}, fmt.Errorf("checkpoint: opening the workspace: %w", err)
	}
	defer root.Close()
	t := &taking{series: s, by: by, found: found, files: reader{root}, next: &listing{entries: map[string]Entry{}}, read: map[string]reading{}}
	written, err := t.write(ctx)
	if err != nil {
		return Checkpoint{}, err
	}
	point := Checkpoint{ID: s.last, NotCovered: t.next.notCovered, Files: len(t.read), Read: t.bytes, First: s.last == ""}
	for _, one := range t.read {
		point.Bytes += one.size
	}
	if written.id != "" {
		point.ID = written.id
		if !point.First {
			point.Changes = mergeModes(written.changes, s.listed, t.next)
			for i := range point.Changes {
				point.Changes[i].By = t.next.by[point.Changes[i].Path]
			}
		}
	}
	s.last, s.listed, s.read = point.ID, t.next, t.read
	user := readUserRepository(root)
	if s.user != nil {
		point.Moved = s.user.movedTo(user)
	}
	s.user = &user
	if written.id == "" {
		return point, nil
	}
	if err := s.repository.saveIndex(index{tree: written.tree, read: s.read}); err != nil {
		slog.Warn("the index of checkpoints was not written; the next execution reads the whole workspace", "error", err)
	}
	return point, nil
}

// load reads the last checkpoint of the series, and what was read of the files before.
func (s *Series) load(ctx context.Context) error {
	if s.loaded {
		return nil
	}
	known := s.repository.loadIndex()
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
	s.read, s.base, s.loaded = known.read, known.tree, true
	return nil
}
