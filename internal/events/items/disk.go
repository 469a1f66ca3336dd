package items

import (
	"fmt"
	"strings"

	"signoff/internal/domain"
)

// checkpointed shows the changes that a checkpoint has found: under the call after which it was taken, or as an item at the end of a turn. It leaves out other
// checkpoints: they find the changes of others while no call of the execution ran, or the changes of a rollback, which has an item of its own.
func (r *Reducer) checkpointed(p domain.CheckpointCreated) {
	found := foundBy(p)
	switch {
	case found.ChangedPaths == 0:
	case p.Moment == domain.TurnEnds:
		r.add(Item{ID: fmt.Sprintf("changes:%d", p.Checkpoint), Kind: KindChanges, Turn: p.Turn, Status: StatusComplete, Changes: &found})
	case isAfterCall(p):
		c := r.call(p.ToolCallID)
		c.Tool.Changes = append(c.Tool.Changes, found)
		r.touch(c.item)
	}
}

func isAfterCall(p domain.CheckpointCreated) bool {
	return p.Moment == domain.AfterToolCall && p.ToolCallID != ""
}

// foundBy collects the changes of all folders. A failed checkpoint has none.
func foundBy(p domain.CheckpointCreated) Changes {
	found := Changes{Checkpoint: p.Checkpoint, Files: []ChangedFile{}}
	for _, folder := range p.Folders {
		found.ChangedPaths += folder.ChangedPaths
		found.Additions += folder.Additions
		found.Deletions += folder.Deletions
		for _, change := range folder.Changes[:min(len(folder.Changes), maxChanges-len(found.Files))] {
			found.Files = append(found.Files, changedFile(folder.Path, change))
		}
	}
	return found
}

func changedFile(folder string, change domain.PathChange) ChangedFile {
	file := ChangedFile{
		Path: pathIn(folder, change.Path), Kind: change.Kind, By: change.By, Binary: change.Binary, Additions: change.Additions, Deletions: change.Deletions,
	}
	if change.From != "" {
		file.From = pathIn(folder, change.From)
	}
	return file
}

func pathIn(folder, path string) string { return strings.TrimSuffix(folder, "/") + "/" + path }

// rolledBack adds the item of a rollback.
func (r *Reducer) rolledBack(p domain.RollbackCompleted) {
	done := &Rollback{Number: p.Rollback, To: p.To, Folders: []domain.RestoredFolder{}, Error: p.Error, By: p.By}
	for _, folder := range p.Folders {
		folder.Restored = folder.Restored[:min(len(folder.Restored), maxChanges)]
		folder.Kept = folder.Kept[:min(len(folder.Kept), maxChanges)]
		done.Folders = append(done.Folders, folder)
	}
	r.add(Item{ID: fmt.Sprintf("rollback:%d", p.Rollback), Kind: KindRollback, Turn: p.Turn, Status: StatusComplete, Rollback: done})
}
