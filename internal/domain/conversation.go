package domain

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// Conversation is what the log of an execution amounts to: the messages as a model needs them, and what of the last
// turn is unfinished. [Fold] builds it; a session that takes an execution up after a restart goes on from it.
type Conversation struct {
	Turn     int
	InTurn   bool      // the turn has not ended
	Active   bool      // the agent has said something in this turn, so it had heard the prompt
	Text     string    // the prompt of this turn; empty for the first, whose prompt is the execution's
	Rounds   int       // answers with tool calls in this turn
	Messages []Message // of all turns, without the messages that the client brought along
	LastText string    // the newest whole message of the agent

	UsageBefore Usage           // of the execution when this turn began
	Warned      map[string]bool // bounds of the budget that were warned of
	ActiveTime  time.Duration   // of this turn, as its clock counts it; none passes without a driver

	Repair      int                // of this turn; see [TurnStarted]
	Edits       int                // the generation that this turn changes
	Generations int                // how many generations of blocks there are
	Executed    []ExecutedToolCall // the newest calls that have their fate

	Since time.Time // of the newest change of status: how long it has been idle, or interrupted

	Options     ChosenOptions     // of the agent, that were set by the turns that have ended
	TurnOptions map[string]string // that this turn sets

	Retrying *Retrying // the request that the turn has come to; nil: it has not failed, or has been answered

	Open  []OpenMessage // begun and not completed: what a broken stream left
	Calls []OpenCall    // requested and without a fate
}

// OpenMessage is a message or thought that was not closed.
type OpenMessage struct {
	MessageID string
	Thought   bool
	Length    int  // UTF-8 bytes in the log
	Whole     bool // nothing of it is missing: the model went on to ask for a tool
}

// OpenCall is a tool call without a fate.
type OpenCall struct {
	Call     ToolCall
	Started  bool       // it may have run, and nobody was asked yet what became of it
	Lost     bool       // it had started, its server stopped, and somebody was asked; it has not started again
	Approval ApprovalID // the newest that was asked for; empty where none was

	Since      time.Time  // when it started last
	Under      ApprovalID // that let it start; empty where nobody was asked
	AllowedBy  string     // of one that has started
	RuleID     string
	Awaits     Awaited // who runs it, where that is not the server
	Generation int     // of a call that has handed in blocks; 0: it has not
	Printed    int     // UTF-8 bytes of output in the log
}

// Fold reads a log from its first event on; a long one is better read with a [Folder].
func Fold(events []Event) (Conversation, error) {
	f := NewFolder()
	for _, event := range events {
		if err := f.Take(event); err != nil {
			return Conversation{}, err
		}
	}
	return f.Conversation(), nil
}

// Folder folds a log piece by piece, and keeps nothing of it but what the conversation needs. It collects answers in the order in which
// they began; a tool call belongs to the answer that asked for it.
type Folder struct {
	turn    int
	inTurn  bool
	active  bool
	text    string
	since   time.Time
	at      time.Time // of the event that is taken
	usage   Usage
	before  Usage // usage when the turn began
	warned  map[string]bool
	clock   activeTime
	repair  int
	edits   int
	newest  int // generation
	ended   []ExecutedToolCall
	retries retrying
	options ChosenOptions
	setting map[string]string // options that the turn sets
	answers []*answer
	texts   map[string]*answer
	calls   map[string]*foldedCall
}

// answer is what one request to the model brought: thought, text and tool calls share a message id.
type answer struct {
	id            string
	user          bool // no answer, but what the person said
	turn          int
	text, thought strings.Builder
	thinking      json.RawMessage
	textDone      bool
	thoughtDone   bool
	interrupted   bool
	calls         []*foldedCall
}

type foldedCall struct {
	call     ToolCall
	approval ApprovalID
	started  bool // once, or more often
	lost     bool // and not started again
	done     bool
	result   string
	since    time.Time
	under    ApprovalID
	printed  int

	allowedBy, ruleID string
	awaits            Awaited
	generation        int
}

// NewFolder returns a folder that expects the beginning of a log.
func NewFolder() *Folder {
	return &Folder{texts: map[string]*answer{}, calls: map[string]*foldedCall{}, warned: map[string]bool{}, clock: activeTime{here: map[string]bool{}}}
}

