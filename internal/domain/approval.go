package domain

import (
	"encoding/json"
	"slices"
	"time"
)

// ApprovalID is a UUID, version 7.
type ApprovalID string

// ApprovalKind says who asks, and which answers are possible.
type ApprovalKind string

const (
	// ApprovalToolCall asks whether a call of one of our own tools may run.
	ApprovalToolCall ApprovalKind = "toolCall"
	// ApprovalAgentPermission passes on what an external agent asks, with the agent's own options.
	ApprovalAgentPermission ApprovalKind = "agentPermission"
	// ApprovalQuestion asks for an answer in words, or in the fields of a form.
	ApprovalQuestion ApprovalKind = "question"
	// ApprovalUnknownOutcome asks for the outcome of a call of ours that was running when its server stopped.
	ApprovalUnknownOutcome ApprovalKind = "unknownOutcome"
)

// ApprovalKinds lists every kind of approval.
var ApprovalKinds = []ApprovalKind{ApprovalToolCall, ApprovalAgentPermission, ApprovalQuestion, ApprovalUnknownOutcome}

// Known reports whether k is one of [ApprovalKinds].
func (k ApprovalKind) Known() bool { return slices.Contains(ApprovalKinds, k) }

// AnswerableByRule reports whether a permission rule may answer an approval of this kind, and whether a decision about it may be remembered as one.
// A new kind says no until it is listed here: only a person answers in words, or finds out what happened.
func (k ApprovalKind) AnswerableByRule() bool {
	return k == ApprovalToolCall || k == ApprovalAgentPermission
}

// ApprovalStatus is pending until the one decision, the expiry, or the end of the execution.
type ApprovalStatus string

const (
	ApprovalPending   ApprovalStatus = "pending"
	ApprovalApproved  ApprovalStatus = "approved"
	ApprovalDenied    ApprovalStatus = "denied"
	ApprovalExpired   ApprovalStatus = "expired"   // nobody answered in time
	ApprovalCancelled ApprovalStatus = "cancelled" // withdrawn: the execution ended first
)

// Approval is an open question to a person about one tool call, and later its answer.
type Approval struct {
	ID        ApprovalID
	Tenant    TenantID
	Execution ExecutionID
	Root      ExecutionID // of the tree of the child that asks; empty if a root asks
	Path      []PathStep  // of the child that asks, see [Execution.Path]; nil if a root asks
	RunbookPlace
	Kind             ApprovalKind
	Call             ToolCall
	WorkingDirectory string
	ArgumentsHash    string               // see approvals.Hash
	Options          json.RawMessage      // agentPermission: the agent's options as it sent them, a list; nil otherwise
	Question         json.RawMessage      // question: {message, schema}, and url and host where a page has to be opened; nil otherwise
	Isolation        *Isolation           // nil: the call runs no program, or that was not written down
	Environment      *ApprovalEnvironment // nil: the execution is older than environments, or the call runs in an external agent outside of any
	MCP              *MCPReview           // nil: it is not about the tool of an MCP server, or an external agent calls that
	Reversibility                         // as it was when the person was asked
	AskedBy          string               // what of the policy asks; see approvals.Source
	Reason           string               // why a person is asked, in a sentence
	RememberOptions  []RememberOption
	Status           ApprovalStatus
	Requested        time.Time
	Expires          *time.Time // nil = never
	Decision         *Decision  // nil while pending, and where no person decided
	Resolved         *time.Time // by database time; nil while pending
}

// Reversibility says whether a rollback can take a call back.
type Reversibility struct {
	Reversible       Reversible `json:"reversible,omitempty"` // empty: the call changes nothing, or the approval is older than this field
	ReversibleReason string     `json:"reversibleReason,omitempty"`
}

// Reversible says how much of a call a rollback can take back.
type Reversible string

// Values of Reversible.
const (
	ReversibleYes    Reversible = "yes"
	ReversiblePartly Reversible = "partly"
	ReversibleNo     Reversible = "no"
)

// Isolation is what confines a call that runs a program.
type Isolation struct {
	Name string `json:"name"` // IsolationNone, or the kind of the sandbox
}

// IsolationNone is nothing: the program has the files and the network of the server's user.
const IsolationNone = "none"

// Verb is the word of a decision.
type Verb string

const (
	Approve  Verb = "approve"
	DenyCall Verb = "deny"
)

// Resolution is a person's finding about a call whose server stopped while it ran, or the order to run it again.
type Resolution string

const (
	ResolutionSucceeded Resolution = "succeeded" // it has done its work
	ResolutionFailed    Resolution = "failed"    // it has not
	ResolutionRetry     Resolution = "retry"     // it may run once more, when a person has approved that
)

// RememberScope says how far a decision is remembered.
type RememberScope string

const (
	RememberOnce      RememberScope = "once"
	RememberExecution RememberScope = "execution" // for the rest of this execution
	RememberTree      RememberScope = "tree"      // until the end of its root, for all executions of the tree
	RememberGlobal    RememberScope = "global"    // for all executions of the tenant
)

// OfRule reports whether s is the scope of a permission rule: [RememberOnce] leaves none behind.
func (s RememberScope) OfRule() bool {
	return s == RememberExecution || s == RememberTree || s == RememberGlobal
}

// RememberOption is one permission rule that a decision may create. It is built with the question and stored with it: the stored rule is the
// one that the person saw.
type RememberOption struct {
	PreviewID   string  `json:"previewId"`
	Matcher     Matcher `json:"matcher"`
	Description string  `json:"description"` // what the rule will also cover
}

// Decision is a person's answer to an approval.
type Decision struct {
	Verb          Verb            `json:"decision"`
	Reason        string          `json:"reason,omitempty"`        // on deny, the model sees it
	Arguments     json.RawMessage `json:"arguments,omitempty"`     // what the decider wrote in place of the shown ones
	ArgumentsHash string          `json:"argumentsHash,omitempty"` // of Arguments; empty where they were not edited
	Remember      RememberScope   `json:"remember"`
	PreviewID     string          `json:"previewId,omitempty"`  // the option of the approval that is remembered
	RuleID        string          `json:"ruleId,omitempty"`     // the rule that this decision left, or that made it
	OptionID      string          `json:"optionId,omitempty"`   // agentPermission: the option that goes to the agent
	Answer        json.RawMessage `json:"answer,omitempty"`     // question: what the person answered
	Resolution    Resolution      `json:"resolution,omitempty"` // unknownOutcome
	By            Actor           `json:"by"`
}

// ByRule reports whether a rule decided, and not a person. A person's decision names the rule that it created, with its scope.
func (d Decision) ByRule() bool { return d.RuleID != "" && d.Remember == RememberOnce }

// PermissionOption is one answer that an external agent offers. The id is what it gets back; the kind is a hint, and
// kinds may repeat, be missing or be unknown.
// https://agentclientprotocol.com/protocol/tool-calls#requesting-permission
type PermissionOption struct {
	OptionID string `json:"optionId"`
	Name     string `json:"name"`
	Kind     string `json:"kind"`
}

// Kinds of a [PermissionOption] that the protocol knows.
const (
	OptionAllowOnce    = "allow_once"
	OptionAllowAlways  = "allow_always" // the agent remembers it, not Signoff
	OptionRejectOnce   = "reject_once"
	OptionRejectAlways = "reject_always"
)

// Actor is who did something: an API key by id and name, never its secret.
type Actor struct {
	KeyID string `json:"keyId"`
	Name  string `json:"name"`
}
