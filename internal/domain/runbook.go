package domain

import (
	"encoding/json"
	"time"
)

// Kind says what an execution is for. It decides the agent's instructions and its tools.
type Kind string

const (
	KindAgent      Kind = "agent"                 // works on a prompt, by itself
	KindAssistant  Kind = "assistant"             // talks with a person about a runbook, and changes it through the client's tools
	KindGeneration Kind = "inlineBlockGeneration" // writes blocks for one place of a runbook
)

// BlockName is the block of a runbook that started an execution.
type BlockName struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// Runbook is what an execution knows of the runbook that it works on.
type Runbook struct {
	Document     *Document   `json:"document,omitempty"`     // nil: the agent is shown none
	InsertAfter  string      `json:"insertAfter,omitempty"`  // the block behind which generated ones go; empty: at the beginning
	BlockTypes   []BlockType `json:"blockTypes,omitempty"`   // that its blocks can have
	DefaultShell string      `json:"defaultShell,omitempty"` // that its scripts run in; empty: unknown
}

// Document is a runbook's content at one moment.
type Document struct {
	ID       string          `json:"id,omitempty"`       // as the client names it; empty: it does not say which document it is
	Revision string          `json:"revision,omitempty"` // as the client names it; empty: it does not count them
	Blocks   json.RawMessage `json:"blocks"`             // a list; what is in it is the client's
}

// BlockType describes one type of block.
type BlockType struct {
	Type        string          `json:"type"`
	Description string          `json:"description,omitempty"` // in a sentence
	Docs        string          `json:"docs,omitempty"`        // in Markdown, for the agent to read when it needs it
	PropsSchema json.RawMessage `json:"propsSchema,omitempty"` // a JSON Schema of props; nil: any
}

// TemplateVariables are the variables that templates of a request could name, by name.
type TemplateVariables map[string]TemplateVariable

// TemplateVariable is one of [TemplateVariables], as a list of completions shows it. The value itself is not kept.
type TemplateVariable struct {
	Type  string `json:"type"`  // of a JSON value: string, number, boolean, object, array or null
	Value string `json:"value"` // the beginning of it, without secrets
}

// ClientTool is a tool that the client runs: the agent asks for it, and the answer comes through the API.
type ClientTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"` // a JSON Schema object
	Class       Class           `json:"class"`
}

// Awaited is who runs a call, where that is not the server or its agent.
type Awaited string

// AwaitsClient: the call waits for its client's answer.
const AwaitsClient Awaited = "client"

// ClientCall is a call that its client runs. It waits until one answer comes, or until its time is over.
type ClientCall struct {
	Execution  ExecutionID
	ToolCallID string
	Tool       string
	Arguments  json.RawMessage
	State      ClientCallState
	Asked      time.Time
	Expires    *time.Time // nil: never
	Answer     *ClientAnswer
}

// ClientCallState is waiting until the one answer or the end of the waiting.
type ClientCallState string

const (
	ClientCallWaiting   ClientCallState = "waiting"
	ClientCallAnswered  ClientCallState = "answered"
	ClientCallExpired   ClientCallState = "expired"
	ClientCallCancelled ClientCallState = "cancelled"
)

// ClientAnswer is the result of a call that the client ran: an output, or an error.
type ClientAnswer struct {
	Output string `json:"output"`
	Error  string `json:"error,omitempty"` // a sentence for the model; empty: it succeeded
	By     Actor  `json:"by"`
}

// Generation is blocks that the agent has submitted.
type Generation struct {
	Execution        ExecutionID
	Number           int // 1, 2, 3 … within the execution
	State            GenerationState
	Turn             int
	ToolCallID       string
	Blocks           json.RawMessage // a list of {type, props}
	DocumentRevision string          // of the document that the agent was shown
	Created          time.Time
	Decided          *time.Time // when it stopped being submitted
	By               *Actor     // who accepted it
}

// GenerationState is submitted until somebody accepts the blocks, newer ones take their place, or the execution ends.
type GenerationState string

const (
	GenerationSubmitted  GenerationState = "submitted"
	GenerationAccepted   GenerationState = "accepted"
	GenerationSuperseded GenerationState = "superseded"
	GenerationCancelled  GenerationState = "cancelled"
)

// Edit is what a prompt wants changed.
type Edit struct {
	Generation int       `json:"generation"`
	Document   *Document `json:"document,omitempty"` // takes the place of the request's; nil: it has not changed
}

// Refusal is why a client's call does not accept the answer; nil: it has this answer already.
func (c ClientCall) Refusal(answer ClientAnswer) error {
	switch {
	case c.Answer != nil && c.Answer.Output == answer.Output && c.Answer.Error == answer.Error:
		return nil
	case c.Answer != nil:
		return Errorf(CodeAlreadyAnswered, "The call was answered before, and otherwise.")
	case c.State == ClientCallExpired:
		return Errorf(CodeCallEnded, "The call has waited for its client long enough; its time is over.")
	default:
		return Errorf(CodeCallEnded, "The call waits for its client no more: its turn was ended.")
	}
}
