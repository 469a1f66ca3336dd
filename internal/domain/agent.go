package domain

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"maps"
	"strings"
)

// Agent answers the prompts of one execution. A session opens it, asks it one turn at a time and closes it.
type Agent interface {
	// Introduction names the agent.
	Introduction() Introduction

	// Prompt runs one turn until the agent stops, and reports its progress to host. When ctx ends, Prompt returns an error at once; the session
	// evaluates the cause of ctx.
	//
	// A failure with a code for the client is a [*Error]; any other error is shown as internal. Beside the stop reason of a limit or a refusal, the
	// error says in words what happened; without one the session has words of its own.
	Prompt(ctx context.Context, host Host, prompt Prompt) (StopReason, error)

	// Close releases the agent's resources. It is called once, after the last Prompt has returned.
	Close() error
}

// Parkable is an agent that may have something in its process which the log cannot bring back.
type Parkable interface {
	// Parkable reports whether the agent may be closed while its execution waits for somebody or is idle, and opened again from the log. The
	// session asks at any time, also while Prompt runs, and asks again after a while if the answer is no. An agent without this method may.
	Parkable() bool
}

// ErrNotPrompted is in the chain of the error of Prompt if the agent was gone before it received the prompt: a new one can be asked the same, and
// nothing is done twice.
var ErrNotPrompted = errors.New("the agent was gone before it was prompted")

// Opening is what an agent is opened with. When its context ends, the opening fails and leaves nothing behind.
type Opening struct {
	Execution    Execution
	Host         Host          // for what the agent says between turns; in a turn, it is the host of the turn
	AgentSession string        // the agent's own session that is to be taken up; empty for a new one
	Earlier      bool          // an earlier process may have spoken for the execution
	Options      ChosenOptions // set by the turns that have ended
	Log          AgentLog
}

// AgentLog reads the log of the agent session that is to be resumed, from its first prompt on: event by event, each with the request of its
// execution. nil: it is not known.
type AgentLog func(ctx context.Context, take func(of Request, event Event)) error

// MCPServerStatus is what became of an MCP server that an agent was to use.
type MCPServerStatus string

const (
	MCPServerStarted    MCPServerStatus = "started"
	MCPServerFailed     MCPServerStatus = "failed"     // its program cannot be started, or it cannot be reached
	MCPServerNotStarted MCPServerStatus = "notStarted" // the agent has not tried to, until its first turn has ended
	MCPServerUnknown    MCPServerStatus = "unknown"    // it is an address, and the agent does not say whether it reaches it
	MCPServerWithheld   MCPServerStatus = "withheld"   // the capability mcp is denied
)

// AgentOption is a choice that an external agent offers its user. Ids, values and names are the agent's own.
type AgentOption struct {
	ID          string        `json:"id"` // mode and model where the agent has no id for them
	Name        string        `json:"name,omitempty"`
	Description string        `json:"description,omitempty"`
	Category    string        `json:"category"` // mode, model, thought_level, or whatever the agent calls it
	Current     string        `json:"current"`  // empty: the agent does not say
	Choices     []AgentChoice `json:"choices"`
}

// ChosenOptions are the options that prompts have set, in the order of the prompts. They override those of the request, and a later one overrides
// an earlier one: an option may be named by its id or by its category, and only the agent knows that both are one.
type ChosenOptions []map[string]string

// With returns the options as they are after a further prompt has set some.
func (c ChosenOptions) With(options map[string]string) ChosenOptions {
	if len(options) == 0 {
		return c
	}
	var all ChosenOptions
	for _, earlier := range c {
		left := maps.Clone(earlier)
		maps.DeleteFunc(left, func(id, _ string) bool { _, again := options[id]; return again })
		if len(left) > 0 {
			all = append(all, left)
		}
	}
	return append(all, options)
}

// After returns the options as they are after a turn that was to set some, and how it failed; nil: it did not. A turn that
// fails with [CodeInvalid] has not begun, because the agent did not take its options.
func (c ChosenOptions) After(options map[string]string, failure *Failure) ChosenOptions {
	if failure != nil && failure.Code == CodeInvalid {
		return c
	}
	return c.With(options)
}

