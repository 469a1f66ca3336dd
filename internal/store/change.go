package store

import (
	"math"
	"time"

	"signoff/internal/domain"
)

// Change is one transaction as a value: everything that one step of an execution writes, or nothing of it.
//
// The packages that make changes build legal ones; the store checks only the conditions that need the transaction: that the epoch still holds, that
// an approval is still pending, that an idempotency key is new. If a check fails, the whole change is refused and its result says why.
type Change struct {
	Execution domain.ExecutionID

	// Epoch proves that the writer drives the execution. Under 0, others write, on any replica: a decision, a prompt or a control request.
	Epoch int64

	Create   *Creation               // the execution's first change
	Update   *Update                 // the execution row
	Ask      []domain.Approval       // new approvals, pending
	Resolve  []Resolution            // pending approvals that end here
	Remember []domain.PermissionRule // remembered decisions: rules of the execution, its tree, or its tenant
	Pins     []domain.MCPPin         // definitions of MCP tools that a person approves here; the tenant is told by the execution
	Hits     []string                // the rules that decided; a deleted one is no error
	Progress bool                    // the execution made progress: its count of recoveries starts again

	// Audit is appended to the tenant's chain, see [Store.Audit]. A record without an execution gets the change's.
	Audit []domain.AuditRecord

	// Notify, under epoch 0, makes the driver read again, because a rule for all executions may have decided its approval. A change may hold nothing
	// else.
	Notify bool

	// Control requests, which the driver reads with [Store.ControlRequests]. Under epoch 0, but for Cancel.
	Cancel *CancelRequest // asks the driver to stop; the first request stands
	Close  *domain.Actor  // refuses further prompts; the first request stands
	Resume *ResumeRequest // chooses how to resume an interrupted execution

	// Further prompts. Prompt is under epoch 0; the driver starts or discards it. While one is queued, the status becomes neither
	// idle nor terminal: a client whose prompt was accepted sees it started or discarded.
	Prompt         *NewPrompt
	StartPrompt    domain.PromptID   // its turn is Update.Turn
	DiscardPrompts []domain.PromptID // they will not start

	// Calls that the client runs, by the driver. AnswerClient, under epoch 0, answers one. A change that ends the execution cancels the calls
	// that still wait: nobody would read the answer.
	ClientCalls
	AnswerClient *ClientAnswering

	// Generations. Generate, by the driver, is the next one, refused as domain.CodeConflict under any other number; it
	// supersedes the submitted one. Accept is under epoch 0. A change that ends the execution cancels the submitted one, and must know
	// of an acceptance: see Update.Accepted. Read with [Store.Generations].
	Generate *domain.Generation
	Accept   *Acceptance

	// EndRollback ends a rollback that the driver has done. A change that ends the execution also ends a rollback that nobody has begun.
	EndRollback *RollbackEnd

	// Park, by the driver, releases the execution until somebody writes to it.
	Park *Park

	// Linked are changes of other executions, each of another one, that are written with this one: all of them or nothing. Each is a creation under epoch 1,
	// or under epoch 0. In this way a driver creates the children of its execution, reports its own rest to the parent, and ends its children. Only IfLive
	// lets a linked change be left out.
	Linked []Change
	// IfLive, of a linked change under epoch 0: it is left out if its execution has ended, or is gone.
	IfLive bool
	// Quiet, of a linked change under epoch 0: its events are for readers. They neither notify the driver nor wake the execution.
	Quiet bool

	// Rest, by the driver of a child and with the end of a turn, is the new result of the child for its parent, see domain.Child. Earlier results that the
	// parent has not taken are kept with it.
	Rest *domain.DelegateResult
	// Taken, by the driver of a parent, are the results that it has taken: by child, the number of the rest.
	Taken map[domain.ExecutionID]int

	Resumed bool // the driver has handled the request to resume; the next interruption needs a new one

	// Debug is appended to the raw messages, of which the newest [DebugMessages] and [DebugBytes] are kept. The store sets N. Only the driver has any.
	Debug []domain.DebugMessage

	// States of answers that end in this change, by the driver. Read with [Store.AnswerStates].
	States []domain.AnswerState

	// Paused are the requests of calls that pause in this change, by the driver. Read with [Store.PausedRequests].
	Paused []domain.PausedRequest

	// Events get their seq in the transaction, in this order: the last one gets Result.LastSeq. Execution, Type, Time
	// and Data are set by the caller. Data that is not UTF-8 is replaced here by the stored text.
	Events []domain.Event
}

// ClientCalls are calls that the client begins or ends to run.
type ClientCalls struct {
	AskClient   []domain.ClientCall // wait for the client from now on
	CloseClient []ClientClosing     // wait no more
}

// Creation inserts an execution, driven by Owner from its first moment on under epoch 1.
type Creation struct {
	Execution   domain.Execution
	Owner       ReplicaID
	Idempotency *Idempotency // nil without a key
	Queued      bool         // there is no room for it yet: it waits for [Store.AcquireQueued]
	Limit       *RateLimit   // nil: none
	Place       string       // at most one execution at a place is live: see [Store.LiveAt]; empty: no place
}

// RateLimit bounds the creations with one target: at most Count of the tenant within Window, by the clock of the database. One more is refused as
// domain.CodeRateLimited, with the time until there is room again. Refused creations and repeated requests do not count, deleted executions do.
type RateLimit struct {
	Target string
	Count  int // at least 1
	Window time.Duration
}

// Park leaves an execution without a driver. A write under epoch 0 wakes it, and so does the time; the next replica acquires it, see
// [Store.Acquire]. If there were foreign writes since the driver read the control requests, it is refused as domain.CodeStale.
type Park struct {
	ForeignWrites int64      // as it was before the driver read the control requests
	Until         *time.Time // wakes by itself; nil: never
}

