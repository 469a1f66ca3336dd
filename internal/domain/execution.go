package domain

import (
	"bytes"
	"cmp"
	"encoding/json"
	"math"
	"strings"
	"time"
	"unicode"
)

// ExecutionID is a UUID, version 7: ids sort by creation time.
type ExecutionID string

// TenantID separates the customers of one service. It comes from the key that a request carries, never from its body.
type TenantID string

// DefaultTenant owns what is created with the first token.
const DefaultTenant TenantID = "default"

// Valid reports whether a key can belong to the tenant.
func (t TenantID) Valid() bool { return Printable(string(t), 100) }

// Printable reports whether text is a name for people: not empty, of at most so many bytes, and without control characters.
func Printable(text string, limit int) bool {
	return strings.TrimSpace(text) != "" && len(text) <= limit && !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) })
}

// Execution is the durable unit that a client creates, follows and cancels.
type Execution struct {
	ID      ExecutionID
	Tenant  TenantID
	Request Request
	Status  Status
	Turn    int // the current turn, from 1; 0 before the first
	Rounds  int // model rounds with tool calls so far in this turn
	Usage   Usage
	Output  *Output // nil until the execution has ended
	LastSeq int64   // the seq of the newest event
	Created time.Time
	Updated time.Time
	Ended   *time.Time
	ByKey   string // id of the API key that created it

	Cause InterruptCause // why it is interrupted; empty in every other status

	// AgentSession is the session as the agent itself calls it, where it can take it up again in another process.
	AgentSession string
	Recovery     int // how often a session had to take it up since it last made progress

	// RecoversAt is when an execution is taken up whose driver was lost; it may be in the past. Nil where somebody drives it, and where no
	// driver was lost since it last made progress. Of one that is parked, it is when it wakes.
	RecoversAt *time.Time
}

// Request is what the client asked for, with the server's defaults filled in. It is stored as it stands and never
// changes afterwards.
type Request struct {
	Kind                   Kind                   `json:"kind,omitempty"` // empty: an agent
	Source                 Source                 `json:"source"`
	Profile                *ProfileName           `json:"profile,omitempty"` // nil: it was created without one
	Model                  *ModelChoice           `json:"model,omitempty"`   // of the internal agent; nil: of an external one, or created before choices were kept
	Prompt                 string                 `json:"prompt,omitempty"`
	Parts                  []PromptPart           `json:"parts,omitempty"` // of a prompt with pictures or files; nil: Prompt is all
	Messages               []InputMessage         `json:"messages,omitempty"`
	SystemPrompt           string                 `json:"systemPrompt,omitempty"` // replaces the persona, never the safety layer
	Instructions           string                 `json:"instructions,omitempty"` // appended to the system prompt
	Capabilities           Capabilities           `json:"capabilities"`
	MCPServers             []string               `json:"mcpServers,omitempty"`    // names of the registry, for the agent to use
	KeepOpen               bool                   `json:"keepOpen,omitempty"`      // idle after a turn, until somebody closes it
	IdleTimeoutSeconds     int                    `json:"idleTimeoutSeconds"`      // how long it stays idle; 0 = for ever
	ResumeFrom             ExecutionID            `json:"resumeFrom,omitempty"`    // the execution whose agent session is taken up
	ResumeSession          string                 `json:"resumeSession,omitempty"` // that session, as the agent calls it
	Debug                  bool                   `json:"debug,omitempty"`         // keep the raw messages of its agent
	MaxIterations          int                    `json:"maxIterations"`
	TimeoutSeconds         int                    `json:"timeoutSeconds"`         // active time per turn; 0 = none
	ApprovalTimeoutSeconds int                    `json:"approvalTimeoutSeconds"` // 0 = never
	Retry                  *Retry                 `json:"retry,omitempty"`        // nil = as long as the server says
	WorkingDirectory       string                 `json:"workingDirectory"`       // absolute, symlinks resolved; in a workspace, a mount or an own folder
	OwnFolder              *OwnFolder             `json:"ownFolder,omitempty"`    // nil: none was made for it
	Clone                  *Clone                 `json:"clone,omitempty"`        // in which it works: its own clone, or the clone of its parent
	Environment            EnvironmentChoice      `json:"environment,omitzero"`   // of its commands and file tools; without a name the workspace alone
	Tools                  ToolSettings           `json:"tools,omitzero"`
	Rules                  []RequestRule          `json:"rules,omitempty"`       // permission rules of this execution alone
	SafeModeOff            bool                   `json:"safeModeOff,omitempty"` // full trust: only what is refused or catastrophic is held
	Unattended             bool                   `json:"unattended,omitempty"`  // nobody answers: what would be asked is refused
	Secrets                []string               `json:"secrets,omitempty"`     // names of the registry that commands may be given
	Memory                 bool                   `json:"memory,omitempty"`      // notes are read into the prompt and can be written
	RunbookID              string                 `json:"runbookId,omitempty"`
	Budget                 Budget                 `json:"budget,omitzero"`
	Block                  *BlockName             `json:"block,omitempty"`        // of the runbook that it was started by
	ContextFrom            []ExecutionID          `json:"contextFrom,omitempty"`  // whose conversations are Context
	ContextCalls           []ExecutionID          `json:"contextCalls,omitempty"` // of ContextFrom: those whose tool calls are in Context
	Context                []ContextMessage       `json:"context,omitempty"`      // what was said in earlier executions; before Messages
	OutputsFrom            map[string]ExecutionID `json:"outputsFrom,omitempty"`  // what the templates were rendered with, by name
	Variables              TemplateVariables      `json:"variables,omitempty"`    // that the templates could name; nil without a runbook
	OutputSchema           json.RawMessage        `json:"outputSchema,omitempty"` // that the final answer fits; a JSON Schema
	Runbook                Runbook                `json:"runbook,omitzero"`
	ClientTools            []ClientTool           `json:"clientTools,omitempty"` // that the client runs
	Metadata               map[string]string      `json:"metadata,omitempty"`
	Parent                 *Parent                `json:"parent,omitempty"`        // nil: it is a root
	Delegation             *Delegation            `json:"delegation,omitempty"`    // nil: it does not delegate
	Requires               int                    `json:"requires,omitempty"`      // what a server must understand to drive it, see [RequiresEnvironments]
	RetentionDays          *int                   `json:"retentionDays,omitempty"` // how long it is kept after its end; 0 = for ever, nil = as long as the server says
	Checkpoints            CheckpointMode         `json:"checkpoints,omitempty"`   // empty: it was created before this field, and takes none
	Warnings               []Detail               `json:"warnings,omitempty"`      // parts of the body that were left out
}

