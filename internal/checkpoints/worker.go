package checkpoints

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"signoff/internal/domain"
	"signoff/internal/failpoint"
	"signoff/internal/workspace/checkpoint"
)

// worker serves the requests of a keeper. Only the goroutine of the keeper uses it.
type worker struct {
	keeper    *Keeper
	series    []*checkpoint.Series        // by the folders of the execution; nil: not opened yet
	taken     bool                        // there is a checkpoint of every folder
	running   map[string]*writing         // the calls that run, by their ids, and the turn of an external agent under the empty id
	written   map[string]Written          // the files that file tools wrote since the last checkpoint, by path
	restored  map[string]checkpoint.Entry // the paths that a rollback restored since the last checkpoint
	uncertain bool                        // a call that this server does not know of may have written
	reported  string                      // the last failure that was reported; empty: none
}

// serve answers a request.
func (w *worker) serve(asked *request) error {
	switch asked.kind {
	case beginTurn:
		return w.beginTurn(asked)
	case beforeCall:
		return w.beginCall(asked.call, func() error { return w.take(asked, domain.BeforeToolCall, nil) })
	case beforeWrite:
		return w.take(asked, domain.BeforeToolCall, asked.paths)
	case afterWrite:
		w.remember(asked.paths)
		return w.take(asked, domain.AfterToolCall, asked.paths)
	case afterCall:
		if w.running[asked.call] == nil || asked.call == "" {
			return nil
		}
		err := w.take(asked, domain.AfterToolCall, nil)
		w.endCall(asked.call)
		return err
	case previewRollback:
		found, err := w.preview(asked)
		asked.rollback.found = found
		return err
	case doRollback:
		result, err := w.rollback(asked)
		asked.rollback.result = result
		return err
	case forget:
		for _, series := range w.series {
			series.Forget()
		}
		return nil
	default:
		return w.endTurn(asked)
	}
}

// beginTurn takes the first checkpoint of an execution, and a checkpoint before each turn of an external agent.
func (w *worker) beginTurn(asked *request) error {
	take := func() error { return w.take(asked, domain.TurnBegins, nil) }
	switch {
	case w.keeper.execution.External:
		return w.beginCall("", take)
	case w.taken:
		return nil
	default:
		return take()
	}
}

// endTurn takes a last checkpoint if a call that was stopped or an external agent ran until now.
func (w *worker) endTurn(asked *request) error {
	if len(w.running) == 0 {
		return nil
	}
	err := w.take(asked, domain.TurnEnds, nil)
	w.endCalls()
	return err
}

// beginCall begins a call, or the turn of an external agent, with the checkpoint before it. It looks for other writers before it takes that checkpoint: otherwise
// it would miss one that writes between the checkpoint and the call.
func (w *worker) beginCall(call string, take func() error) error {
	begun := w.keeper.service.activity.begin(w.keeper.execution.ID, w.keeper.execution.Folders)
	if w.keeper.execution.Mode != domain.CheckpointsOff { // otherwise nobody asks who else has written
		begun.watch()
	}
	err := take()
	if w.running[call] != nil || err != nil && w.keeper.execution.Mode == domain.CheckpointsRequired {
		begun.end()
		return err
	}
	w.running[call] = begun
	return err
}

func (w *worker) endCall(call string) {
	w.running[call].end()
	delete(w.running, call)
}

func (w *worker) endCalls() {
	for call := range w.running {
		w.endCall(call)
	}
}

// remember records the files that a tool has written, and marks the calls of other executions that run in the folders.
func (w *worker) remember(files []Written) {
	w.keeper.service.activity.begin(w.keeper.execution.ID, w.keeper.execution.Folders).end()
	if w.written == nil {
		w.written = map[string]Written{}
	}
	for _, file := range files {
		w.written[file.Path] = file
	}
}