// never is the wake time of an execution that only others wake.
const never = math.MaxInt64

func (p *Park) values() []any {
	switch {
	case p == nil:
		return []any{nil, nil}
	case p.Until == nil:
		return []any{p.ForeignWrites, int64(never)}
	default:
		return []any{p.ForeignWrites, p.Until.UnixMicro()}
	}
}

// Idempotency makes a repeated request give the first answer again.
type Idempotency struct {
	Key      string // as the client sent it; of a creation, unique per tenant
	BodyHash []byte // of the request that came with it: another body under the same key is an error
}

// ClientClosing ends the waiting for a client. If the client has answered meanwhile, the change is refused as domain.CodeStale, and
// the driver reads the call again with [Store.ClientCalls].
type ClientClosing struct {
	ToolCallID string
	To         domain.ClientCallState // expired, refused before its time by the database's clock; or cancelled
}

// ClientAnswering is a client's answer. It has no event: the driver's `toolCall.completed` shows it. Inside the transaction it is
// refused with
//   - domain.CodeNotFound where no call of that id waits or has waited for the client;
//   - domain.CodeAlreadyAnswered where it has another answer: another output or another error, whoever gives it;
//   - domain.CodeCallEnded where its waiting ended otherwise, or its time is over by the database's clock.
//
// The same answer again is no error, and nothing of its change is written: no event, no record, no notification: see Result.Repeated. All of this
// also holds for an execution that has ended.
type ClientAnswering struct {
	ToolCallID string
	Answer     domain.ClientAnswer
}

// Acceptance accepts the blocks of a generation, and closes the execution as by Close. Inside the transaction it is refused with
//   - domain.CodeNoGeneration where there is no such generation, or it is not submitted any more;
//   - domain.CodeDocumentChanged where the generation was written for another revision;
//   - domain.CodeBusy where the execution is not idle, or a prompt waits.
//
// The key that has accepted it may do so again: that is no error, and nothing of the change is written: see Result.Repeated. All of this also holds
// for an execution that has ended, because accepting ends it.
type Acceptance struct {
	Generation int
	Revision   string // of the document as the client has it; empty: it does not compare
	By         domain.Actor
}

// NewPrompt queues a prompt, which the last event of its change shows. Inside the transaction it is refused with
//   - domain.CodeConflict where the idempotency key is taken: see [Store.PromptByKey];
//   - domain.CodeClosed where the execution was closed;
//   - domain.CodeBusy where it must not wait but would have to, or where too many prompts wait; an edit never waits;
//   - domain.CodeNoGeneration where the edited generation is not the submitted one.
type NewPrompt struct {
	Prompt      domain.QueuedPrompt
	Idempotency *Idempotency // nil without a key, which is unique per execution
}

// Update overwrites the set columns of the execution row, and the time of its last update. Only the driver may have one.
type Update struct {
	Status domain.Status // "" keeps it; a terminal one ends the execution, and nothing is written after this change
	Turn   int           // 0 keeps it; otherwise Rounds is written with it, also where it is 0
	Rounds int           // 0 keeps it, where Turn does
	Usage  *domain.Usage
	Output *domain.Output // with a terminal status
	Ended  *time.Time     // with a terminal status; nil: now, by database time

	Cause domain.InterruptCause // with the status interrupted; any other status clears it

	AgentSession string // "" keeps it

	// Accepted: the driver knows that its blocks were accepted. A change that ends the execution and does not know of an
	// acceptance is refused as domain.CodeStale: a client knows that the blocks are accepted, and a cancel must not contradict it.
	Accepted bool
}

// Resolution ends one pending approval. Status approved and denied carry a decision and are refused once database
// time has passed the expiry; expired is refused before it; cancelled is allowed at any time.
type Resolution struct {
	Approval domain.ApprovalID
	Status   domain.ApprovalStatus
	Decision *domain.Decision
}

// CancelRequest is a control request; the driver turns it into the terminal state.
type CancelRequest struct {
	Reason string       `json:"reason,omitempty"`
	By     domain.Actor `json:"by"`
}

// ResumeRequest chooses how to resume an interrupted execution. It is refused with domain.CodeNotInterrupted in another status,
// domain.CodeInvalid if the cause does not allow the mode, and domain.CodeConflict after another choice. The same choice again changes nothing and is no error.
type ResumeRequest struct {
	Mode domain.ResumeMode `json:"mode"`
	By   domain.Actor      `json:"by"`
}

// Result is what became of one change of a batch.
type Result struct {
	// LastSeq is the seq of the change's last event; without events, that of the head.
	LastSeq int64
	// Repeated: the answer or acceptance existed already. Nothing of the change is written, so its events have no seq.
	Repeated bool
	// Linked are the results of the linked changes, in their order. A change that was left out has an error, and so have all if Err is not nil.
	Linked []Result
	// Tenant owns the execution.
	Tenant domain.TenantID
	// Owner drives the execution after the change, or died driving it; empty: no replica.
	Owner ReplicaID
	// Err is nil where the change is in the database, or is Repeated. Otherwise nothing of it is:
	//   - domain.CodeStale: the epoch does not hold any more, the execution has ended or is gone, an approval was not
	//     pending, or not in time, a client's call does not wait any more, or is to expire before its time, a prompt is queued,
	//     or not any more, or blocks were accepted and the driver does not know it;
	//   - domain.CodeConflict: the idempotency key is taken, or the id or number of something new, or the execution of a linked change has ended or
	//     is gone;
	//   - domain.CodeExecutionEnded, domain.CodeTooMany: the tree of a new child has ended, or is full;
	//   - what [NewPrompt], [ResumeRequest], [ClientAnswering] and [Acceptance] name.
	Err error
}
