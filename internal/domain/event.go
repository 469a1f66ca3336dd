package domain

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"time"
)

// Event is one fact in an execution's log.
type Event struct {
	Execution ExecutionID
	Seq       int64 // 1, 2, 3 … within the execution
	Type      EventType
	Time      time.Time       // UTC, whole microseconds
	Data      json.RawMessage // one JSON object, the encoded [Payload]
}

// EventType reads noun.happened.
type EventType string

const (
	ExecutionCreatedType   EventType = "execution.created"
	StateChangedType       EventType = "execution.stateChanged"
	PromptQueuedType       EventType = "prompt.queued"
	PromptDiscardedType    EventType = "prompt.discarded"
	TurnStartedType        EventType = "turn.started"
	TurnContinuedType      EventType = "turn.continued"
	TurnEndedType          EventType = "turn.ended"
	AgentStartedType       EventType = "agent.started"
	AgentExitedType        EventType = "agent.exited"
	AgentUpdatedType       EventType = "agent.updated"
	AgentModeChangedType   EventType = "agent.modeChanged"
	AgentMCPServerType     EventType = "agent.mcpServerUpdated"
	MCPServerRestartedType EventType = "mcp.serverRestarted"
	AgentOptionsType       EventType = "agent.optionsUpdated"
	CommandsUpdatedType    EventType = "agent.commandsUpdated"
	AgentSilentType        EventType = "agent.silent"
	AgentStderrType        EventType = "agent.stderr"
	MessageDeltaType       EventType = "message.delta"
	MessageCompletedType   EventType = "message.completed"
	ThoughtDeltaType       EventType = "thought.delta"
	ThoughtCompletedType   EventType = "thought.completed"
	ToolCallRequestedType  EventType = "toolCall.requested"
	ToolCallQueuedType     EventType = "toolCall.queued"
	ToolCallStartedType    EventType = "toolCall.started"
	ToolCallUpdatedType    EventType = "toolCall.updated"
	ToolCallReportedType   EventType = "toolCall.reported"
	ToolCallCompletedType  EventType = "toolCall.completed"
	ApprovalRequestedType  EventType = "approval.requested"
	ApprovalResolvedType   EventType = "approval.resolved"
	PlanUpdatedType        EventType = "plan.updated"
	UsageUpdatedType       EventType = "usage.updated"
	RateLimitUpdatedType   EventType = "rateLimit.updated"
	ModelRequestedType     EventType = "model.requested"
	ModelRetryingType      EventType = "model.retrying"
	ModelSwitchedType      EventType = "model.switched"
	ContextCompactedType   EventType = "context.compacted"
	ContextSummaryFailType EventType = "context.summaryFailed"
	ModelStateDroppedType  EventType = "model.stateDropped"
	BudgetWarnedType       EventType = "budget.warned"
	BlocksGeneratedType    EventType = "blocks.generated"
	BlocksAcceptedType     EventType = "blocks.accepted"
	DelegateStartedType    EventType = "delegate.started"
	DelegateUpdatedType    EventType = "delegate.updated"
	DelegateAskedType      EventType = "delegate.approvalRequested"
	DelegateAnsweredType   EventType = "delegate.approvalResolved"
	DelegateReturnedType   EventType = "delegate.returned"
	CheckpointCreatedType  EventType = "checkpoint.created"
	RollbackCompletedType  EventType = "rollback.completed"
	ExecutionCompletedType EventType = "execution.completed"
	ExecutionFailedType    EventType = "execution.failed"
	ExecutionCancelledType EventType = "execution.cancelled"
	ExecutionTimedOutType  EventType = "execution.timedOut"
)

// Terminal reports whether an event of this type is the last of its log.
func (t EventType) Terminal() bool { return slices.Contains(terminalTypes, t) }

// terminalTypes are the types of [ExecutionEnded].
var terminalTypes = []EventType{ExecutionCompletedType, ExecutionFailedType, ExecutionCancelledType, ExecutionTimedOutType}

// Piece reports whether an event of this type is a piece of a text. Nearly all events of a log are pieces.
func (t EventType) Piece() bool {
	return t == MessageDeltaType || t == ThoughtDeltaType || t == ToolCallUpdatedType
}

// Payload is the data of one type of event. The set is closed: each type has a constant, a struct, its name in [sessionEvents] or
// [agentEvents], and a schema in api/openapi.yaml; a test compares them.
type Payload interface {
	EventType() EventType
}

// The reasons of a [ModelStateDropped].
const (
	StateTooLarge    = "tooLarge"    // it is over its bound
	StateHoldsSecret = "holdsSecret" // the value of a known secret is in it
	StateRefused     = "refused"     // the provider has refused a request with it
)

