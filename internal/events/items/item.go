package items

import (
	"encoding/json"
	"slices"
	"time"

	"signoff/internal/domain"
)

// TextBytes bounds each text of an item.
const TextBytes = 1 << 20

// Item is one entry of the conversation. The field that its kind names is set, the other ones of that group are nil.
type Item struct {
	ID        string    `json:"id"` // unique in the execution, the same in every reduction
	Kind      Kind      `json:"kind"`
	Turn      int       `json:"turn"`     // 0: before the first, or between two
	FirstSeq  int64     `json:"firstSeq"` // the event that began it
	LastSeq   int64     `json:"lastSeq"`  // the newest event that changed it
	CreatedAt time.Time `json:"createdAt"`
	UpdatedAt time.Time `json:"updatedAt"`
	Status    Status    `json:"status"`

	Message   *Message   `json:"message,omitempty"`
	Reasoning *Reasoning `json:"reasoning,omitempty"`
	Tool      *Tool      `json:"tool,omitempty"`
	Diff      *Diff      `json:"diff,omitempty"`
	Blocks    *Blocks    `json:"blocks,omitempty"`
	Summary   *Summary   `json:"summary,omitempty"`
	Changes   *Changes   `json:"changes,omitempty"`
	Rollback  *Rollback  `json:"rollback,omitempty"`
}

// Kind is the kind of an item.
type Kind string

const (
	KindMessage   Kind = "message"
	KindReasoning Kind = "reasoning"
	KindTool      Kind = "tool"
	KindDiff      Kind = "diff"
	KindBlocks    Kind = "blocks"
	KindSummary   Kind = "summary"
	KindChanges   Kind = "changes"
	KindRollback  Kind = "rollback"
)

// Status says whether an item may still change.
type Status string

const (
	StatusOpen     Status = "open"
	StatusComplete Status = "complete"
)

// Message is a message of a person or of the agent. An interrupted one was cut short, and the model does not remember it.
type Message struct {
	Role        domain.Role         `json:"role"` // user or assistant
	Text        string              `json:"text"`
	Truncated   bool                `json:"truncated,omitempty"` // Text is only the beginning, as for all truncated texts
	Interrupted bool                `json:"interrupted,omitempty"`
	Parts       []domain.PromptPart `json:"parts,omitempty"`  // of the user, with pictures and files; Text is their texts
	Edits       int                 `json:"edits,omitempty"`  // of the user: the generation of blocks to change
	Repair      int                 `json:"repair,omitempty"` // the session itself asks again, from 1, because the answer did not fit
	// Delegates, of the user, are the children whose results are the prompt. No person wrote it.
	Delegates []domain.ExecutionID `json:"delegates,omitempty"`
}

// Reasoning is a thought of the model.
type Reasoning struct {
	Text        string `json:"text"`
	Truncated   bool   `json:"truncated,omitempty"`
	Interrupted bool   `json:"interrupted,omitempty"`
}

// Tool is one call of a tool.
type Tool struct {
	ToolCallID string `json:"toolCallId"`
	MessageID  string `json:"messageId,omitempty"` // the answer of the model that asks for it
	// ParentToolCallID is the call that this one is a part of: a subagent of an external agent makes it.
	ParentToolCallID string `json:"parentToolCallId,omitempty"`

	Tool    string       `json:"tool"`
	Class   domain.Class `json:"class,omitempty"`
	Summary string       `json:"summary"`
	// Arguments are the newest: as requested, then as shown to a person, then as they ran.
	Arguments json.RawMessage `json:"arguments"` // null if they are longer than [TextBytes]
	Status    ToolStatus      `json:"status"`

	MCP      *domain.MCPTool      `json:"mcp,omitempty"`      // the tool of an MCP server; nil for all others
	Progress *domain.CallProgress `json:"progress,omitempty"` // the newest that the call has told; nil once it has its outcome
	// Output is the output so far, and after the outcome the result as people see it. If the result only repeats the error, the output
	// stays.
	Output     string              `json:"output"`
	Files      []domain.PromptPart `json:"files,omitempty"`     // pictures of the result
	Truncated  bool                `json:"truncated,omitempty"` // the output lacks something
	ExitCode   *int                `json:"exitCode,omitempty"`
	StartedAt  *time.Time          `json:"startedAt,omitempty"`
	DurationMs int64               `json:"durationMs,omitempty"`
	Approvals  []Approval          `json:"approvals"` // in the order in which people were asked
	Children   []Child             `json:"children,omitempty"`
	Error      *domain.Failure     `json:"error,omitempty"`
	// Changes lists the changes on disk that the checkpoints after the call have found, in their order. A call nearly always has one at most.
	Changes []Changes `json:"changes,omitempty"`
}

// ToolStatus is how far a call has come. The last six are outcomes; see [domain.Outcome].
type ToolStatus string

const (
	ToolRequested          ToolStatus = "requested"
	ToolPendingApproval    ToolStatus = "pendingApproval"
	ToolQueued             ToolStatus = "queued"
	ToolRunning            ToolStatus = "running"
	ToolWaitingForClient   ToolStatus = "waitingForClient"
	ToolWaitingForDelegate ToolStatus = "waitingForDelegate"
	ToolSucceeded          ToolStatus = ToolStatus(domain.OutcomeSucceeded)
	ToolFailed             ToolStatus = ToolStatus(domain.OutcomeFailed)
	ToolDenied             ToolStatus = ToolStatus(domain.OutcomeDenied)
	ToolExpired            ToolStatus = ToolStatus(domain.OutcomeExpired)
	ToolCancelled          ToolStatus = ToolStatus(domain.OutcomeCancelled)
	ToolOutcomeUnknown     ToolStatus = ToolStatus(domain.OutcomeUnknown)
)