// AgentChoice is one value of an option.
type AgentChoice struct {
	Value       string `json:"value"`
	Name        string `json:"name,omitempty"`
	Description string `json:"description,omitempty"`
}

// Introduction is how an agent describes itself. The internal agent's is empty.
type Introduction struct {
	Name         string // of the program, as it calls itself
	Version      string
	AgentSession string // its own id of the session
	Resumable    bool   // the session can be taken up later, in another process
	Continued    string // how an earlier session was taken up: load or resume; empty for a new one
	Mode         string // that it works in, where it has modes
	Model        string // that it works with, where it says so
	Isolated     bool   // it is a process that runs in the environment of the execution
}

// Prompt is what a turn starts from. Text is the person's message; an agent that keeps its own history needs no more. History ends with this
// turn's user message, or, after a recovery, with the part of the turn that is already in the log: an assistant message with open tool calls is
// continued, not requested again.
type Prompt struct {
	Turn    int
	Edits   int // the generation that this turn changes; 0: none
	Rounds  int // model rounds already spent in this turn
	Text    string
	Parts   []PromptPart // with the pictures and files, in the order in which they were given; nil: Text is all
	History []Message

	// Compacted is what was left out of the history for the model so far, in its order: a process that takes the execution over leaves out
	// the same.
	Compacted []ContextCompacted

	Options map[string]string // of an external agent, to be set before the turn; [CodeInvalid] where it does not take them

	Retrying *Retrying // the request to a model with which the turn goes on, where an earlier process has made it; nil: none failed
}

// Retrying is a request to a model that has failed and will be repeated.
type Retrying struct {
	ModelRetrying
	Switched []ModelSwitched // from the models that were given up before in this turn, in their order
}