// NewEvent encodes payload as an event that has not got its seq and time yet: the log gives them.
func NewEvent(execution ExecutionID, payload Payload) Event {
	return Event{Execution: execution, Type: payload.EventType(), Data: Encode(payload)}
}

// CreatedBy is event 1 of an execution with this request.
func CreatedBy(request Request) ExecutionCreated {
	created := ExecutionCreated{Status: StatusQueued, Source: request.Source, Model: request.Model}
	if request.Environment.Name != "" {
		created.Environment = &request.Environment
	}
	return created
}

// InTurn returns a payload with its field Turn set, where it has one. An agent does not know which turn of the execution it is in.
func InTurn(payload Payload, turn int) Payload {
	dated := reflect.New(reflect.TypeOf(payload)).Elem()
	dated.Set(reflect.ValueOf(payload))
	if field := dated.FieldByName("Turn"); field.Kind() == reflect.Int {
		field.SetInt(int64(turn))
	}
	return dated.Interface().(Payload)
}

type (
	// ExecutionCreated is event 1 of every log.
	ExecutionCreated struct {
		Status Status `json:"status"` // always queued
		Source Source `json:"source"`

		Model       *ModelChoice       `json:"model,omitempty"`       // of the internal agent, and why it is that one; nil in logs that are older
		Environment *EnvironmentChoice `json:"environment,omitempty"` // with its digest; nil in logs that are older than environments
	}

	// StateChanged is every change of status but the last, which is the terminal event.
	StateChanged struct {
		From   Status `json:"from"`
		To     Status `json:"to"`
		Reason string `json:"reason,omitempty"`

		Cause InterruptCause `json:"cause,omitempty"` // where To is interrupted
		Code  Code           `json:"code,omitempty"`  // of the failure that interrupted it, where there was one
	}

	// PromptQueued reports that a further prompt was accepted. Its turn comes when those before it have ended.
	PromptQueued struct {
		PromptID PromptID     `json:"promptId"`
		Text     string       `json:"text"`
		Parts    []PromptPart `json:"parts,omitempty"` // with the pictures and files; nil: Text is all
		WhenBusy WhenBusy     `json:"whenBusy"`
		Edits    int          `json:"edits,omitempty"` // the generation that it wants changed
		By       Actor        `json:"by"`

		Options map[string]string `json:"options,omitempty"` // of the agent, that it sets
	}

	// PromptDiscarded reports that the execution ended before the prompt's turn came.
	PromptDiscarded struct {
		PromptID PromptID `json:"promptId"`
	}

	// TurnStarted opens a turn. The first one's prompt is the execution's; a further one's is here.
	TurnStarted struct {
		Turn     int          `json:"turn"`
		PromptID PromptID     `json:"promptId,omitempty"`
		Text     string       `json:"text,omitempty"`
		Parts    []PromptPart `json:"parts,omitempty"`  // with the pictures and files; nil: Text is all
		Edits    int          `json:"edits,omitempty"`  // the generation that the prompt wants changed
		Repair   int          `json:"repair,omitempty"` // from 1: the session asks again, since the answer did not fit the outputSchema

		Delegates []ExecutionID `json:"delegates,omitempty"` // the children whose results are the prompt
		Note      string        `json:"note,omitempty"`      // of the server to the agent, before the prompt: files that a person has taken back

		// SharesFolderWith lists other live executions that work in the folder when the first turn begins, in a folder in it, or in a folder around it. It leaves
		// out the executions of the same tree.
		SharesFolderWith []ExecutionID `json:"sharesFolderWith,omitempty"`

		// Options of the agent that the prompt sets. They hold from here on, unless the turn ends with [CodeInvalid]: then
		// the agent did not take them.
		Options map[string]string `json:"options,omitempty"`
	}

	// TurnContinued reports that an interrupted turn continues, with the message to the agent.
	TurnContinued struct {
		Turn int        `json:"turn"`
		Mode ResumeMode `json:"mode"`
		Text string     `json:"text"`
		By   *Actor     `json:"by"` // nil where nobody had to choose
	}

	TurnEnded struct {
		Turn       int        `json:"turn"`
		StopReason StopReason `json:"stopReason"`
		Usage      Usage      `json:"usage"`           // of this turn
		Error      *Failure   `json:"error,omitempty"` // with the stop reason error
	}

	// AgentStarted says what answers the prompts from here on. It is written again after a restart.
	AgentStarted struct {
		Source       Source `json:"source"`
		Sandbox      string `json:"sandbox"` // what confines its commands: bubblewrap, namespaces, off, none
		Name         string `json:"name,omitempty"`
		Version      string `json:"version,omitempty"`
		AgentSession string `json:"agentSession,omitempty"` // as the agent calls its session
		Resumable    bool   `json:"resumable,omitempty"`    // the session can be taken up in another process
		Continued    string `json:"continued,omitempty"`    // load or resume: an earlier session was taken up
		Mode         string `json:"mode,omitempty"`
		Model        string `json:"model,omitempty"`
	}

	// AgentExited reports that the agent's process has ended between two turns. The next prompt starts it again.
	AgentExited struct {
		Message string `json:"message"`
	}

	// AgentUpdated passes on an update that no other event holds: a kind unknown to us, or fields without a place elsewhere. Update is as the agent
	// sent it.
	AgentUpdated struct {
		Turn   int             `json:"turn"` // 0 between turns, here and below
		Kind   string          `json:"kind"`
		Update json.RawMessage `json:"update"`

		ParentToolCallID string `json:"parentToolCallId,omitempty"` // for an update of a subagent: the call that stands for the subagent
	}

	// AgentMCPServerUpdated is the state of an MCP server that the request names. Our own agent connects to it, and knows. The protocol of external
	// agents does not report it: Signoff sees the start of a program, because it is started through Signoff, but knows nothing of an address.
	AgentMCPServerUpdated struct {
		Server  string          `json:"server"`
		Status  MCPServerStatus `json:"status"`
		Message string          `json:"message,omitempty"` // why it has not started
	}

	// MCPServerRestarted reports that the program of an MCP server runs in a new process since our own agent used it last. Everything that the
	// server kept in its memory is lost.
	MCPServerRestarted struct {
		Server  string `json:"server"`
		Message string `json:"message,omitempty"` // why it runs in a new process
	}

	// AgentOptionsUpdated says what can be chosen with the agent, and what is chosen: its modes, its models and its other options.
	// It replaces the options before.
	AgentOptionsUpdated struct {
		Turn    int           `json:"turn"`
		Options []AgentOption `json:"options"`
	}

	// AgentModeChanged says in which mode the agent works from here on.
	AgentModeChanged struct {
		Turn   int             `json:"turn"`
		Mode   string          `json:"mode"`
		Update json.RawMessage `json:"update"`
	}

	// CommandsUpdated lists the commands that the agent takes in a prompt, as it sent them.
	CommandsUpdated struct {
		Turn   int             `json:"turn"`
		Update json.RawMessage `json:"update"`
	}

	// AgentSilent reports that the agent has sent nothing for a while during its turn. Some agents repeat a request to their model for minutes without
	// reporting it.
	AgentSilent struct {
		Turn    int   `json:"turn"`
		Seconds int64 `json:"seconds"`
	}

	// AgentStderr is a piece of what the agent wrote to its standard error; only where debug is on.
	AgentStderr struct {
		Text string `json:"text"`
	}

	// MessageDelta is a piece of a message of the agent. Pieces follow each other without a hole: Offset is the
	// number of UTF-8 bytes of the message before Text. Session fills in Turn and Offset.
	MessageDelta struct {
		MessageID string `json:"messageId"`
		Turn      int    `json:"turn"`
		Offset    int    `json:"offset"`
		Text      string `json:"text"`
	}

	// MessageCompleted closes a message. A message that a restart or a failure cut short is Interrupted: its text was
	// seen, but the model is asked again and does not remember it.
	MessageCompleted struct {
		MessageID   string `json:"messageId"`
		Turn        int    `json:"turn"`
		Length      int    `json:"length"` // UTF-8 bytes
		Interrupted bool   `json:"interrupted,omitempty"`
	}

	// ThoughtDelta is a piece of the model's reasoning, numbered like a message.
	ThoughtDelta struct {
		MessageID string `json:"messageId"`
		Turn      int    `json:"turn"`
		Offset    int    `json:"offset"`
		Text      string `json:"text"`
	}

	ThoughtCompleted struct {
		MessageID   string `json:"messageId"`
		Turn        int    `json:"turn"`
		Length      int    `json:"length"`
		Interrupted bool   `json:"interrupted,omitempty"`

		// Thinking is a model's state in logs that are older than [AnswerState]. It is read, and never written.
		Thinking json.RawMessage `json:"-"`
	}

	// ToolCallRequested is the agent's request, before policy has judged it. MessageID is the message that the
	// call belongs to: the calls of one model answer share it.
	ToolCallRequested struct {
		ToolCallID string          `json:"toolCallId"`
		MessageID  string          `json:"messageId"`
		Turn       int             `json:"turn"`
		Tool       string          `json:"tool"`
		Class      Class           `json:"class,omitempty"` // empty for a tool that does not exist
		Arguments  json.RawMessage `json:"arguments"`       // as the model wrote them; a string where they are no JSON, or too deep
		Summary    string          `json:"summary"`
		MCP        *MCPTool        `json:"mcp,omitempty"` // the tool of an MCP server; nil for all others

		// ParentToolCallID is the call that stands for the subagent, if a subagent of an external agent makes this call.
		ParentToolCallID string `json:"parentToolCallId,omitempty"`
	}

	// ToolCallQueued reports that a command may run and waits for a slot, because as many run as the server runs at once.
	ToolCallQueued struct {
		ToolCallID string `json:"toolCallId"`
	}

	// ToolCallStarted is in the log before the call runs, so that a restart knows that it may have happened.
	ToolCallStarted struct {
		ToolCallID string          `json:"toolCallId"`
		Arguments  json.RawMessage `json:"arguments"`            // what runs
		EditedBy   *Actor          `json:"editedBy,omitempty"`   // who has changed the arguments that the agent wrote; nil: nobody
		Version    string          `json:"version,omitempty"`    // of the tool; with the arguments it is what the hash names
		Definition string          `json:"definition,omitempty"` // hash of the definition of the tool, where it is that of an MCP server
		ApprovalID ApprovalID      `json:"approvalId,omitempty"` // empty where nobody had to be asked
		AllowedBy  string          `json:"allowedBy"`            // see approvals.Source
		RuleID     string          `json:"ruleId,omitempty"`
		Reason     string          `json:"reason,omitempty"`    // of the policy, where nobody had to be asked
		Sandbox    string          `json:"sandbox,omitempty"`   // what confines it, for a command
		Awaits     Awaited         `json:"awaits,omitempty"`    // who runs it, where that is not the server or its agent
		ExpiresAt  *time.Time      `json:"expiresAt,omitempty"` // until when that one may answer
		Children   []ExecutionID   `json:"children,omitempty"`  // the children that it has created or waits for
		Mode       AwaitMode       `json:"mode,omitempty"`      // whether it waits for all of them or for the first one
		Note       string          `json:"note,omitempty"`      // of the server to the model, before the result: files that a person has taken back
	}

	// ToolCallUpdated is a piece of what a running call prints, numbered like a message, or how far the call is.
	ToolCallUpdated struct {
		ToolCallID string        `json:"toolCallId"`
		Offset     int           `json:"offset"`
		Output     string        `json:"output"`
		Progress   *CallProgress `json:"progress,omitempty"`
	}

	// CallProgress is how far a running call says that it is.
	CallProgress struct {
		Done    float64 `json:"done"`
		Total   float64 `json:"total,omitempty"` // 0: it does not say
		Message string  `json:"message,omitempty"`
	}

	// ToolCallReported is what an external agent says of its call, as it sent it: title, status, locations, content,
	// diffs. It may come after the call's outcome.
	ToolCallReported struct {
		ToolCallID string          `json:"toolCallId"`
		Turn       int             `json:"turn"`
		Update     json.RawMessage `json:"update"`
	}

	// ToolCallCompleted is the one outcome of a call.
	ToolCallCompleted struct {
		ToolCallID  string       `json:"toolCallId"`
		Outcome     Outcome      `json:"outcome"`
		Output      string       `json:"output"`                // the tool result as people see it
		ModelOutput string       `json:"modelOutput,omitempty"` // the tool result that the model gets, where it is not Output
		Truncated   bool         `json:"truncated,omitempty"`   // Output leaves out the middle
		ExitCode    *int         `json:"exitCode,omitempty"`    // of a command
		DurationMs  int64        `json:"durationMs,omitempty"`
		Sandbox     string       `json:"sandbox,omitempty"` // what confined it, for a command that ran
		Error       *Failure     `json:"error,omitempty"`   // nil for succeeded
		Files       []PromptPart `json:"files,omitempty"`   // pictures of the result, which the model gets, and audio, which it does not
	}

	// ApprovalRequested carries all that a person needs to decide.
	ApprovalRequested struct {
		RunbookPlace
		ApprovalID       ApprovalID           `json:"approvalId"`
		Root             ExecutionID          `json:"root,omitempty"` // of the tree of the child that asks
		Path             []PathStep           `json:"path,omitempty"` // from the root to the child
		ToolCallID       string               `json:"toolCallId"`
		Kind             ApprovalKind         `json:"kind"`
		Tool             string               `json:"tool"`
		Arguments        json.RawMessage      `json:"arguments"`
		ArgumentsHash    string               `json:"argumentsHash"`
		Summary          string               `json:"summary"`
		WorkingDirectory string               `json:"workingDirectory"`
		Options          json.RawMessage      `json:"options,omitempty"`  // agentPermission: the agent's, as it sent them
		Question         json.RawMessage      `json:"question,omitempty"` // question: {message, schema}
		Repeats          bool                 `json:"repeats,omitempty"`  // question: the call does not run until the answer starts it again
		ExpiresAt        *time.Time           `json:"expiresAt"`
		AskedBy          string               `json:"askedBy,omitempty"` // what of the policy asks; see approvals.Source
		Reason           string               `json:"reason,omitempty"`  // why a person is asked
		Sandbox          string               `json:"sandbox,omitempty"` // what would confine it, for a command of ours
		Isolation        *Isolation           `json:"isolation,omitempty"`
		Environment      *ApprovalEnvironment `json:"environment"` // nil: see [Approval]
		MCP              *MCPReview           `json:"mcp,omitempty"`
		Reversibility
		// RememberOptions are the rules that the decision may leave behind.
		RememberOptions []RememberOption `json:"rememberOptions,omitempty"`
	}

	// ApprovalResolved says how an approval ended: decided, expired, or withdrawn.
	ApprovalResolved struct {
		RunbookPlace
		ApprovalID    ApprovalID      `json:"approvalId"`
		ToolCallID    string          `json:"toolCallId"`
		Status        ApprovalStatus  `json:"status"`
		Reason        string          `json:"reason,omitempty"`
		Edited        bool            `json:"edited,omitempty"` // the decider wrote other arguments
		ArgumentsHash string          `json:"argumentsHash,omitempty"`
		Remember      RememberScope   `json:"remember,omitempty"`
		PreviewID     string          `json:"previewId,omitempty"`
		RuleID        string          `json:"ruleId,omitempty"`     // the rule that it left behind, or that decided
		OptionID      string          `json:"optionId,omitempty"`   // agentPermission: the option that was chosen
		Answer        json.RawMessage `json:"answer,omitempty"`     // question: what the person answered
		Resolution    Resolution      `json:"resolution,omitempty"` // unknownOutcome
		DecidedBy     *Actor          `json:"decidedBy"`            // nil where no person decided
	}

	// PlanUpdated replaces the agent's plan. Update is as the agent sent it.
	PlanUpdated struct {
		Turn    int             `json:"turn"`
		Entries []PlanEntry     `json:"entries"`
		Update  json.RawMessage `json:"update,omitempty"`
	}

	// PlanEntry is one step of a plan.
	PlanEntry struct {
		Content  string `json:"content"`
		Priority string `json:"priority"`
		Status   string `json:"status"`
	}

	// RateLimitUpdated reports the rate limits of a provider, as far as an external agent tells them, or the provider of a model with its response.
	RateLimitUpdated struct {
		Turn   int             `json:"turn"`
		Model  string          `json:"model,omitempty"` // of the internal agent, that was asked
		Limits []RateLimit     `json:"limits,omitempty"`
		Update json.RawMessage `json:"update"` // as the vendor tells them: its object, or the headers of its response
	}

	// UsageUpdated replaces the usage of the execution: it is a sum, never a difference.
	UsageUpdated struct {
		Usage   Usage  `json:"usage"`
		Turn    *Usage `json:"turn,omitempty"`    // of the turn so far
		Request *Usage `json:"request,omitempty"` // of the one request to a model that this tells of
		Model   string `json:"model,omitempty"`   // that was asked

		MessageID string `json:"messageId,omitempty"` // the answer to that request; empty where there is none that is whole

		Charged
	}

	// ModelRequested reports that a request is sent to a model. Each attempt is a request.
	ModelRequested struct {
		Turn      int    `json:"turn"`
		Model     string `json:"model"`             // its name in the registry
		Iteration int    `json:"iteration"`         // of the turn's loop over model and tools, from 1
		Messages  int    `json:"messages"`          // of the conversation, without the system prompt
		Tools     int    `json:"tools"`             // that the model may call
		Summary   bool   `json:"summary,omitempty"` // it is asked for a summary of the conversation; see [ContextCompacted]
	}

	// ModelRetrying reports that a request to a model failed and will be sent again, and when. Until then the clock of the turn stands still.
	ModelRetrying struct {
		Model   string    `json:"model,omitempty"`
		Attempt int       `json:"attempt"` // of this request to this model; the one that failed, from 1
		DelayMs int64     `json:"delayMs"`
		At      time.Time `json:"at,omitzero"`    // when the next attempt begins
		Until   time.Time `json:"until,omitzero"` // no attempt begins later, but for one that a stopped server has missed
		Code    Code      `json:"code"`
		Message string    `json:"message"`
	}

	// ModelSwitched reports that a model was given up and another one of the request's list is asked from here on.
	ModelSwitched struct {
		From    string `json:"from"`
		To      string `json:"to"`
		Code    Code   `json:"code"`
		Message string `json:"message"`
	}

	// ModelStateDropped reports that opaque state of a model, such as signed reasoning, is not sent back to it. The next request goes
	// out as after a fallback.
	ModelStateDropped struct {
		Turn      int    `json:"turn"`
		MessageID string `json:"messageId,omitempty"` // whose state it is; empty = all the states of this model
		Model     string `json:"model"`               // its name in the registry
		Reason    string `json:"reason"`              // one of the three below
	}

	// ContextCompacted reports that old tool results were cut down to a line each, for the model alone: the log has them. Where
	// that was not enough after an overflow, the newest have lost their middle.
	ContextCompacted struct {
		Turn    int    `json:"turn"`
		Reason  string `json:"reason"`  // nearLimit, or overflow: the provider had refused the request
		Results int    `json:"results"` // how many were cut down
		Before  int64  `json:"before"`  // tokens: what the provider counted up to the last answer, and a guess at the rest
		After   int64  `json:"after"`

		// Through is the call of the newest result that was cut down: with it, all that come before it were, as far as that makes them
		// shorter. Where there is a ResultBytes, the results of its round alone lost their middle, down to so many bytes each.
		Through     string `json:"through,omitempty"`
		ResultBytes int    `json:"resultBytes,omitempty"`

		// Summary stands for the first so many messages of people and answers of the model, with the results of their calls. The model
		// wrote it; Usage is what that took.
		Summary  string `json:"summary,omitempty"`
		Messages int    `json:"messages,omitempty"`
		Model    string `json:"model,omitempty"`
		Usage    *Usage `json:"usage,omitempty"`
	}

	// ContextSummaryFailed reports that the model could not summarize the conversation near its limit. Old tool results are cut instead.
	ContextSummaryFailed struct {
		Turn    int    `json:"turn"`
		Model   string `json:"model"`
		Code    Code   `json:"code"`
		Message string `json:"message"`
	}

	// BudgetWarned reports that four fifths of a bound of the budget are used up, or of the length that the server gives a log.
	BudgetWarned struct {
		Limit string  `json:"limit"` // tokens, cost, toolCalls, events
		Used  float64 `json:"used"`
		Max   float64 `json:"max"`
	}

	// BlocksGenerated reports that the agent has submitted blocks for a person to accept or to change. It supersedes an earlier submission.
	BlocksGenerated struct {
		Generation       int             `json:"generation"` // 1, 2, 3 …
		Turn             int             `json:"turn"`
		ToolCallID       string          `json:"toolCallId"`
		Blocks           json.RawMessage `json:"blocks"`                     // a list of {type, props}
		InsertAfter      string          `json:"insertAfter,omitempty"`      // of the request
		DocumentRevision string          `json:"documentRevision,omitempty"` // that the agent was shown
	}

	// BlocksAccepted reports that a person has accepted the blocks. The execution ends with it.
	BlocksAccepted struct {
		Generation int   `json:"generation"`
		By         Actor `json:"by"`
	}

	// DelegateStarted reports, in the log of a parent, that a call has created a child. The child is written in the same transaction.
	DelegateStarted struct {
		ExecutionID ExecutionID `json:"executionId"`
		ToolCallID  string      `json:"toolCallId"`
		Name        string      `json:"name"`
		Source      Source      `json:"source"`
		Depth       int         `json:"depth"`
		Background  bool        `json:"background,omitempty"` // the call does not wait for it
	}

	// DelegateUpdated reports, in the log of a parent, that a child has begun a turn, is interrupted, rests or has ended. The child's driver writes it.
	DelegateUpdated struct {
		ExecutionID ExecutionID    `json:"executionId"`
		Status      Status         `json:"status"`
		Cause       InterruptCause `json:"cause,omitempty"` // if Status is interrupted
		Turn        int            `json:"turn,omitempty"`
	}

	// DelegateApprovalRequested reports, in the logs of the parent and of the root, that a child waits for a person. The approval belongs to the child
	// and is decided once.
	DelegateApprovalRequested struct {
		ExecutionID ExecutionID  `json:"executionId"`
		ApprovalID  ApprovalID   `json:"approvalId"`
		ToolCallID  string       `json:"toolCallId"`
		Kind        ApprovalKind `json:"kind"`
		Tool        string       `json:"tool"`
		Path        []PathStep   `json:"path"`
	}

	// DelegateApprovalResolved reports, in the same logs, how that approval has ended.
	DelegateApprovalResolved struct {
		ExecutionID ExecutionID    `json:"executionId"`
		ApprovalID  ApprovalID     `json:"approvalId"`
		Status      ApprovalStatus `json:"status"`
	}

	// DelegateReturned reports that the parent has taken a result of a child: once for each rest of the child.
	DelegateReturned struct {
		ExecutionID ExecutionID `json:"executionId"`
		Rest        int         `json:"rest"`                 // 1, 2, 3 …: the number of the child's rest
		ToolCallID  string      `json:"toolCallId,omitempty"` // the call whose outcome has the result; empty: the next turn has it
		Status      Status      `json:"status"`
		Error       *Failure    `json:"error,omitempty"`
	}

	// ExecutionEnded is the data of the four terminal events. Its output's text is at most [EndedTextBytes] long.
	ExecutionEnded struct {
		Status          Status       `json:"status"`
		Output          Output       `json:"output"`
		FinishReason    FinishReason `json:"finishReason"`
		DurationSeconds float64      `json:"durationSeconds"`
		Usage           Usage        `json:"usage"`
		Error           *Failure     `json:"error"`
		Reason          string       `json:"reason,omitempty"` // why it was cancelled, in the canceller's words
		CancelledBy     *Actor       `json:"cancelledBy,omitempty"`

		Charged
	}
)