// Approval is a question to a person about a call. GET /approvals/{id} has all of it.
type Approval struct {
	ID     domain.ApprovalID     `json:"id"`
	Kind   domain.ApprovalKind   `json:"kind"`
	Status domain.ApprovalStatus `json:"status"`
	Edited bool                  `json:"edited,omitempty"` // the decider wrote other arguments
	Reason string                `json:"reason,omitempty"` // of the decision
	// Resolution is the answer about a call whose outcome was unknown.
	Resolution domain.Resolution `json:"resolution,omitempty"`
	DecidedBy  *domain.Actor     `json:"decidedBy"` // null while it is pending, and where no person decided
}

// Child is an execution that a call has created, or waits for. Under a call that has only waited for it, it stays as it was at the outcome of the call.
type Child struct {
	ExecutionID domain.ExecutionID `json:"executionId"`
	Name        string             `json:"name"`
	// Status is the last that the child has told: it waits in the queue, is in a turn (waiting), interrupted, idle, or has ended.
	Status           domain.Status         `json:"status"`
	Cause            domain.InterruptCause `json:"cause,omitempty"`
	PendingApprovals int                   `json:"pendingApprovals"` // those of executions below it included
	Error            *domain.Failure       `json:"error,omitempty"`  // why its last turn has failed
}

// Diff is what a call changes in one file.
type Diff struct {
	ToolCallID string     `json:"toolCallId"`
	Path       string     `json:"path"` // as the call names it
	Diff       string     `json:"diff"` // unified
	Truncated  bool       `json:"truncated,omitempty"`
	Additions  int        `json:"additions"` // lines, also of what was cut off
	Deletions  int        `json:"deletions"`
	Status     DiffStatus `json:"status"`
}

// DiffStatus reports whether the change was made.
type DiffStatus string

const (
	DiffProposed       DiffStatus = "proposed"
	DiffApplied        DiffStatus = "applied"
	DiffFailed         DiffStatus = "failed" // it was not made: the call failed or did not run, or other changes took its place
	DiffOutcomeUnknown DiffStatus = "outcomeUnknown"
)

// Blocks is one generation of blocks for the runbook.
type Blocks struct {
	Generation       int             `json:"generation"` // 1, 2, 3 …
	ToolCallID       string          `json:"toolCallId"`
	Blocks           json.RawMessage `json:"blocks"` // a list; null if it is longer than [TextBytes]
	InsertAfter      string          `json:"insertAfter,omitempty"`
	DocumentRevision string          `json:"documentRevision,omitempty"`
	// State is also cancelled when the execution ends before the blocks are accepted.
	State      domain.GenerationState `json:"state"`
	AcceptedBy *domain.Actor          `json:"acceptedBy,omitempty"`
}

// Summary is what the model wrote to go on from, in place of the first messages of its conversation.
type Summary struct {
	Text      string `json:"text"`
	Truncated bool   `json:"truncated,omitempty"`
	Messages  int    `json:"messages"` // for so many of people and answers of the model it stands
	Model     string `json:"model"`
}

// Changes lists the changes on disk that a checkpoint has found since the checkpoint before. As an item of its own it has the changes of a turn of an external
// agent, or of a call that was stopped.
type Changes struct {
	Checkpoint   int           `json:"checkpoint"`   // its number in the execution
	Files        []ChangedFile `json:"files"`        // the first ones, by folder and path
	ChangedPaths int           `json:"changedPaths"` // the number of all changed paths
	Additions    int           `json:"additions"`    // lines in all changed paths
	Deletions    int           `json:"deletions"`
}

// ChangedFile is a path that has changed on disk. GET /executions/{id}/diff has the contents.
type ChangedFile struct {
	Path      string                `json:"path"`           // absolute
	From      string                `json:"from,omitempty"` // the earlier path of a renamed file, absolute
	Kind      domain.PathChangeKind `json:"kind"`
	By        domain.ChangeBy       `json:"by,omitempty"` // empty: unknown
	Binary    bool                  `json:"binary,omitempty"`
	Additions int                   `json:"additions"`
	Deletions int                   `json:"deletions"`
}

// Rollback is a rollback by a person.
type Rollback struct {
	Number  int                     `json:"number"`  // in the execution
	To      int                     `json:"to"`      // the number of the checkpoint
	Folders []domain.RestoredFolder `json:"folders"` // each with the first paths of its lists
	Error   *domain.Failure         `json:"error,omitempty"`
	By      domain.Actor            `json:"by"`
}

// clone returns a copy that shares only immutable data with i.
func (i Item) clone() Item {
	i.Message = copied(i.Message)
	i.Reasoning = copied(i.Reasoning)
	i.Diff = copied(i.Diff)
	i.Blocks = copied(i.Blocks)
	i.Summary = copied(i.Summary)
	i.Changes = copied(i.Changes)
	i.Rollback = copied(i.Rollback)
	if i.Tool = copied(i.Tool); i.Tool != nil {
		i.Tool.Approvals = slices.Clone(i.Tool.Approvals)
		i.Tool.Children = slices.Clone(i.Tool.Children)
		i.Tool.Changes = slices.Clone(i.Tool.Changes)
	}
	return i
}

func copied[T any](original *T) *T {
	if original == nil {
		return nil
	}
	another := *original
	return &another
}
