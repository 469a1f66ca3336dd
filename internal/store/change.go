package store

import (
	"math"
	"time"

	"signoff/internal/domain"
)

// Change is one transaction as a value: everything that one step of an execution writes, or nothing of it.
//
// The named constructors of the packages that make changes build the legal ones; the store only checks what it alone
// can see, inside the transaction: that the epoch still holds, that an approval is still pending, that an idempotency
// key is new. Where a check fails the change is refused as a whole and the outcome says why.
type Change struct {
	Execution domain.ExecutionID

	// Epoch is the writer's claim to drive the execution. 0 is written by somebody who does not drive it: a decision,
	// a prompt or a wish, from any replica.
	Epoch int64

	Create   *Creation               // the execution's first change
	Update   *Update                 // the execution row
	Ask      []domain.Approval       // new approvals, pending
	Resolve  []Resolution            // pending approvals that end here
	Remember []domain.PermissionRule // rules that a decision leaves behind, of the execution or of its tenant
	Hits     []string                // the rules that decided; one that is gone is not counted, and no error
	Progress bool                    // the execution got on: its count of recoveries starts again

	// Audit goes to the end of the tenant's chain, see [Store.Audit]. Where a record names no execution it is the
	// change's.
	Audit []domain.AuditRecord

	// Notify is all that a change under epoch 0 may be about: its driver looks again, since what it waits for may have
	// been settled elsewhere, by a rule for all executions.
	Notify bool

	// Control requests, which the driver reads with [Store.ControlRequests]. Under epoch 0, but for Cancel.
	Cancel *CancelRequest // asks the driver to stop; kept once, the first one stands
	Close  *domain.Actor  // no prompt is taken in any more; kept once, the first one stands
	Resume *ResumeRequest // chooses how an interrupted execution goes on

	// Further prompts. Prompt is under epoch 0, what becomes of it is the driver's. As long as one is queued, the status
	// becomes neither idle nor terminal: who was told that a prompt is taken in will see it started or discarded.
	Prompt         *NewPrompt
	StartPrompt    domain.PromptID   // its turn is Update.Turn
	DiscardPrompts []domain.PromptID // their turn will not come

	// Calls that the client runs, by the driver: AskClient opens them, CloseClient ends the waiting. AnswerClient, under epoch 0,
	// answers one. A change that ends the execution cancels what still waits: nobody would read the answer.
	AskClient    []domain.ClientCall
	CloseClient  []ClientClosing
	AnswerClient *ClientAnswering

	// Generations. Generate, by the driver, is the next one, refused as domain.CodeConflict under any other number; what was
	// submitted before is superseded by it. Accept is under epoch 0. A change that ends the execution cancels what is still
	// submitted, and must know what is accepted: see Update.Accepted. Read with [Store.Generations].
	Generate *domain.Generation
	Accept   *Acceptance

	// Park lets go of the execution until somebody wants something of it. By the driver.
	Park *Park

	Resumed bool // the driver has taken the wish to resume; the next interruption needs a new one

	// Debug goes to the feed of raw messages, of which the newest [DebugMessages] and [DebugBytes] are kept. N is given
	// here. Only the driver has any.
	Debug []domain.DebugMessage

	// Events get their seq in the transaction, in this order: the last one gets Outcome.LastSeq. Execution, Type, Time
	// and Data are set by the caller. Data that is not UTF-8 is replaced here by what is stored.
	Events []domain.Event
}

// Creation inserts an execution, driven by Owner from its first moment on under epoch 1.
type Creation struct {
	Execution   domain.Execution
	Owner       ReplicaID
	Idempotency *Idempotency // nil without a key
	Queued      bool         // nobody drives it yet, since there is no room: it waits for [Store.ClaimQueued]
	Place       string       // of one of which there is to be one live execution only: see [Store.LiveAt]; empty: no such place
}

// Park leaves an execution without a driver: whoever writes to it under epoch 0 wakes it, and so does the time. Whichever
// replica claims it next goes on with it, see [Store.Claim]. Where the bell is not what the driver has read it is
// refused as domain.CodeStale: somebody wants something that the driver has not seen.
type Park struct {
	ForeignWrites int64      // as it stood before the driver read what others want
	Until         *time.Time // wakes by itself; nil: never
}

// never is when an execution wakes that only others wake.
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