// Take takes the next event. One of a type that it does not know is passed over, so that an older server can read a newer log. Where it
// fails, the log is broken.
func (f *Folder) Take(event Event) error {
	if _, known := decoders[event.Type]; !known {
		return nil
	}
	payload, err := event.Payload()
	if err != nil {
		return err
	}
	f.at = event.Time
	f.clock.take(event.Time, payload)
	f.retries.take(payload)
	f.take(payload)
	if event.Type == StateChangedType {
		f.since = event.Time
	}
	return nil
}

func (f *Folder) take(payload Payload) {
	switch p := payload.(type) {
	case TurnStarted:
		f.turn, f.inTurn, f.active, f.text, f.before = p.Turn, true, false, p.Text, f.usage
		f.repair, f.edits, f.setting = p.Repair, p.Edits, p.Options
		if p.Text != "" {
			f.said(p.Text)
		}
	case TurnEnded:
		f.inTurn = false
		f.options, f.setting = f.options.After(f.setting, p.Error), nil
	case UsageUpdated:
		f.usage = p.Usage
	case BudgetWarned:
		f.warned[p.Limit] = true
	case TurnContinued:
		f.active = f.active && p.Mode != ResumeFresh
	case AgentUpdated:
		f.active = f.active || p.Turn > 0
	case MessageDelta:
		f.answer(p.MessageID).text.WriteString(p.Text)
	case ThoughtDelta:
		f.answer(p.MessageID).thought.WriteString(p.Text)
	case MessageCompleted:
		a := f.answer(p.MessageID)
		a.textDone, a.interrupted = true, a.interrupted || p.Interrupted
	case ThoughtCompleted:
		a := f.answer(p.MessageID)
		a.thoughtDone, a.interrupted, a.thinking = true, a.interrupted || p.Interrupted, p.Thinking
	default:
		f.takeCall(payload)
	}
}

func (f *Folder) takeCall(payload Payload) {
	switch p := payload.(type) {
	case ToolCallRequested:
		a := f.answer(p.MessageID)
		c := &foldedCall{call: ToolCall{ID: p.ToolCallID, Tool: p.Tool, Class: p.Class, Arguments: p.Arguments, Summary: p.Summary}}
		a.calls, f.calls[p.ToolCallID] = append(a.calls, c), c
	case ApprovalRequested:
		c := f.call(p.ToolCallID)
		c.approval, c.lost = p.ApprovalID, c.lost || p.Kind == ApprovalUnknownOutcome
	case ToolCallStarted:
		c := f.call(p.ToolCallID)
		c.started, c.call.Arguments, c.allowedBy, c.ruleID, c.awaits = true, p.Arguments, p.AllowedBy, p.RuleID, p.Awaits
		c.lost, c.since, c.under, c.call.Version = false, f.at, p.ApprovalID, p.Version
	case ToolCallUpdated:
		f.call(p.ToolCallID).printed += len(p.Output)
	case BlocksGenerated:
		f.call(p.ToolCallID).generation, f.newest = p.Generation, p.Generation
	case ToolCallCompleted:
		c := f.call(p.ToolCallID)
		c.done, c.result = true, p.ForModel()
		f.ended = AppendExecuted(f.ended, Executed(c.call, p, c.started))
	}
}

// ForModel is the tool result that the model gets, live and after a recovery.
func (c ToolCallCompleted) ForModel() string { return cmp.Or(c.ModelOutput, c.Output) }

// Executed is a call with its fate, as an output lists it.
func Executed(call ToolCall, done ToolCallCompleted, started bool) ExecutedToolCall {
	line, _, _ := strings.Cut(strings.TrimSpace(done.Output), "\n")
	if len(line) > ResultSummaryBytes {
		line = strings.ToValidUTF8(line[:ResultSummaryBytes], "") + "…"
	}
	return ExecutedToolCall{
		ToolCallID: call.ID, Name: call.Tool, Fate: done.Fate, ResultSummary: line,
		// Some agents begin before they ask, and blocks are handed in without a start.
		Approved: done.Fate == FateSucceeded || started && done.Fate != FateDenied &&
			(done.Fate != FateExpired || done.Error != nil && done.Error.Code == CodeClientTimedOut),
	}
}

