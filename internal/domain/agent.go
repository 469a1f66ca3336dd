package domain

import (
	"context"
	"encoding/json"
	"io"
	"io/fs"
)

// Agent answers the prompts of one execution. A session opens it, asks it one turn at a time and closes it.
type Agent interface {
	// Prompt runs one turn until the agent stops. What the agent says on the way goes to host. When ctx ends, Prompt
	// gives up at once and returns an error; the cause of ctx is the session's business, not the agent's.
	//
	// A failure that the client should see by code is a [*Error]; any other error is shown as internal.
	Prompt(ctx context.Context, host Host, prompt Prompt) (StopReason, error)

	// Close ends whatever the agent holds. It is called once, after the last Prompt has returned.
	Close() error
}

// Prompt is what a turn starts from. History ends with this turn's user message, or, where a session takes up an
// execution after a restart, with whatever of the turn is already in the log: an assistant message whose tool calls
// are not all answered is to be gone on with, not asked for again.
type Prompt struct {
	Turn    int
	Rounds  int // model rounds already spent in this turn
	History []Message
}

// Host is what a session offers its agent. All methods may be called at once from several goroutines; what one
// goroutine sends arrives in its order, across methods.
type Host interface {
	// Emit puts a fact into the log. It does not wait for the database, and blocks only while megabytes of earlier
	// facts are still unwritten. The session fills in turn and offset of deltas. It fails when the session is over, and
	// for a fact that is not the agent's to tell: an agent speaks of messages, thoughts, the requests, output and fates
	// of its calls, usage and retries. What comes for a message or call that is closed is not a fact and is dropped.
	Emit(ctx context.Context, payload Payload) error

	// Authorize asks whether an already emitted call may run, and waits for a person where policy says so. When it
	// returns a grant that allows, `toolCall.started` is in the log: the caller runs the call, once, with the
	// grant's arguments, and emits its [ToolCallCompleted]. When it returns a grant that does not, the session has
	// already written the fate, and Message is what the model is to be told.
	Authorize(ctx context.Context, call ToolCall) (Grant, error)

	// OpenFile opens a regular file of the workspace for reading. A path that leaves the workspace, by `..`, by a
	// symlink or by being absolute elsewhere, is refused with [CodePathOutsideWorkspace].
	OpenFile(ctx context.Context, path string) (fs.File, error)

	// Run runs a command in the workspace under the supervisor and in the sandbox, and copies what it prints, stdout
	// and stderr as they come, to output. It returns when the process and all its descendants are gone.
	Run(ctx context.Context, command Command, output io.Writer) (CommandResult, error)
}

// Grant answers Authorize.
type Grant struct {
	Allowed   bool
	Arguments json.RawMessage // what to run: as asked for, or as the decider wrote them
	Message   string          // where not allowed: the tool result for the model
}

// Role is who speaks in a conversation.
type Role string

const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// Message is one entry of a conversation as a model needs it.
type Message struct {
	Role       Role
	Text       string
	Thought    string     // of the assistant; some providers want it back
	ToolCalls  []ToolCall // of the assistant
	ToolCallID string     // of a tool result
}
