package folders

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"signoff/internal/domain"
)

// Executions tells which own folders are still needed.
type Executions interface {
	// OwnFolders returns the state of each of these executions that exists.
	OwnFolders(ctx context.Context, ids []domain.ExecutionID) (map[domain.ExecutionID]domain.OwnFolderState, error)
	// WorksIn reports whether a live execution works in a folder or below.
	WorksIn(ctx context.Context, folder string) (bool, error)
}

const (
	// Sweep leaves a folder without an execution alone until it is strayAge old: a server may make it at this moment.
	strayAge = time.Hour
	// sweepBatch is the number of executions that Sweep looks up at once.
	sweepBatch = 500
)

// Sweep removes the folders of executions that are gone, and of those that have ended and do not keep their folders. It also removes incomplete folders that a
// crash during Make or Remove has left.
func (f *Folders) Sweep(ctx context.Context, executions Executions) error {
	entries, err := os.ReadDir(f.base)
	if err != nil {
		return err
	}
	var ids []domain.ExecutionID
	var failures []error
	for _, entry := range entries {
		id, err := domain.ParseExecutionID(entry.Name())
		switch {
		case err == nil && entry.IsDir():
			ids = append(ids, id)
		case f.broken(entry):
			failures = append(failures, f.removeBroken(entry.Name()))
		}
	}
	for batch := range slices.Chunk(ids, sweepBatch) {
		failures = append(failures, f.sweepBatch(ctx, executions, batch))
	}
	return errors.Join(failures...)
}

// broken reports whether a crash during Make or Remove has left an entry of the base. A young entry may belong to another server that shares the base.
func (f *Folders) broken(entry os.DirEntry) bool {
	name := entry.Name()
	if f.claimed(name) {
		return false
	}
	info, err := entry.Info()
	return strings.HasPrefix(name, removedPrefix) || strings.HasPrefix(name, makingPrefix) && err == nil && time.Since(info.ModTime()) > strayAge
}

func (f *Folders) removeBroken(name string) error {
	root, err := os.OpenRoot(f.base)
	if err != nil {
		return err
	}
	defer root.Close()
	return removeAll(root, name)
}

func (f *Folders) sweepBatch(ctx context.Context, executions Executions, ids []domain.ExecutionID) error {
	states, err := executions.OwnFolders(ctx, ids)
	if err != nil {
		return err
	}
	var failures []error
	for _, id := range ids {
		state, known := states[id]
		if !known && time.Since(madeAt(id)) < strayAge || known && (!state.Ended || state.Keep) {
			continue
		}
		failures = append(failures, f.RemoveUnused(ctx, executions, id))
	}
	return errors.Join(failures...)
}

// RemoveUnused removes the own folder of an execution, unless a live execution works in it: a child that has not ended yet, or one that continues the agent
// session of another.
func (f *Folders) RemoveUnused(ctx context.Context, executions Executions, id domain.ExecutionID) error {
	folder := f.Directory(id, domain.OwnFolder{})
	if _, err := os.Lstat(folder); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	used, err := executions.WorksIn(ctx, folder)
	if err != nil || used {
		return err
	}
	return f.Remove(id)
}

// madeAt returns the time at which an execution was created. The times of its folder prove nothing: a command can set them.
func madeAt(id domain.ExecutionID) time.Time {
	parsed, err := uuid.Parse(string(id))
	if err != nil || parsed.Version() != 7 {
		return time.Now()
	}
	seconds, nanoseconds := parsed.Time().UnixTime()
	return time.Unix(seconds, nanoseconds)
}