// AppendExecuted adds a call to those of an output, and lets the oldest go where there are too many.
func AppendExecuted(calls []ExecutedToolCall, more ExecutedToolCall) []ExecutedToolCall {
	calls = append(calls, more)
	return calls[max(0, len(calls)-ExecutedCalls):]
}

// said takes what a person says in a further turn.
func (f *Folder) said(text string) {
	a := &answer{user: true, turn: f.turn}
	a.text.WriteString(text)
	f.answers = append(f.answers, a)
}

func (f *Folder) answer(id string) *answer {
	f.active = true
	a, known := f.texts[id]
	if !known {
		a = &answer{id: id, turn: f.turn}
		f.texts[id], f.answers = a, append(f.answers, a)
	}
	return a
}

func (f *Folder) call(id string) *foldedCall {
	c, known := f.calls[id]
	if !known { // unreachable while sessions write the request first; a fate without a request must not stop a recovery
		c = &foldedCall{}
		f.calls[id] = c
	}
	return c
}

// Conversation is what the events that were taken amount to.
func (f *Folder) Conversation() Conversation {
	conversation := Conversation{
		Turn: f.turn, InTurn: f.inTurn, Active: f.active, Text: f.text, UsageBefore: f.before, Since: f.since,
		Repair: f.repair, Edits: f.edits, Generations: f.newest, Executed: f.ended, Warned: f.warned, ActiveTime: f.clock.sum,
		Retrying: f.retries.now(), Options: f.options, TurnOptions: f.setting,
	}
	for _, a := range f.answers {
		if a.user {
			conversation.Messages = append(conversation.Messages, Message{Role: RoleUser, Text: a.text.String()})
			continue
		}
		conversation.Open = append(conversation.Open, a.open()...)
		if a.whole() {
			conversation.add(a, a.turn == f.turn)
		}
	}
	return conversation
}

// open lists what of the answer was begun and not closed.
func (a *answer) open() []OpenMessage {
	var open []OpenMessage
	if a.thought.Len() > 0 && !a.thoughtDone {
		open = append(open, OpenMessage{MessageID: a.id, Thought: true, Length: a.thought.Len(), Whole: len(a.calls) > 0})
	}
	if a.text.Len() > 0 && !a.textDone {
		open = append(open, OpenMessage{MessageID: a.id, Length: a.text.Len(), Whole: len(a.calls) > 0})
	}
	return open
}

// whole tells whether the answer came to its end: only then does the model remember it. An answer that has asked for a
// tool has, whatever was noted of its text: its calls must not be forgotten, they need a fate.
func (a *answer) whole() bool {
	return len(a.calls) > 0 || (a.textDone && !a.interrupted)
}

func (c *Conversation) add(a *answer, thisTurn bool) {
	message := Message{Role: RoleAssistant, Text: a.text.String(), Thought: a.thought.String(), Thinking: a.thinking}
	for _, call := range a.calls {
		message.ToolCalls = append(message.ToolCalls, call.call)
	}
	c.Messages = append(c.Messages, message)
	if len(a.calls) == 0 {
		c.LastText = message.Text
		return
	}
	if message.Text != "" {
		c.LastText = message.Text
	}
	if thisTurn {
		c.Rounds++
	}
	for _, call := range a.calls {
		if call.done {
			c.Messages = append(c.Messages, Message{Role: RoleTool, Text: call.result, ToolCallID: call.call.ID})
			continue
		}
		c.Calls = append(c.Calls, OpenCall{
			Call: call.call, Started: call.started && !call.lost, Lost: call.lost, Approval: call.approval,
			Since: call.since, Under: call.under, AllowedBy: call.allowedBy, RuleID: call.ruleID,
			Awaits: call.awaits, Generation: call.generation, Printed: call.printed,
		})
	}
}

// Answered returns the history with results for calls that got their fate after the fold, in the order of the calls.
func (c Conversation) Answered(results map[string]string) []Message {
	history := slices.Clone(c.Messages)
	for _, open := range c.Calls {
		if result, known := results[open.Call.ID]; known {
			history = append(history, Message{Role: RoleTool, Text: result, ToolCallID: open.Call.ID})
		}
	}
	return history
}
