package domain

import (
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"
)

// CheckpointMode says whether an execution takes checkpoints of its folders around the calls that may write.
type CheckpointMode string

// CheckpointModes.
const (
	CheckpointsRequired   CheckpointMode = "required"   // a call that may write does not run without its checkpoint
	CheckpointsBestEffort CheckpointMode = "bestEffort" // the call runs without a checkpoint, and an event reports why there is none
	CheckpointsOff        CheckpointMode = "off"
)

// CheckpointMoment is the moment at which a checkpoint is taken.
type CheckpointMoment string

// CheckpointMoments.
const (
	TurnBegins     CheckpointMoment = "turnBegins"
	BeforeToolCall CheckpointMoment = "beforeToolCall"
	AfterToolCall  CheckpointMoment = "afterToolCall"
	TurnEnds       CheckpointMoment = "turnEnds"
	BeforeRollback CheckpointMoment = "beforeRollback"
	AfterRollback  CheckpointMoment = "afterRollback"
)

// CheckpointStatus is the outcome of a checkpoint.
type CheckpointStatus string

// CheckpointStatuses.
const (
	CheckpointTaken       CheckpointStatus = "taken"
	CheckpointFailed      CheckpointStatus = "failed"      // a later checkpoint may still succeed
	CheckpointUnavailable CheckpointStatus = "unavailable" // this server can take no checkpoint for this execution
)

// The bounds of the lists of one event. The checkpoint itself has all paths.
const (
	MaxCheckpointChanges    = 200
	MaxCheckpointNotCovered = 100
)

type (
	// CheckpointCreated reports a checkpoint of the folders of an execution, or why there is none. There is no event of a checkpoint that equals the one before.
	CheckpointCreated struct {
		Turn       int                `json:"turn"`
		Checkpoint int                `json:"checkpoint"` // its number in the execution, from 1; 0: none was taken
		Moment     CheckpointMoment   `json:"moment"`
		ToolCallID string             `json:"toolCallId,omitempty"` // of the call around which it was taken
		Status     CheckpointStatus   `json:"status"`
		Host       string             `json:"host,omitempty"` // the name of the machine that has it
		Late       bool               `json:"late,omitempty"` // the call or the turn did not wait for the checkpoint, which may hold the first of its changes
		Folders    []CheckpointFolder `json:"folders"`        // empty if none was taken
		DurationMs int64              `json:"durationMs"`
		Error      *Failure           `json:"error,omitempty"` // why none was taken
	}

	// CheckpointFolder is one folder of a checkpoint.
	CheckpointFolder struct {
		Path  string `json:"path"`  // absolute
		Tree  string `json:"tree"`  // the id of its commit in the repository of the folder
		Files int    `json:"files"` // the number of files that the checkpoint holds
		Bytes int64  `json:"bytes"` // in these files
		Read  int64  `json:"read"`  // bytes that the server read for the checkpoint

		// Changes lists the first changes since the checkpoint before, by path. The first checkpoint of an execution has none.
		Changes         []PathChange     `json:"changes"`
		ChangedPaths    int              `json:"changedPaths"` // the number of all changed paths
		Additions       int              `json:"additions"`    // lines in all changed paths
		Deletions       int              `json:"deletions"`
		NotCovered      []NotCoveredPath `json:"notCovered"`
		NotCoveredPaths int              `json:"notCoveredPaths"` // the number of all; NotCovered lists the first ones

		Repository *RepositoryMoved `json:"repository,omitempty"` // nil: nothing has moved in the user's repository
	}

	// RollbackCompleted reports a rollback of the folders to an earlier checkpoint, also of one that stopped before its end.
	RollbackCompleted struct {
		Turn     int              `json:"turn"`
		Rollback int              `json:"rollback"` // its number in the execution
		To       int              `json:"to"`       // the number of the checkpoint
		Folders  []RestoredFolder `json:"folders"`
		By       Actor            `json:"by"`
		Error    *Failure         `json:"error,omitempty"` // why it stopped before its end
	}

	// PathChange is the difference of one path between two checkpoints.
	PathChange struct {
		Path       string         `json:"path"`           // relative to the folder
		From       string         `json:"from,omitempty"` // the earlier path of a renamed file
		Kind       PathChangeKind `json:"kind"`
		By         ChangeBy       `json:"by,omitempty"`
		Binary     bool           `json:"binary,omitempty"` // it is no text, so it has no lines to count
		Additions  int            `json:"additions"`
		Deletions  int            `json:"deletions"`
		ModeBefore string         `json:"modeBefore,omitempty"` // as ls shows it; empty: the path did not exist
		ModeAfter  string         `json:"modeAfter,omitempty"`
	}

	// NotCoveredPath is a file or folder that a checkpoint does not hold.
	NotCoveredPath struct {
		Path   string `json:"path"`
		Reason string `json:"reason"`
		Bytes  int64  `json:"bytes,omitempty"` // of a file
	}

	// RepositoryMoved lists the parts of the user's repository that have moved: HEAD, refs, the index. No checkpoint holds them, and no rollback changes them.
	RepositoryMoved struct {
		HeadFrom string   `json:"headFrom,omitempty"` // empty: HEAD has not moved
		HeadTo   string   `json:"headTo,omitempty"`
		Branches []string `json:"branches"` // refs that are new, gone or changed
		Index    bool     `json:"index"`    // the index has changed
	}
)

// PathChangeKind is the kind of a change: added, modified, deleted, renamed, typeChanged (a file has become a link, or a link a file) or modeChanged (only the mode or the
// owner has changed).
type PathChangeKind string

// ChangeBy says who changed a path.
type ChangeBy string