// RequiresEnvironments is required by an execution that an older server would drive with more access, or with other guards, than it has been given:
// it would ignore the environment. A server drives no execution that requires more than [Understands].
const RequiresEnvironments = 1

// RequiresFiles is required by an execution whose prompt has pictures or files: an older server would ask its model about a picture that the model
// does not get.
const RequiresFiles = 2

// RequiresModelSettings is required by an execution whose request sets how its model answers: an older server would ask the model without that.
const RequiresModelSettings = 3

// RequiresMCPServers is required by an execution of our own agent that uses MCP servers: an older server would drive it without them.
const RequiresMCPServers = 4

// RequiresFirstPrompt is required by an execution that was created without a prompt: an older server would ask its agent to answer an empty one.
const RequiresFirstPrompt = 5

// RequiresContextCalls is required by an execution that begins with the tool calls of earlier ones: an older server would send their results to a
// model without the calls.
const RequiresContextCalls = 6

// RequiresBudgetSeconds is required by an execution whose budget bounds its active time: an older server would let it go on for ever.
const RequiresBudgetSeconds = 8

// RequiresCheckpoints is required by an execution whose calls do not run without a checkpoint: an older server would run them.
const RequiresCheckpoints = 9

// RequiresOwnFolder is required by an execution that works in a folder of its own: an older server would not make it, or would refuse its files.
const RequiresOwnFolder = 10

// Understands is the highest requirement that this server meets.
const Understands = RequiresOwnFolder

// Retry says for how long a request to a model that fails is repeated.
type Retry struct {
	ForSeconds int `json:"forSeconds"` // counted from the first failure of the request; 0 = it is not repeated
}

// RunbookPlace is where an execution was started: the runbook, and the block in it. Each is empty where there is none.
type RunbookPlace struct {
	RunbookID string `json:"runbookId,omitempty"`
	BlockID   string `json:"blockId,omitempty"`
}

// RunbookPlace is where the execution was started.
func (r Request) RunbookPlace() RunbookPlace {
	place := RunbookPlace{RunbookID: r.RunbookID}
	if r.Block != nil {
		place.BlockID = r.Block.ID
	}
	return place
}

// InputMessage is one message of a conversation that the client brings along.
type InputMessage struct {
	Role    Role   `json:"role"` // user or assistant
	Content string `json:"content"`
}

// SourceType tells what answers the prompts.
type SourceType string

const (
	SourceInternal SourceType = "internal" // our loop over a model
	SourceACP      SourceType = "acp"      // an external agent process
	SourceProfile  SourceType = "profile"  // only in a body: a request has the source of the profile
)