func (ExecutionCreated) EventType() EventType      { return ExecutionCreatedType }
func (StateChanged) EventType() EventType          { return StateChangedType }
func (PromptQueued) EventType() EventType          { return PromptQueuedType }
func (PromptDiscarded) EventType() EventType       { return PromptDiscardedType }
func (TurnContinued) EventType() EventType         { return TurnContinuedType }
func (AgentExited) EventType() EventType           { return AgentExitedType }
func (AgentUpdated) EventType() EventType          { return AgentUpdatedType }
func (AgentModeChanged) EventType() EventType      { return AgentModeChangedType }
func (AgentMCPServerUpdated) EventType() EventType { return AgentMCPServerType }
func (MCPServerRestarted) EventType() EventType    { return MCPServerRestartedType }
func (AgentOptionsUpdated) EventType() EventType   { return AgentOptionsType }
func (CommandsUpdated) EventType() EventType       { return CommandsUpdatedType }
func (AgentSilent) EventType() EventType           { return AgentSilentType }
func (AgentStderr) EventType() EventType           { return AgentStderrType }
func (ToolCallReported) EventType() EventType      { return ToolCallReportedType }
func (PlanUpdated) EventType() EventType           { return PlanUpdatedType }
func (RateLimitUpdated) EventType() EventType      { return RateLimitUpdatedType }
func (TurnStarted) EventType() EventType           { return TurnStartedType }
func (TurnEnded) EventType() EventType             { return TurnEndedType }
func (AgentStarted) EventType() EventType          { return AgentStartedType }
func (MessageDelta) EventType() EventType          { return MessageDeltaType }
func (MessageCompleted) EventType() EventType      { return MessageCompletedType }
func (ThoughtDelta) EventType() EventType          { return ThoughtDeltaType }
func (ThoughtCompleted) EventType() EventType      { return ThoughtCompletedType }
func (ToolCallRequested) EventType() EventType     { return ToolCallRequestedType }
func (ToolCallQueued) EventType() EventType        { return ToolCallQueuedType }
func (ToolCallStarted) EventType() EventType       { return ToolCallStartedType }
func (ToolCallUpdated) EventType() EventType       { return ToolCallUpdatedType }
func (ToolCallCompleted) EventType() EventType     { return ToolCallCompletedType }
func (ApprovalRequested) EventType() EventType     { return ApprovalRequestedType }
func (ApprovalResolved) EventType() EventType      { return ApprovalResolvedType }
func (UsageUpdated) EventType() EventType          { return UsageUpdatedType }
func (ModelRequested) EventType() EventType        { return ModelRequestedType }
func (ModelRetrying) EventType() EventType         { return ModelRetryingType }
func (ModelSwitched) EventType() EventType         { return ModelSwitchedType }
func (ContextCompacted) EventType() EventType      { return ContextCompactedType }
func (ContextSummaryFailed) EventType() EventType  { return ContextSummaryFailType }
func (ModelStateDropped) EventType() EventType     { return ModelStateDroppedType }
func (BudgetWarned) EventType() EventType          { return BudgetWarnedType }
func (BlocksGenerated) EventType() EventType       { return BlocksGeneratedType }
func (BlocksAccepted) EventType() EventType        { return BlocksAcceptedType }
func (DelegateStarted) EventType() EventType       { return DelegateStartedType }
func (DelegateUpdated) EventType() EventType       { return DelegateUpdatedType }
func (DelegateReturned) EventType() EventType      { return DelegateReturnedType }