// ChangeBys.
const (
	ByExecution ChangeBy = "execution" // this execution, as far as the server can see
	ByOthers    ChangeBy = "others"    // somebody else
	ByUncertain ChangeBy = "uncertain" // perhaps somebody else: others worked in the folder, or an external agent, whose writes the server does not see
)

// EventType implements [Payload].
func (CheckpointCreated) EventType() EventType { return CheckpointCreatedType }

type (
	// RollbackPlan lists the steps of a rollback.
	RollbackPlan struct {
		To      int              `json:"to"`   // the number of the checkpoint
		Hash    string           `json:"hash"` // of the steps; the request of the rollback names it
		Folders []RollbackFolder `json:"folders"`
	}

	// RollbackFolder lists the steps in one folder.
	RollbackFolder struct {
		Path      string         `json:"path"`
		Steps     []RollbackStep `json:"steps"`
		StepCount int            `json:"stepCount"` // the number of all; Steps lists the first ones
		Kept      []KeptPath     `json:"kept"`
		KeptCount int            `json:"keptCount"`
	}

	// RollbackStep is the step for one path.
	RollbackStep struct {
		Path       string `json:"path"`   // relative to the folder
		Action     string `json:"action"` // create, delete, restore, mode
		ModeBefore string `json:"modeBefore,omitempty"`
		ModeAfter  string `json:"modeAfter,omitempty"`
	}

	// KeptPath is a path that differs from the checkpoint and stays as it is.
	KeptPath struct {
		Path   string `json:"path"`
		Reason string `json:"reason"` // as docs/checkpoints.md lists them
	}

	// RollbackResult lists the paths that a rollback has restored and kept.
	RollbackResult struct {
		To      int              `json:"to"`
		Hash    string           `json:"hash"`
		Folders []RestoredFolder `json:"folders"`
		Error   *Failure         `json:"error,omitempty"` // why it stopped before its end

		// Checkpoints lists the checkpoints around the rollback of an execution that has ended. The log of a live execution has them.
		Checkpoints []CheckpointCreated `json:"checkpoints,omitempty"`
	}

	// RestoredFolder lists the restored and the kept paths of one folder.
	RestoredFolder struct {
		Path          string     `json:"path"`
		Restored      []string   `json:"restored"`
		RestoredCount int        `json:"restoredCount"`
		Kept          []KeptPath `json:"kept"`
		KeptCount     int        `json:"keptCount"`
	}
)

// EventType implements [Payload].
func (RollbackCompleted) EventType() EventType { return RollbackCompletedType }

// notedPaths bounds the paths that a note to the model names.
const notedPaths = 50

// Note returns a note that tells the model which files went back; empty: none.
func (e RollbackCompleted) Note() string {
	var paths []string
	count := 0
	for _, folder := range e.Folders {
		count += folder.RestoredCount
		for _, path := range folder.Restored {
			if len(paths) < notedPaths {
				paths = append(paths, strconv.Quote(path))
			}
		}
	}
	if count == 0 {
		return ""
	}
	more := ""
	if count > len(paths) {
		more = fmt.Sprintf(" and %d more", count-len(paths))
	}
	return "[" + editor(e.By) + " took back changes of files. They are as they were at an earlier moment of this task: " +
		strings.Join(paths, ", ") + more + ". Read a file again before you rely on its content.]\n\n"
}

// CheckpointProgress is the newest checkpoint of an execution.
type CheckpointProgress struct {
	Number int
	Trees  map[string]string // by folder

	Unavailable bool   // the log says that the execution takes none
	Note        string // the note about files that went back, until the agent has got it; empty: none
}

func (p *CheckpointProgress) apply(payload Payload) {
	switch e := payload.(type) {
	case CheckpointCreated:
		p.take(e)
	case RollbackCompleted:
		p.Note += e.Note()
	case TurnStarted:
		p.Note = ""
	case ToolCallStarted:
		if e.Note != "" {
			p.Note = ""
		}
	}
}

func (p *CheckpointProgress) take(e CheckpointCreated) {
	if e.Checkpoint == 0 {
		p.Unavailable = p.Unavailable || e.Status == CheckpointUnavailable
		return
	}
	p.Number, p.Trees = e.Checkpoint, maps.Clone(p.Trees) // a copy of the progress may share the map
	if p.Trees == nil {
		p.Trees = map[string]string{}
	}
	for _, folder := range e.Folders {
		p.Trees[folder.Path] = folder.Tree
	}
}

// RollbackState is the state of a rollback.
type RollbackState string

// RollbackStates.
const (
	RollbackRequested RollbackState = "requested"
	RollbackRunning   RollbackState = "running"
	RollbackDone      RollbackState = "done"
	RollbackFailed    RollbackState = "failed" // its error says why, and its result lists the paths that it has changed before
)

// Rollback is one rollback of an execution.
type Rollback struct {
	Tenant    TenantID
	Execution ExecutionID
	Number    int // in the execution, from 1
	State     RollbackState
	Request   RollbackRequest
	Journal   json.RawMessage // nil: it has not begun
	Result    *RollbackResult // nil: it has not ended, or changed nothing
	Error     *Failure
	Created   time.Time
	Ended     *time.Time
}

// RollbackRequest is the request of a person for a rollback.
type RollbackRequest struct {
	To    int      `json:"to"`    // the number of a checkpoint
	Paths []string `json:"paths"` // absolute; only these paths go back; empty: all
	Tree  bool     `json:"tree"`  // the changes of the executions below this root go back, too
	Hash  string   `json:"hash"`  // of its preview
	By    Actor    `json:"by"`
}