// ClientClosing ends the waiting for a client. Where the call does not wait any more, since it was answered meanwhile, the change is
// refused as domain.CodeStale, and the driver looks again with [Store.ClientCalls].
type ClientClosing struct {
	ToolCallID string
	To         domain.ClientCallState // expired, refused before its time by the database's clock; or cancelled
}

// ClientAnswering is a client's answer, told by no event: the driver's `toolCall.completed` does that. Inside the transaction it is
// refused with
//   - domain.CodeNotFound where no call of that id waits or has waited for the client;
//   - domain.CodeAlreadyAnswered where it has another answer: another output or another error, whoever gives it;
//   - domain.CodeCallEnded where its waiting ended otherwise, or its time is over by the database's clock.
//
// The same answer again is no error, and nothing of its change is written: no event, no record, no bell: see Outcome.Repeated. All of this is
// also said of an execution that has ended.
type ClientAnswering struct {
	ToolCallID string
	Answer     domain.ClientAnswer
}

// Acceptance takes the blocks of a generation, and closes the execution as by Close. Inside the transaction it is refused with
//   - domain.CodeNoGeneration where there is no such generation, or it is not submitted any more;
//   - domain.CodeDocumentChanged where the generation was written for another revision;
//   - domain.CodeBusy where the execution is not idle, or a prompt waits.
//
// Whoever has accepted it already, by the id of the key, may do so again: that is no error, and nothing of the change is
// written: see Outcome.Repeated. All of this is also said of an execution that has ended, as accepting ends it.
type Acceptance struct {
	Generation int
	Revision   string // of the document as the client has it; empty: it does not compare
	By         domain.Actor
}

// NewPrompt takes a prompt in, to be told by the last event of its change. Inside the transaction it is refused with
//   - domain.CodeConflict where the idempotency key is taken: see [Store.PromptByKey];
//   - domain.CodeClosed where somebody has closed the execution;
//   - domain.CodeBusy where it does not want to wait but would have to, or where too many wait already; an edit never
//     waits;
//   - domain.CodeNoGeneration where the generation that it edits is not the one that is submitted.
type NewPrompt struct {
	Prompt      domain.QueuedPrompt
	Idempotency *Idempotency // nil without a key, which is unique per execution
}

// Update overwrites the columns of the execution row that are set, and the time of its last update. Only the driver
// may: a change under epoch 0 has none.
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
	// acceptance is refused as domain.CodeStale: somebody was told that the blocks are taken, and a cancel must not say otherwise.
	Accepted bool
}

// Resolution ends one pending approval. Status approved and denied carry a decision and are refused once database
// time has passed the expiry; expired is refused before it; cancelled is allowed at any time.
type Resolution struct {
	Approval domain.ApprovalID
	Status   domain.ApprovalStatus
	Decision *domain.Decision
}

// CancelRequest is a wish from outside; the driver turns it into the terminal state.
type CancelRequest struct {
	Reason string       `json:"reason,omitempty"`
	By     domain.Actor `json:"by"`
}

// ResumeRequest is somebody's choice for an interrupted execution. Where the status is another it is refused with
// domain.CodeNotInterrupted, where the cause knows no such mode with domain.CodeInvalid, and where somebody has chosen otherwise with
// domain.CodeConflict. The same choice again changes nothing and is no error.
type ResumeRequest struct {
	Mode domain.ResumeMode `json:"mode"`
	By   domain.Actor      `json:"by"`
}

// Outcome tells what became of one change of a batch.
type Outcome struct {
	// LastSeq is the seq of the change's last event, or the head where it had none.
	LastSeq int64
	// Repeated: an answer or an acceptance that was there before. Nothing of the change is written, so its events have no seq.
	Repeated bool
	// Tenant is whose execution it is.
	Tenant domain.TenantID
	// Owner drives the execution after the change, or has died doing so; empty: nobody does.
	Owner ReplicaID
	// Err is nil where the change is in the database, or is Repeated. Otherwise nothing of it is:
	//   - domain.CodeStale: the epoch does not hold any more, the execution has ended or is gone, an approval was not
	//     pending, or not in time, a client's call does not wait any more, or is to expire before its time, a prompt is queued,
	//     or not any more, or blocks were accepted and the driver does not know it;
	//   - domain.CodeConflict: the idempotency key is taken, or the id or number of something new;
	//   - what [NewPrompt], [ResumeRequest], [ClientAnswering] and [Acceptance] name.
	Err error
}
