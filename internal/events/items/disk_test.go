package items

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/domain"
)

// diskWork is an execution whose folders are recorded: an edit and a command with what they have changed on disk, a checkpoint that failed, a stopped
// call, and a rollback that somebody asks for between two turns.
func diskWork() *script {
	return begun(domain.SourceInternal).Add(
		checkpointOf(1, domain.TurnBegins, "", "/w"),
		domain.ToolCallRequested{ToolCallID: "c1", MessageID: "m1", Turn: 1, Tool: "edit", Class: domain.ClassWrite,
			Arguments: []byte(`{"path":"port.txt","oldText":"80","newText":"81"}`), Summary: "Replace `80` by `81`"},
		domain.ToolCallStarted{ToolCallID: "c1", Arguments: []byte(`{"path":"port.txt","oldText":"80","newText":"81"}`), AllowedBy: "capability"},
		checkpointOf(2, domain.BeforeToolCall, "c1", "/w", domain.PathChange{Path: "notes", Kind: "modified", By: domain.ByOthers, Additions: 1}),
		checkpointOf(3, domain.AfterToolCall, "c1", "/w", domain.PathChange{Path: "port.txt", Kind: "modified", By: domain.ByExecution, Additions: 1, Deletions: 1,
			ModeBefore: "-rw-r--r--", ModeAfter: "-rw-r--r--"}),
		domain.ToolCallCompleted{ToolCallID: "c1", Outcome: domain.OutcomeSucceeded, Output: "Edited."},
		domain.ToolCallRequested{ToolCallID: "c2", MessageID: "m1", Turn: 1, Tool: "bash", Class: domain.ClassExecute, Arguments: []byte(`{"command":"make"}`),
			Summary: "Run `make`"},
		domain.ToolCallStarted{ToolCallID: "c2", Arguments: []byte(`{"command":"make"}`), AllowedBy: "bashPolicy"},
		domain.ToolCallCompleted{ToolCallID: "c2", Outcome: domain.OutcomeSucceeded, Output: "made"},
		checkpointOf(4, domain.AfterToolCall, "c2", "/",
			domain.PathChange{Path: "new", From: "old", Kind: "renamed", By: domain.ByExecution, ModeBefore: "-rw-r--r--", ModeAfter: "-rw-r--r--"},
			domain.PathChange{Path: "program", Kind: "added", By: domain.ByExecution, Binary: true, ModeAfter: "-rwxr-xr-x"},
			domain.PathChange{Path: "theirs", Kind: "deleted", By: domain.ByOthers, Deletions: 3, ModeBefore: "-rw-------"},
			domain.PathChange{Path: "whose", Kind: "modeChanged", By: domain.ByUncertain, ModeBefore: "-rw-r--r--", ModeAfter: "-rwxr-xr-x"}),
		domain.CheckpointCreated{Turn: 1, Moment: domain.AfterToolCall, ToolCallID: "c2", Status: domain.CheckpointFailed, Folders: []domain.CheckpointFolder{},
			Error: &domain.Failure{Code: domain.CodeCheckpointFailed, Message: "The folder could not be recorded: the disk is full."}},
		checkpointOf(5, domain.TurnEnds, "", "/w", domain.PathChange{Path: "half", Kind: "added", By: domain.ByUncertain, Additions: 2, ModeAfter: "-rw-r--r--"}),
		domain.TurnEnded{Turn: 1, StopReason: domain.StopEndTurn},
		checkpointOf(6, domain.BeforeRollback, "", "/w"),
		domain.RollbackCompleted{Rollback: 1, To: 2, By: *ann, Folders: []domain.RestoredFolder{{
			Path: "/w", Restored: []string{"port.txt"}, RestoredCount: 1, Kept: []domain.KeptPath{{Path: "half", Reason: "uncertain"}}, KeptCount: 1}}},
		checkpointOf(7, domain.AfterRollback, "", "/w", domain.PathChange{Path: "port.txt", Kind: "modified", By: domain.ByExecution, Additions: 1, Deletions: 1}),
		domain.RollbackCompleted{Turn: 1, Rollback: 2, To: 1, By: *ann, Folders: []domain.RestoredFolder{},
			Error: &domain.Failure{Code: domain.CodeRollbackFailed, Message: "The rollback stopped: the disk is full."}},
		domain.ExecutionEnded{Status: domain.StatusCompleted, FinishReason: domain.FinishEndTurn},
	)
}