// Source names what answers the prompts: a model of the registry for the internal agent, an agent of the registry
// otherwise.
type Source struct {
	Type    SourceType `json:"type"`
	Model   string     `json:"model,omitempty"`   // of an external agent: as the agent calls it; empty: its default
	Command string     `json:"command,omitempty"` // of an external agent: its name in the registry
	Mode    string     `json:"mode,omitempty"`    // of an external agent: in place of the registry's
	// Options of an external agent, by their id, as the agent itself calls both; the others stay as the agent has them.
	Options map[string]string `json:"options,omitempty"`
	// Fallbacks are models that are asked, in this order, where the one before fails for good.
	Fallbacks []string `json:"fallbacks,omitempty"`
	// Settings of the internal agent's model, and of its fallbacks.
	Settings *ModelSettings `json:"settings,omitempty"`
}

// ModelSettings are the settings of the source's model; none of them is set where the request has none.
func (s Source) ModelSettings() ModelSettings {
	if s.Settings == nil {
		return ModelSettings{}
	}
	return *s.Settings
}

// ToolSettings says which tools of the internal agent there are, and which commands they may run.
type ToolSettings struct {
	Enabled    []string    `json:"enabled,omitzero"` // nil = all; empty = none
	BashPolicy *BashPolicy `json:"bashPolicy,omitempty"`
}

// WithDefaults returns the settings with the defaults of a policy in the place of what was left out.
func (t ToolSettings) WithDefaults() ToolSettings {
	if t.BashPolicy == nil {
		return t
	}
	policy := *t.BashPolicy
	policy.DenyBehavior = cmp.Or(policy.DenyBehavior, DenyHITL)
	if policy.Rules == nil {
		policy.Rules = []BashRule{}
	}
	t.BashPolicy = &policy
	return t
}

// BashPolicy judges command lines. The first rule that matches a part of the line decides over that part.
type BashPolicy struct {
	DefaultBehavior Verdict      `json:"defaultBehavior"` // allow or deny
	DenyBehavior    DenyBehavior `json:"denyBehavior"`
	Rules           []BashRule   `json:"rules"`
}

// DenyBehavior says what becomes of a command that a [BashPolicy] denies.
type DenyBehavior string

const (
	DenyHITL  DenyBehavior = "hitl"  // a person is asked
	DenyBlock DenyBehavior = "block" // it is refused; the model may try something else
)

// BashRule is one line of a [BashPolicy].
type BashRule struct {
	Name    string  `json:"name"`
	Pattern string  `json:"pattern"` // a regular expression, RE2
	Action  Verdict `json:"action"`  // allow or deny
}

// RequestRule is a permission rule that an execution is created with.
type RequestRule struct {
	Effect  Verdict `json:"effect"`
	Matcher Matcher `json:"matcher"`
}

// Budget bounds what an execution may use up; 0 = no bound.
type Budget struct {
	Tokens    int64   `json:"tokens,omitempty"` // in and out
	Cost      float64 `json:"cost,omitempty"`   // in the currency of the registry's prices
	ToolCalls int     `json:"toolCalls,omitempty"`
	Seconds   int     `json:"seconds,omitempty"` // of active time, in all turns
}

// Within is the budget with the lower of each two bounds; 0 is no bound in both.
func (b Budget) Within(other Budget) Budget {
	return Budget{
		Tokens: lower(b.Tokens, other.Tokens), Cost: lower(b.Cost, other.Cost),
		ToolCalls: lower(b.ToolCalls, other.ToolCalls), Seconds: lower(b.Seconds, other.Seconds),
	}
}

func lower[N int | int64 | float64](a, b N) N {
	if a == 0 || b == 0 {
		return a + b
	}
	return min(a, b)
}

// Usage counts tokens. Nil is unknown and never becomes 0: what a provider does not report is not invented.
type Usage struct {
	InputTokens      *int64   `json:"inputTokens"`
	OutputTokens     *int64   `json:"outputTokens"`
	ReasoningTokens  *int64   `json:"reasoningTokens"`
	CacheReadTokens  *int64   `json:"cacheReadTokens"`
	CacheWriteTokens *int64   `json:"cacheWriteTokens"`
	TotalTokens      *int64   `json:"totalTokens"`
	ContextUsed      *int64   `json:"contextUsed"`
	ContextSize      *int64   `json:"contextSize"`
	Cost             *float64 `json:"cost"`
}