func (DelegateApprovalRequested) EventType() EventType { return DelegateAskedType }
func (DelegateApprovalResolved) EventType() EventType  { return DelegateAnsweredType }

// EventType is the terminal event of the status that the execution ended in.
func (e ExecutionEnded) EventType() EventType {
	switch e.Status {
	case StatusCompleted:
		return ExecutionCompletedType
	case StatusCancelled:
		return ExecutionCancelledType
	case StatusTimedOut:
		return ExecutionTimedOutType
	default:
		return ExecutionFailedType
	}
}

// Payload decodes the event's data into its struct.
func (e Event) Payload() (Payload, error) {
	decode := e.Type.decoder()
	if decode == nil {
		return nil, fmt.Errorf("domain: no payload for event type %q", e.Type)
	}
	return decode(e.Data)
}

// sessionEvents and agentEvents have the payloads of all types. A new event is its constant, its struct, its method, and its name in one of the two
// lists. Decisions, statuses and ends are the session's: an agent that could emit them could forge them.
var (
	sessionEvents = decodersOf(
		of[ExecutionCreated], of[StateChanged], of[PromptQueued], of[PromptDiscarded], of[TurnStarted], of[TurnContinued], of[TurnEnded],
		of[AgentStarted], of[ToolCallQueued], of[ToolCallStarted], of[ApprovalRequested], of[ApprovalResolved], of[BudgetWarned],
		of[BlocksGenerated], of[BlocksAccepted], of[DelegateStarted], of[DelegateUpdated], of[DelegateApprovalRequested],
		of[DelegateApprovalResolved], of[DelegateReturned], of[CheckpointCreated], of[RollbackCompleted], ended(ExecutionCompletedType), ended(ExecutionFailedType), ended(ExecutionCancelledType),
		ended(ExecutionTimedOutType),
	)
	agentEvents = decodersOf(
		of[AgentExited], of[AgentUpdated], of[AgentModeChanged], of[AgentMCPServerUpdated], of[MCPServerRestarted], of[AgentOptionsUpdated],
		of[CommandsUpdated], of[AgentSilent], of[AgentStderr], of[MessageDelta], of[MessageCompleted], of[ThoughtDelta], of[ThoughtCompleted],
		of[ToolCallRequested], of[ToolCallUpdated], of[ToolCallReported], of[ToolCallCompleted], of[PlanUpdated], of[UsageUpdated],
		of[RateLimitUpdated], of[ModelRequested], of[ModelRetrying], of[ModelSwitched], of[ModelStateDropped], of[ContextCompacted], of[ContextSummaryFailed],
	)
)