// checkpointOf is a checkpoint that was taken of one folder.
func checkpointOf(number int, moment domain.CheckpointMoment, call, folder string, changes ...domain.PathChange) domain.CheckpointCreated {
	found := domain.CheckpointFolder{
		Path: folder, Tree: fmt.Sprint("tree", number), Files: 2, Changes: append([]domain.PathChange{}, changes...), ChangedPaths: len(changes),
		NotCovered: []domain.NotCoveredPath{},
	}
	for _, change := range changes {
		found.Additions, found.Deletions = found.Additions+change.Additions, found.Deletions+change.Deletions
	}
	return domain.CheckpointCreated{
		Turn: 1, Checkpoint: number, Moment: moment, ToolCallID: call, Status: domain.CheckpointTaken, Host: "one", Folders: []domain.CheckpointFolder{found},
	}
}

// A call shows what the checkpoints after it have found, and nothing that was found before it, by a failed checkpoint, or by one without a change.
func TestACallShowsWhatItHasChangedOnDisk(t *testing.T) {
	change := domain.PathChange{Path: "p", Kind: "modified", By: domain.ByExecution, Additions: 1}
	log := begun(domain.SourceInternal).Add(
		domain.ToolCallRequested{ToolCallID: "c", MessageID: "m", Turn: 1, Tool: "bash", Class: domain.ClassExecute, Arguments: []byte(`{}`)},
		domain.ToolCallCompleted{ToolCallID: "c", Outcome: domain.OutcomeSucceeded},
		checkpointOf(1, domain.TurnBegins, "", "/w", change),
		checkpointOf(2, domain.BeforeToolCall, "c", "/w", change),
		checkpointOf(3, domain.AfterToolCall, "c", "/w", change),
		checkpointOf(4, domain.AfterToolCall, "c", "/w"),
		checkpointOf(5, domain.AfterToolCall, "c", "/w", change, change),
		checkpointOf(6, domain.BeforeRollback, "", "/w", change),
		checkpointOf(7, domain.AfterRollback, "", "/w", change),
	)
	all := reduced(t, log)
	if len(all) != 1 || all[0].Tool == nil {
		t.Fatalf("%d items", len(all))
	}
	var found []int
	for _, one := range all[0].Tool.Changes {
		found = append(found, one.Checkpoint, one.ChangedPaths, len(one.Files))
	}
	if diff := cmp.Diff([]int{3, 1, 1, 5, 2, 2}, found); diff != "" {
		t.Error(diff)
	}
	if seq := log.Log[11].Seq; all[0].LastSeq != seq { // an item changes with its event, also after its outcome
		t.Errorf("changed by event %d, not by %d", all[0].LastSeq, seq)
	}
}

// The lists of an item are bounded over all folders; the counts are of all paths.
func TestChangesOnDiskAreBounded(t *testing.T) {
	changes := slices.Repeat([]domain.PathChange{{Path: "p", Kind: "added", Additions: 1}}, 150)
	two := checkpointOf(1, domain.TurnEnds, "", "/w", changes...)
	two.Folders = append(two.Folders, checkpointOf(1, domain.TurnEnds, "", "/v", changes...).Folders...)
	restored := domain.RestoredFolder{
		Path: "/w", Restored: slices.Repeat([]string{"p"}, 201), RestoredCount: 900, Kept: slices.Repeat([]domain.KeptPath{{Path: "p", Reason: "uncertain"}}, 201), KeptCount: 800,
	}
	all := reduced(t, begun(domain.SourceACP).Add(two, domain.RollbackCompleted{Rollback: 1, To: 1, Folders: []domain.RestoredFolder{restored}}))
	if len(all) != 2 || all[0].Changes == nil || all[1].Rollback == nil {
		t.Fatalf("%+v", all)
	}
	if found := all[0].Changes; len(found.Files) != maxChanges || found.ChangedPaths != 300 || found.Additions != 300 || found.Files[150].Path != "/v/p" {
		t.Errorf("%d files of %d, %d lines", len(found.Files), found.ChangedPaths, found.Additions)
	}
	if folder := all[1].Rollback.Folders[0]; len(folder.Restored) != maxChanges || len(folder.Kept) != maxChanges || folder.RestoredCount != 900 || folder.KeptCount != 800 {
		t.Errorf("%d restored, %d kept", len(folder.Restored), len(folder.Kept))
	}
}