// Add returns the sum of u and a further request's usage. A figure that only one of them knows is kept as it is; the
// context figures are not sums, the newer one stands.
func (u Usage) Add(more Usage) Usage {
	return Usage{
		InputTokens:      sum(u.InputTokens, more.InputTokens),
		OutputTokens:     sum(u.OutputTokens, more.OutputTokens),
		ReasoningTokens:  sum(u.ReasoningTokens, more.ReasoningTokens),
		CacheReadTokens:  sum(u.CacheReadTokens, more.CacheReadTokens),
		CacheWriteTokens: sum(u.CacheWriteTokens, more.CacheWriteTokens),
		TotalTokens:      sum(u.TotalTokens, more.TotalTokens),
		ContextUsed:      newer(u.ContextUsed, more.ContextUsed),
		ContextSize:      newer(u.ContextSize, more.ContextSize),
		Cost:             sum(u.Cost, more.Cost),
	}
}

// Since returns what was used up after before. What was not known then and is now counts from nothing.
func (u Usage) Since(before Usage) Usage {
	return Usage{
		InputTokens:      difference(u.InputTokens, before.InputTokens),
		OutputTokens:     difference(u.OutputTokens, before.OutputTokens),
		ReasoningTokens:  difference(u.ReasoningTokens, before.ReasoningTokens),
		CacheReadTokens:  difference(u.CacheReadTokens, before.CacheReadTokens),
		CacheWriteTokens: difference(u.CacheWriteTokens, before.CacheWriteTokens),
		TotalTokens:      difference(u.TotalTokens, before.TotalTokens),
		ContextUsed:      u.ContextUsed,
		ContextSize:      u.ContextSize,
		Cost:             difference(u.Cost, before.Cost),
	}
}

// AtLeast returns u without anything going back: usage is a sum, and an agent that tells less than before, or less than
// nothing, has not given anything back. A cost that became unknown stays so.
func (u Usage) AtLeast(before Usage) Usage {
	u.InputTokens, u.OutputTokens = larger(u.InputTokens, before.InputTokens), larger(u.OutputTokens, before.OutputTokens)
	u.ReasoningTokens = larger(u.ReasoningTokens, before.ReasoningTokens)
	u.CacheReadTokens, u.CacheWriteTokens = larger(u.CacheReadTokens, before.CacheReadTokens), larger(u.CacheWriteTokens, before.CacheWriteTokens)
	u.TotalTokens = larger(u.TotalTokens, before.TotalTokens)
	if u.Cost != nil {
		u.Cost = larger(u.Cost, before.Cost)
	}
	return u
}

func larger[N int64 | float64](after, before *N) *N {
	switch {
	case after == nil:
		return before
	case before == nil && *after < 0:
		return nil
	case before == nil || *after >= *before:
		return after
	default:
		return before
	}
}

// Tokens is all that went in and out, nil where nobody told.
func (u Usage) Tokens() *int64 {
	if u.TotalTokens != nil {
		return u.TotalTokens
	}
	return sum(u.InputTokens, u.OutputTokens)
}

func difference[N int64 | float64](after, before *N) *N {
	if after == nil || before == nil {
		return after
	}
	rest := *after - *before
	return &rest
}

func sum[N int64 | float64](a, b *N) *N {
	if a == nil {
		return b
	}
	if b == nil {
		return a
	}
	total := *a + *b
	return &total
}

func newer[N any](old, fresh *N) *N {
	if fresh != nil {
		return fresh
	}
	return old
}

// Output is how an execution ended. Text is the final message of the agent, also when it was cut short; at most 1 MiB.
type Output struct {
	Text            string          `json:"text"`
	Truncated       bool            `json:"truncated,omitempty"`  // Text is only the beginning; the log has all of it
	Structured      json.RawMessage `json:"structured,omitempty"` // Text as the value that fits the request's outputSchema
	Success         bool            `json:"success"`
	FinishReason    FinishReason    `json:"finishReason"`
	DurationSeconds float64         `json:"durationSeconds"` // from creation to the end, waiting for people included
	Error           *Failure        `json:"error"`           // nil where the execution completed
	TokenUsage      Usage           `json:"tokenUsage"`
	// ToolCallsExecuted lists the calls in the order of their outcomes, at most [ExecutedCalls] of them: the newest.
	ToolCallsExecuted []ExecutedToolCall `json:"toolCallsExecuted"`
}

// Shortened is the output with no more text than the terminal event tells.
func (o Output) Shortened() Output {
	if len(o.Text) > EndedTextBytes {
		o.Text, o.Truncated = strings.ToValidUTF8(o.Text[:EndedTextBytes], ""), true
		o.Structured = nil
	}
	return o
}