// Host is what a session offers its agent. All methods may be called at once from several goroutines; what one
// goroutine sends arrives in its order, across methods.
type Host interface {
	// Emit appends events to the log, those of one call in one commit: half of them may mean something else, and a server that dies must not leave
	// that half. It does not wait for the database, and blocks only while megabytes of earlier events are unwritten. The session fills in turn and
	// offset of deltas. Emit fails when the session is over, and for an event that is not the agent's: an agent reports messages, thoughts, plans, the
	// requests, output and outcomes of its calls, usage and retries, and itself. The session drops events of a closed message or call.
	Emit(ctx context.Context, payloads ...Payload) error

	// EmitAnswer is Emit for the events that end a whole answer of a model, with the state that the model wants back of it. The state is written in
	// their commit, beside the log, and stands in the [Message] of this answer from then on. Without a state it is Emit.
	EmitAnswer(ctx context.Context, state AnswerState, payloads ...Payload) error

	// Authorize asks whether an already emitted call may run, and waits for a person where policy says so. When it
	// returns a grant that allows, `toolCall.started` is in the log: the caller runs the call, once, with the
	// grant's arguments, and emits its [ToolCallCompleted]. When it returns a grant that does not, the session has
	// already written the outcome, and Message is the text for the model.
	Authorize(ctx context.Context, call ToolCall) (Grant, error)

	// Ask puts a question of an external agent to a person, and waits for the answer; policy may answer in a person's
	// place. When the answer allows, `toolCall.started` is in the log. The end of ctx withdraws the question.
	Ask(ctx context.Context, question Question) (Answer, error)

	// Inquire puts a question of the MCP server of a started call to a person, and waits for the answer. With [Inquiry.Repeat], the call does not run
	// while it waits: when Inquire returns an answer that was approved or denied, a further `toolCall.started` is in the log, and the caller repeats
	// the request, once. If the answer is another one, the session has written the outcome of the call, and Message is the text for the model. If the
	// process ends meanwhile, a later one authorizes the call again and gets a [Grant] with [Grant.Continues].
	//
	// Without Repeat, the call goes on, whatever the answer is, and the end of ctx withdraws the question.
	//
	// If nobody is there to ask, the answer is denied at once, and the call goes on under the start that it has. A call has one open question at a
	// time, at most [MaxInquiries] in all, and their size is bounded: beyond that Inquire fails, and the caller completes the call.
	Inquire(ctx context.Context, inquiry Inquiry) (Answer, error)

	// Reserve reserves the maximum usage of a request to a model from the budget that the execution shares with others, before the request is sent. As
	// long as anything is left the request may be sent; if others have reserved the rest, Reserve waits for them. [ErrBudgetSpent] and [ErrTreeBudgetSpent]:
	// nothing is left, and the turn ends. [ErrCostUnknown]: the budget bounds the cost, and the estimate has none.
	Reserve(ctx context.Context, request Estimate) (Reservation, error)

	// CallClient has the client run a call. It is judged like any other; Authorize says how. When it returns, the outcome is in the
	// log, and output is the text for the model. It takes as long as the client does.
	CallClient(ctx context.Context, call ToolCall) (output string, err error)

	// Delegate runs a call of one of the delegation tools. It is judged like any other; Authorize says how. When it returns, the outcome is in the
	// log, and output is the text for the model. It takes as long as the children do.
	Delegate(ctx context.Context, call ToolCall) (output string, err error)

	// SubmitBlocks submits the blocks of an already emitted call: a list of {type, props} that fits its types. When it returns, the blocks are in the
	// log as a new generation, and the call stays open until a person decides: the agent ends its turn. A second submission of the same call does
	// nothing.
	SubmitBlocks(ctx context.Context, call ToolCall, blocks json.RawMessage) error

	// Runbook is the runbook that the execution works on, with the document as the client has sent it last.
	Runbook() Runbook

	// Environment is what commands and file tools of the execution see of the machine, and reach. The zero value is that of an execution that is
	// older than environments.
	Environment() Environment

	// Surroundings says the same to a model. The text stays the same from turn to turn, as long as the operator's definitions do. It is empty for
	// an execution that is older than environments.
	Surroundings(ctx context.Context) string

	// OpenFile opens a regular file of the workspace for reading. A path that leaves the workspace, by `..`, by a
	// symlink or by being absolute elsewhere, is refused with [CodePathOutsideWorkspace].
	OpenFile(ctx context.Context, path string) (fs.File, error)

	// ReadDir lists a folder of the workspace, sorted by name, with the same boundary. Links are listed as links.
	ReadDir(ctx context.Context, path string) ([]fs.DirEntry, error)

	// ViewFile opens a file as OpenFile does, and calls show, which shows it to the agent. In a tree of executions, the host stores a hash of the content
	// for WriteFiles. If show fails, the agent has seen nothing.
	ViewFile(ctx context.Context, path string, show func(file fs.File) error) error

	// WriteFiles changes files of the workspace, with the same boundary: all of them or none, each whole, and the folders
	// on their way where they are missing. In a tree of executions it fails with [CodeConflict] if a file has changed since the execution viewed or
	// wrote it last, and if a change with [AnyFile] meets a file that the execution has never viewed.
	WriteFiles(ctx context.Context, changes ...FileChange) error

	// ToolOutput returns what a call of this execution has printed, as far as it is in the log, or its result if it has printed nothing.
	ToolOutput(ctx context.Context, toolCallID string) (string, error)

	// ReadFile returns a file that the execution uses, with its bytes: a picture or a document of a prompt or of a tool result. Any other is
	// [CodeNotFound].
	ReadFile(ctx context.Context, id FileID) (File, []byte, error)

	// SaveFile stores a picture or audio of a tool result (see [ResultMediaTypeOf]), as a file of the execution. [ToolCallCompleted.Files] then names it.
	SaveFile(ctx context.Context, name string, content []byte) (File, error)

	// Memory returns the notes of a scope. Where there are none, the revision is 0.
	Memory(ctx context.Context, scope MemoryScope) (Memory, error)

	// SaveMemory replaces the notes of a scope that still have the given revision; otherwise [CodeConflict].
	SaveMemory(ctx context.Context, scope MemoryScope, revision int64, content string) (Memory, error)

	// Run runs a command in the workspace under the supervisor and in the sandbox, and copies what it prints, stdout
	// and stderr as they come, to output. It returns when the process and all its descendants are gone.
	Run(ctx context.Context, command Command, output io.Writer) (CommandResult, error)

	// Trace adds a raw message of the agent's protocol to the debug feed, if that is on. It never waits.
	Trace(direction Direction, message []byte)
}

// Direction is which way a raw message went.
type Direction string