// FromAgent reports whether the agent emits the events of this type. The others are the session's.
func (t EventType) FromAgent() bool { return agentEvents[t] != nil }

// decoder decodes the data of an event.
type decoder func(json.RawMessage) (Payload, error)

func (t EventType) decoder() decoder {
	if decode, is := agentEvents[t]; is {
		return decode
	}
	return sessionEvents[t]
}

func decodersOf(payloads ...func() (EventType, decoder)) map[EventType]decoder {
	all := map[EventType]decoder{}
	for _, payload := range payloads {
		t, decode := payload()
		all[t] = decode
	}
	return all
}

func of[P Payload]() (EventType, decoder) {
	var zero P
	return zero.EventType(), decode[P]
}

// ended is of for a type of [ExecutionEnded], which has several.
func ended(t EventType) func() (EventType, decoder) {
	return func() (EventType, decoder) { return t, decode[ExecutionEnded] }
}

func decode[P Payload](data json.RawMessage) (Payload, error) {
	var payload P
	if err := json.Unmarshal(data, &payload); err != nil {
		return nil, fmt.Errorf("domain: event data: %w", err)
	}
	return payload, nil
}

// PayloadsOf decodes the events of one type, and leaves out all others.
func PayloadsOf[P Payload](log []Event) ([]P, error) {
	var all []P
	var zero P
	for _, event := range log {
		if event.Type != zero.EventType() {
			continue
		}
		payload, err := event.Payload()
		if err != nil {
			return nil, err
		}
		all = append(all, payload.(P))
	}
	return all, nil
}