const (
	// EndedTextBytes bounds the text of an output in the terminal event; the execution itself has up to 1 MiB.
	EndedTextBytes = 64 << 10
	// ExecutedCalls bounds the calls that an output lists.
	ExecutedCalls = 500
	// ResultSummaryBytes bounds what is told there of each result.
	ResultSummaryBytes = 200
)

// ExecutedToolCall is a call in an output. Approved reports whether it was allowed to run, by whomever.
type ExecutedToolCall struct {
	ToolCallID    string  `json:"toolCallId"`
	Name          string  `json:"name"`
	Approved      bool    `json:"approved"`
	Outcome       Outcome `json:"outcome"`
	ResultSummary string  `json:"resultSummary"` // the beginning of the result, in one line
}

// Failure is an error as it is stored and shown: a code for programs, a sentence for people, no internals.
type Failure struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`
}

// StopReason is why an agent ended its turn, in the words of ACP's PromptResponse
// (https://agentclientprotocol.com/protocol/prompt-turn#stop-reasons) in our spelling.
type StopReason string

const (
	StopEndTurn       StopReason = "endTurn"
	StopMaxTokens     StopReason = "maxTokens"
	StopMaxIterations StopReason = "maxIterations" // ACP: max_turn_requests
	StopRefusal       StopReason = "refusal"
	StopCancelled     StopReason = "cancelled"
	StopError         StopReason = "error" // it broke down, and what there was before still counts
)

// FinishReason is why an execution ended: its last turn's stop reason, or what ended it from outside.
type FinishReason string

const (
	FinishEndTurn       FinishReason = "endTurn"
	FinishMaxTokens     FinishReason = "maxTokens"
	FinishMaxIterations FinishReason = "maxIterations"
	FinishRefusal       FinishReason = "refusal"
	FinishCancelled     FinishReason = "cancelled"
	FinishTimeout       FinishReason = "timeout"
	FinishError         FinishReason = "error"
	FinishExpired       FinishReason = "expired" // idle for too long
	FinishBudget        FinishReason = "budget"  // the request's budget is used up, or the length of the log
)

// AwaitsPrompt reports whether the execution was created without a prompt: its first turn answers the first queued prompt.
func (r Request) AwaitsPrompt() bool {
	return r.Requires >= RequiresFirstPrompt && r.Prompt == "" && r.Parts == nil && len(r.Messages) == 0
}

// FirstPrompt is what the person says in the first turn: the prompt, or the last message of the conversation.
func (r Request) FirstPrompt() string {
	if n := len(r.Messages); r.Prompt == "" && n > 0 {
		return r.Messages[n-1].Content
	}
	return r.Prompt
}

// Place is where the blocks of the request go, for one execution at a time; empty where neither the runbook nor the document has an id, and so no
// place is known.
func (r Request) Place() string {
	target := r.target()
	if target == nil {
		return ""
	}
	return string(Encode(append(target, r.Runbook.InsertAfter)))
}

// Target is the runbook that the request generates blocks for, or else its document; empty where neither has an id.
func (r Request) Target() string {
	target := r.target()
	if target == nil {
		return ""
	}
	return string(Encode(target))
}

// target has another length for a document than for a runbook, so that the two are never the same, whatever their ids are. The places of runbooks
// are those of older servers, which may run on the same database.
func (r Request) target() []string {
	switch {
	case r.Kind != KindGeneration:
		return nil
	case r.RunbookID != "":
		return []string{r.RunbookID}
	case r.Runbook.Document != nil && r.Runbook.Document.ID != "":
		return []string{"document", r.Runbook.Document.ID}
	}
	return nil
}

// Marshal encodes r as it is stored.
func (r Request) Marshal() json.RawMessage { return Encode(r) }

// Encode encodes what was made here; it holds nothing that JSON cannot say, so a failure is a programming error.
//
// json.Marshal would write < as six bytes for the sake of old browsers, and streamed code is full of it.
func Encode(v any) json.RawMessage {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		panic("domain: cannot encode " + err.Error())
	}
	return bytes.TrimSuffix(buffer.Bytes(), []byte("\n"))
}

// Seconds is a duration in seconds as events and answers show it: to the millisecond. [time.Duration.Seconds] adds whole seconds and a fraction, which
// makes 1.1219999999999999 of 1.122 s.
func Seconds(d time.Duration) float64 { return RoundSeconds(d.Seconds()) }

// RoundSeconds rounds seconds to the millisecond: older rows hold them as they were measured.
func RoundSeconds(seconds float64) float64 { return math.Round(seconds*1000) / 1000 }