const (
	ToAgent   Direction = "toAgent"
	FromAgent Direction = "fromAgent"
)

// Question is what an external agent asks about one of its calls.
type Question struct {
	Kind    ApprovalKind // agentPermission or question
	Call    ToolCall
	Options json.RawMessage // agentPermission: the agent's options, verbatim
	Form    json.RawMessage // question: {message, schema}

	Isolated bool // an external agent asks, whose process runs in the environment of the execution
}

// Answer is what became of a [Question].
type Answer struct {
	Status   ApprovalStatus  // approved, denied, expired; cancelled where nobody will answer
	OptionID string          // agentPermission: what goes back; empty: no option says so
	Content  json.RawMessage // question: what the person answered
	Message  string          // where it is no yes: the tool result for the model
}

// FileChange replaces, creates or deletes one file.
type FileChange struct {
	Path    string
	Content []byte
	Delete  bool
	// Expect is the required present state of the file; otherwise nothing is changed: [CodeConflict].
	Expect Expectation
	Before []byte      // with [SameFile]
	Viewed ContentHash // with [ViewedFile]

	ToolCallID string // of the call that makes the change
}

// Expectation is the state of a file before a [FileChange].
type Expectation int

const (
	AnyFile    Expectation = iota // also none
	NoFile                        // the change creates it
	SameFile                      // the content is Before
	ViewedFile                    // there is no file, or its content has the hash Viewed
)

// MaxViewedBytes bounds the files whose content is hashed when an agent views or replaces them.
const MaxViewedBytes = 64 << 20

// ContentHash is the SHA-256 of the whole content of a file, in hexadecimal; empty: no file.
type ContentHash string

// HashContent hashes a content; the hash is empty if the content is longer than [MaxViewedBytes].
func HashContent(content io.Reader) (ContentHash, error) {
	sum := sha256.New()
	n, err := io.Copy(sum, io.LimitReader(content, MaxViewedBytes+1))
	if err != nil || n > MaxViewedBytes {
		return "", err
	}
	return ContentHash(hex.EncodeToString(sum.Sum(nil))), nil
}

// ChangedSinceViewed is the error of a change to a file that has changed since the execution viewed it.
func ChangedSinceViewed(path string) error {
	return Errorf(CodeConflict, "%s has changed since you read it; another agent or a command may have changed it. Read it again.", path)
}

// Grant answers Authorize.
type Grant struct {
	Allowed   bool
	Arguments json.RawMessage // what to run: as asked for, or as the decider wrote them
	Message   string          // where not allowed: the tool result for the model
	Approved  bool            // where allowed: a person has said so
	Note      string          // where allowed: stands before the result, for the model; see [ToolCallStarted]
	EditedBy  *Actor          // who wrote the arguments, where they are not those that were asked for; see [EditNote]
	Continues *Continuation   // where allowed: the call goes on from a question of its MCP server; nil: it begins
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
	Role    Role
	Text    string
	Parts   []PromptPart // of the user: all that was said, with its files; of a tool: its pictures; nil: Text is all
	Thought string       // of the assistant; some providers want it back
	// State is what the model that made this answer wants back of it beside text and calls: signatures, encrypted reasoning, ids. Only its provider
	// can read it; see [AnswerState].
	State      json.RawMessage
	RefusedBy  []string   // models by their names in the registry: their provider has refused the states of their own answers up to here
	ToolCalls  []ToolCall // of the assistant
	ToolCallID string     // of a tool result

	Counted *TokenCount // of the assistant: the conversation up to and with this answer; nil: nobody has counted it
}

// Said is the message for a reader of text alone. A tool result has its files beside its text; a prompt has them among its texts.
func (m Message) Said() string {
	if m.Role != RoleTool || m.Parts == nil {
		return Mentioned(m.Text, m.Parts)
	}
	return strings.TrimSpace(m.Text + "\n\n" + Mentioned("", m.Parts))
}

// TokenCount is how many tokens a conversation had for the model that answered, as its provider counted: what it read, and what it wrote.
type TokenCount struct {
	Model       string // its name in the registry; another model counts differently
	Tokens      int64
	Compactions int // so many of [Prompt].Compacted were in it
}
