package checkpoints

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"signoff/internal/domain"
	"signoff/internal/failpoint"
	"signoff/internal/workspace/checkpoint"
)

// Rollback names an earlier checkpoint, and the part of the folders that goes back to it.
type Rollback struct {
	To    Point
	Paths []string // absolute: only these files and folders go back; empty: all
	Tree  []Range  // the checkpoints of the executions to which this one has handed work: their changes go back, too
}

// spans lists the parts of the series of the descendants in a folder.
func (r Rollback) spans(folder string) []checkpoint.Span {
	var all []checkpoint.Span
	for _, one := range r.Tree {
		if from, to := one.From.Trees[folder], one.To.Trees[folder]; from != "" && to != "" && from != to {
			all = append(all, checkpoint.Span{After: from, UpTo: to})
		}
	}
	return all
}

// Journal records a rollback before it changes the first file, so that another driver can finish it.
type Journal struct {
	To    int               `json:"to"`
	Paths []string          `json:"paths"`
	From  map[string]string `json:"from"`            // by folder, the checkpoint from which the rollback has begun
	Token string            `json:"token,omitempty"` // in the names of files on their way; empty: it was begun by an older version
}

// JournalFrom decodes the journal of a rollback; nil: nobody has begun the rollback.
func JournalFrom(text []byte) (*Journal, error) {
	if text == nil {
		return nil, nil //nolint:nilnil // no journal is no error
	}
	journal := &Journal{}
	if err := json.Unmarshal(text, journal); err != nil {
		return nil, domain.Errorf(domain.CodeInternal, "The journal of the rollback cannot be read.").With(err)
	}
	return journal, nil
}

// maxPlanned bounds the steps and the kept paths that a plan lists.
const maxPlanned = 1000

// folderPlans are the plans of the folders of an execution.
type folderPlans []folderPlan

type folderPlan struct {
	folder     string
	repository *checkpoint.Repository
	plan       checkpoint.Plan
}