// take takes a checkpoint of some paths and reports it. Nil paths mean the whole folders.
func (w *worker) take(asked *request, moment domain.CheckpointMoment, paths []Written) error {
	if w.keeper.execution.Mode == domain.CheckpointsOff {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(w.keeper.ctx, takeLimit, errTooSlow)
	defer cancel()
	begun := time.Now()
	failpoint.Hit(failpoint.BeforeCheckpoint)
	folders, changed, err := w.takeFolders(ctx, paths, w.ended(asked))
	failpoint.Hit(failpoint.AfterCheckpoint)
	event := domain.CheckpointCreated{
		Moment: moment, ToolCallID: asked.call, Status: domain.CheckpointTaken, Folders: folders, Late: asked.late.Load(), Host: w.keeper.service.host,
		DurationMs: time.Since(begun).Milliseconds(),
	}
	switch {
	case w.keeper.ctx.Err() != nil:
		return errClosed
	case err != nil:
		return w.fail(ctx, event, err)
	}
	w.reported = ""
	if event.Late && moment != domain.AfterToolCall && moment != domain.TurnEnds {
		w.uncertain = true // the call did not wait, and may have changed a file before the checkpoint read it
	} else {
		w.uncertain = false
	}
	if !changed {
		return nil
	}
	return w.keeper.report(ctx, event)
}

// errTooSlow is the error of a checkpoint that exceeds takeLimit.
var errTooSlow = errors.New("it took longer than five minutes")

// fail reports why there is no checkpoint. A failure that repeats itself is reported once for each call.
func (w *worker) fail(ctx context.Context, event domain.CheckpointCreated, why error) error {
	w.uncertain = true // the next checkpoint finds the changes of others from before the call together with those of the call
	failure := domain.Failure{Code: domain.CodeCheckpointFailed, Message: "The folder could not be recorded: " + reason(w.keeper.execution.ID, why)}
	if err := context.Cause(ctx); err != nil {
		failure.Message = "The folder could not be recorded: " + reason(w.keeper.execution.ID, err)
	}
	event.Status, event.Folders, event.Error = domain.CheckpointFailed, []domain.CheckpointFolder{}, &failure
	if key := event.ToolCallID + failure.Message; key != w.reported {
		w.reported = key
		if err := w.keeper.report(w.keeper.ctx, event); err != nil {
			return err
		}
	}
	return domain.Errorf(failure.Code, "%s", failure.Message).With(why)
}

// reason says in words for people why a checkpoint or a rollback failed. The messages of git and of the file system name paths of the server, so they go
// into its log alone.
func reason(execution domain.ExecutionID, err error) string {
	for _, known := range []error{errTooSlow, checkpoint.ErrDiskFull, checkpoint.ErrWorkspaceFull, checkpoint.ErrStoreFull, checkpoint.ErrNoWorkspace} {
		if errors.Is(err, known) {
			return known.Error() + "."
		}
	}
	slog.Warn("git or the file system failed for checkpoints", "execution", execution, "error", err)
	for _, known := range []error{fs.ErrPermission, syscall.EROFS, syscall.ENOSPC, syscall.EDQUOT, syscall.EIO} {
		if errors.Is(err, known) {
			return "the file system says: " + known.Error() + "."
		}
	}
	return "git or the file system failed. The log of the server says how."
}

// takeFolders takes a checkpoint of each folder. changed reports whether a folder differs from its checkpoint before.
func (w *worker) takeFolders(ctx context.Context, paths []Written, until time.Time) (folders []domain.CheckpointFolder, changed bool, err error) {
	if err := w.open(); err != nil {
		return nil, false, err
	}
	folders = []domain.CheckpointFolder{}
	for i, series := range w.series {
		folder := w.keeper.execution.Folders[i]
		point, err := w.takeFolder(ctx, series, folder, paths, w.attribute(folder, until))
		if err != nil {
			return nil, false, err
		}
		changed = changed || point.First || point.ID != w.keeper.execution.Trees[folder]
		w.keeper.execution.Trees[folder] = point.ID
		folders = append(folders, described(folder, point))
	}
	w.taken, w.written, w.restored = true, nil, nil
	return folders, changed, nil
}

// takeFolder takes a checkpoint of one folder.
func (w *worker) takeFolder(ctx context.Context, series *checkpoint.Series, folder string, files []Written, by checkpoint.Attribute) (checkpoint.Checkpoint, error) {
	if files == nil || !w.taken {
		return series.Take(ctx, by)
	}
	var inside []string
	for _, file := range files {
		if within(file.Path, folder) && file.Path != folder {
			relative, _ := filepath.Rel(folder, file.Path) // both are absolute
			inside = append(inside, relative)
		}
	}
	return series.TakePaths(ctx, inside, by)
}

// open opens the series.
func (w *worker) open() error {
	if w.series != nil {
		return nil
	}
	var all []*checkpoint.Series
	for _, folder := range w.keeper.execution.Folders {
		repository, err := w.keeper.service.store.Repository(folder)
		if err != nil {
			return err
		}
		last := w.keeper.execution.Trees[folder]
		all = append(all, checkpoint.NewSeries(checkpoint.Config{
			Repository: repository, Workspace: folder, Name: string(w.keeper.execution.ID), Last: last, Hidden: w.keeper.service.hidden,
			Limits: checkpoint.DefaultLimits,
		}))
	}
	w.series = all
	return nil
}

// held counts the files that the series hold in memory.
func (w *worker) held() int {
	held := 0
	for _, series := range w.series {
		held += series.Held()
	}
	return held
}

// ended is the time since which no call of the execution has run; others made all later changes. Zero: a call runs.
func (w *worker) ended(asked *request) time.Time {
	switch {
	case asked.kind == afterCall && len(w.running) == 1, asked.kind == endTurn:
		return asked.at
	default:
		return time.Time{}
	}
}

// attribute says who changed the paths of a folder since the last checkpoint. No call of the execution has run since until; zero: a call runs.
func (w *worker) attribute(folder string, until time.Time) checkpoint.Attribute {
	by := sync.OnceValue(w.writersNow) // evaluated when the folder has been read: the checkpoint may hold writes until then
	return func(path string, how checkpoint.Difference) checkpoint.By {
		switch {
		case w.wrote(filepath.Join(folder, path), how):
			return checkpoint.Ours
		case w.arrived(how):
			return checkpoint.Uncertain
		case !until.IsZero() && how.Changed.After(until):
			return checkpoint.Others
		case how.InUse && by() == checkpoint.Ours: // perhaps through mapped memory, which the observer sees only when the file is closed
			return checkpoint.Uncertain
		default:
			return by()
		}
	}
}

// writersNow says who changed the paths that no file tool has written.
func (w *worker) writersNow() checkpoint.By {
	if w.uncertain || w.running[""] != nil {
		return checkpoint.Uncertain
	}
	by := checkpoint.Others
	for _, running := range w.running {
		by = checkpoint.Ours
		if !running.alone() {
			return checkpoint.Uncertain
		}
	}
	return by
}

// wrote reports whether a file tool or a rollback left a path as it is now. The path is a file that it wrote, or a new folder above such a file.
func (w *worker) wrote(path string, how checkpoint.Difference) bool {
	if entry, is := w.restored[path]; is {
		return how.After == entry
	}
	if file, is := w.written[path]; is {
		return how.After.Object == file.Object && !how.After.Mode.IsDir()
	}
	if how.Before != (checkpoint.Entry{}) || !how.After.Mode.IsDir() {
		return false
	}
	for written := range w.written {
		if within(written, path) {
			return true
		}
	}
	return false
}

// arrived reports whether a file was made and written before the calls that run now, and has come from outside the folder since. Somebody else has moved it here, or
// a call has: nobody is seen to write it.
func (w *worker) arrived(how checkpoint.Difference) bool {
	if how.Created.IsZero() || how.Moved {
		return false
	}
	for _, running := range w.running {
		begun := running.begun.Add(-clockTick)
		if !how.Created.Before(begun) || !how.Written.Before(begun) {
			return false
		}
	}
	return len(w.running) > 0
}

// clockTick is how far the clock of a file system is behind the one of the server at most.
const clockTick = 20 * time.Millisecond

// described is a checkpoint as its event lists it.
func described(folder string, point checkpoint.Checkpoint) domain.CheckpointFolder {
	all := domain.CheckpointFolder{
		Path: folder, Tree: point.ID, Files: point.Files, Bytes: point.Bytes, Read: point.Read, Changes: []domain.PathChange{},
		NotCovered: []domain.NotCoveredPath{}, ChangedPaths: len(point.Changes), NotCoveredPaths: len(point.NotCovered),
	}
	for i, change := range point.Changes {
		all.Additions, all.Deletions = all.Additions+change.Additions, all.Deletions+change.Deletions
		if i < domain.MaxCheckpointChanges {
			all.Changes = append(all.Changes, Described(change))
		}
	}
	for _, one := range point.NotCovered[:min(len(point.NotCovered), domain.MaxCheckpointNotCovered)] {
		all.NotCovered = append(all.NotCovered, domain.NotCoveredPath{Path: one.Path, Reason: string(one.Reason), Bytes: one.Bytes})
	}
	if moved := point.Moved; moved != nil {
		all.Repository = &domain.RepositoryMoved{
			HeadFrom: moved.HeadFrom, HeadTo: moved.HeadTo, Branches: append([]string{}, moved.Branches...), Index: moved.Index,
		}
	}
	return all
}

// Described converts a change for clients.
func Described(change checkpoint.Change) domain.PathChange {
	by := map[checkpoint.By]domain.ChangeBy{
		checkpoint.Ours: domain.ByExecution, checkpoint.Others: domain.ByOthers, checkpoint.Uncertain: domain.ByUncertain,
	}
	return domain.PathChange{
		Path: change.Path, From: change.From, Kind: domain.PathChangeKind(change.Kind), By: by[change.By], Binary: change.Binary,
		Additions: change.Additions, Deletions: change.Deletions, ModeBefore: shownMode(change.Before), ModeAfter: shownMode(change.After),
	}
}

func shownMode(entry checkpoint.Entry) string {
	if entry == (checkpoint.Entry{}) {
		return ""
	}
	return entry.Mode.String()
}