// hash identifies the steps in all folders.
func (p folderPlans) hash() string {
	sum := sha256.New()
	for _, one := range p {
		fmt.Fprintf(sum, "%q %s\x00", one.folder, one.plan.Hash())
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// described converts the plans for clients.
func (p folderPlans) described(to int) domain.RollbackPlan {
	all := domain.RollbackPlan{To: to, Hash: p.hash(), Folders: []domain.RollbackFolder{}}
	for _, one := range p {
		folder := domain.RollbackFolder{
			Path: one.folder, Steps: []domain.RollbackStep{}, Kept: []domain.KeptPath{}, StepCount: len(one.plan.Steps), KeptCount: len(one.plan.Kept),
		}
		for _, step := range one.plan.Steps[:min(len(one.plan.Steps), maxPlanned)] {
			folder.Steps = append(folder.Steps, domain.RollbackStep{Path: step.Path, Action: actionOf(step), ModeBefore: shownMode(step.Before), ModeAfter: shownMode(step.After)})
		}
		folder.Kept = keptPaths(one.plan.Kept)
		all.Folders = append(all.Folders, folder)
	}
	return all
}

func keptPaths(kept []checkpoint.Kept) []domain.KeptPath {
	all := []domain.KeptPath{}
	for _, one := range kept[:min(len(kept), maxPlanned)] {
		all = append(all, domain.KeptPath{Path: one.Path, Reason: string(one.Why)})
	}
	return all
}

func actionOf(step checkpoint.Step) string {
	none := checkpoint.Entry{}
	switch {
	case step.Before == none:
		return "create"
	case step.After == none:
		return "delete"
	case step.Before.Object == step.After.Object && step.Before.Mode.Type() == step.After.Mode.Type():
		return "mode"
	default:
		return "restore"
	}
}

// plan plans the rollback of each folder. The series have just taken a checkpoint.
func (w *worker) plan(ctx context.Context, target Rollback) (folderPlans, error) {
	var all folderPlans
	for i, folder := range w.keeper.execution.Folders {
		to := target.To.Trees[folder]
		named, concerned := namedIn(folder, target.Paths)
		if to == "" || !concerned {
			continue
		}
		repository := w.series[i].Repository()
		plan, err := repository.Plan(ctx, w.keeper.execution.Trees[folder], to, named, target.spans(folder)...)
		if err != nil {
			return nil, err
		}
		plan.Foresee(w.places(folder))
		all = append(all, folderPlan{folder, repository, plan})
	}
	return all, nil
}

// namedIn returns the paths that lie in a folder, relative to it. Without any path, the rollback concerns the whole folder.
func namedIn(folder string, paths []string) (named []string, concerned bool) {
	if len(paths) == 0 {
		return nil, true
	}
	for _, path := range paths {
		switch {
		case within(folder, path):
			return nil, true
		case within(path, folder):
			relative, _ := filepath.Rel(folder, path) // both are absolute
			named = append(named, relative)
		}
	}
	return named, len(named) > 0
}

// preview plans a rollback from a new checkpoint of the folders.
func (w *worker) preview(asked *request) (folderPlans, error) {
	if err := w.take(asked, domain.BeforeRollback, nil); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(w.keeper.ctx, takeLimit, errTooSlow)
	defer cancel()
	return w.plan(ctx, asked.rollback.target)
}

// rollback goes back, if nothing of this server runs in the folders, and if the way is the one that the preview has shown. One that an earlier driver has begun is
// put in order even if something runs, and then stops where it is.
func (w *worker) rollback(asked *request) (domain.RollbackResult, error) {
	back := asked.rollback
	var stopped *domain.Failure
	if len(w.running) > 0 || w.keeper.service.activity.busy(w.keeper.execution.Folders) {
		if back.journal == nil {
			return domain.RollbackResult{}, errBusy
		}
		stopped = new(domain.FailureOf(errBusy))
	}
	begun := w.keeper.service.activity.begin(w.keeper.execution.ID, w.keeper.execution.Folders)
	defer begun.end()
	journal, before := Journal{Token: rand.Text()}, map[string]progress{}
	if back.journal != nil {
		var err error
		if before, err = w.recover(*back.journal, back.target); err != nil {
			return domain.RollbackResult{}, err
		}
		journal.Token = cmp.Or(back.journal.Token, journal.Token) // the journal that was kept first stays
	}
	found, err := w.preview(asked)
	if err != nil {
		return domain.RollbackResult{}, err
	}
	if back.journal == nil && back.hash != found.hash() {
		return domain.RollbackResult{}, errOutdated
	}
	journal.To, journal.Paths, journal.From = back.target.To.Number, back.target.Paths, maps.Clone(w.keeper.execution.Trees)
	if err := back.begin(w.keeper.ctx, journal); err != nil {
		return domain.RollbackResult{}, err
	}
	failpoint.Hit(failpoint.BeforeRestore)
	result := domain.RollbackResult{To: journal.To, Hash: found.hash()}
	result.Folders, result.Error = w.restoreAll(found, before, journal.Token, stopped)
	failpoint.Hit(failpoint.AfterRestore)
	return result, w.take(asked, domain.AfterRollback, nil)
}

// restoreAll goes back in one folder after the other, until something fails. before is what an earlier driver has done: the result is of both.
func (w *worker) restoreAll(found folderPlans, before map[string]progress, token string, failed *domain.Failure) ([]domain.RestoredFolder, *domain.Failure) {
	folders := []domain.RestoredFolder{}
	for _, one := range found {
		did, begun := before[one.folder]
		if failed == nil {
			now, err := w.restore(one, token)
			did, begun = did.and(now), true
			if err != nil {
				failed = new(domain.FailureOf(domain.Errorf(domain.CodeRollbackFailed, "The rollback stopped: %s", reason(w.keeper.execution.ID, err)).With(err)))
			}
		}
		if begun {
			folders = append(folders, did.restored(one.folder))
		}
	}
	return folders, failed
}

// Errors of a rollback that has changed nothing.
var (
	errBusy     = domain.Errorf(domain.CodeBusy, "Something runs in the folder: a call, a turn of an external agent, or another execution. Try again when it has ended.")
	errOutdated = domain.Errorf(domain.CodePreviewOutdated, "The rollback would do something else now than its preview has shown. Ask for a new preview.")
)

// restore does the steps in one folder, and remembers those that are done as changes of the execution.
func (w *worker) restore(one folderPlan, token string) (progress, error) {
	done, kept, err := one.repository.Restore(w.keeper.ctx, one.plan, token, w.places(one.folder))
	w.rememberSteps(one.folder, done)
	return progress{done, kept}, err
}

// places are those of a folder that executions may write.
func (w *worker) places(folder string) checkpoint.Places {
	return func(path string) (*os.Root, string, error) { return w.keeper.service.place(folder, path) }
}

// progress is how far a rollback has come in one folder.
type progress struct {
	done []checkpoint.Step
	kept []checkpoint.Kept
}

func (p progress) and(next progress) progress {
	return progress{slices.Concat(p.done, next.done), slices.Concat(p.kept, next.kept)}
}

// restored lists what has gone back and what stays, each path once: a folder and a file change places in two steps, and two drivers may keep one path.
func (p progress) restored(folder string) domain.RestoredFolder {
	kept, stays := []checkpoint.Kept(nil), map[string]bool{}
	for _, one := range p.kept {
		if !stays[one.Path] {
			kept = append(kept, one)
		}
		stays[one.Path] = true
	}
	slices.SortFunc(kept, func(a, b checkpoint.Kept) int { return strings.Compare(a.Path, b.Path) })
	back := []string{}
	for _, step := range p.done {
		if !stays[step.Path] {
			back = append(back, step.Path)
		}
	}
	slices.Sort(back)
	back = slices.Compact(back)
	return domain.RestoredFolder{
		Path: folder, Restored: back[:min(len(back), maxPlanned)], RestoredCount: len(back), Kept: keptPaths(kept), KeptCount: len(kept),
	}
}

func (w *worker) rememberSteps(folder string, steps []checkpoint.Step) {
	if w.restored == nil {
		w.restored = map[string]checkpoint.Entry{}
	}
	for _, step := range steps {
		w.restored[filepath.Join(folder, step.Path)] = step.After
	}
}

// recover puts in order what an earlier driver has left in the folders, before a checkpoint holds it, and takes what that one has restored for changes of the
// execution.
func (w *worker) recover(journal Journal, target Rollback) (map[string]progress, error) {
	if err := w.open(); err != nil {
		return nil, err
	}
	before := map[string]progress{}
	for i, folder := range w.keeper.execution.Folders {
		named, concerned := namedIn(folder, target.Paths)
		from, to := journal.From[folder], target.To.Trees[folder]
		if !concerned || from == "" || to == "" {
			continue
		}
		repository := w.series[i].Repository()
		plan, err := repository.Plan(w.keeper.ctx, from, to, named, target.spans(folder)...)
		if err != nil {
			return nil, err
		}
		done, kept, err := repository.Recover(w.keeper.ctx, plan, journal.Token, w.places(folder))
		if err != nil {
			return nil, err
		}
		w.rememberSteps(folder, done)
		before[folder] = progress{done, kept}
	}
	return before, nil
}

// rollbackRequest is the part of a request that is about a rollback.
type rollbackRequest struct {
	target  Rollback
	hash    string
	journal *Journal // of an earlier driver that began the rollback; nil: nobody did
	begin   func(ctx context.Context, journal Journal) error
	found   folderPlans
	result  domain.RollbackResult
}

// Preview plans a rollback from the present state of the folders.
func (k *Keeper) Preview(ctx context.Context, target Rollback) (domain.RollbackPlan, error) {
	asked := &request{kind: previewRollback, rollback: &rollbackRequest{target: target}}
	if _, err := k.awaitAll(ctx, asked); err != nil {
		return domain.RollbackPlan{}, err
	}
	return asked.rollback.found.described(target.To.Number), nil
}

// Rollback does the plan that a preview with that hash has shown, or finishes the rollback of a journal. It calls begin before it changes the first file;
// begin stores the journal. No call begins meanwhile.
func (k *Keeper) Rollback(
	ctx context.Context, target Rollback, hash string, journal *Journal, begin func(context.Context, Journal) error,
) (domain.RollbackResult, error) {
	asked := &request{kind: doRollback, rollback: &rollbackRequest{target: target, hash: hash, journal: journal, begin: begin}}
	ended, err := k.awaitAll(ctx, asked)
	if !ended {
		return domain.RollbackResult{}, err // the goroutine of the keeper may still write the result
	}
	return asked.rollback.result, err
}

// awaitAll puts a request into the queue and waits for its end, in every mode. ended is false if the caller or the keeper was stopped before that.
func (k *Keeper) awaitAll(ctx context.Context, asked *request) (ended bool, err error) {
	asked.done = make(chan error, 1)
	if err := k.put(ctx, asked); err != nil {
		return false, err
	}
	select {
	case err := <-asked.done:
		return true, err
	case <-k.ctx.Done():
		return false, errClosed
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
}
