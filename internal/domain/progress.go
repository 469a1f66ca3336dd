package domain

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"
)

// Progress is the state of an execution that its log amounts to. [Progress.Apply] is the one definition of that state: a session
// changes it by the events that it writes, and a session that recovers the execution applies the events that are written.
//
// It depends on the driver's events alone. Events of other writers change nothing here, and the state that rows hold (which questions are answered,
// which prompts wait) is not in it: so the driver knows this state without reading their writes.
//
// A Progress is for one goroutine at once. Its zero value is not ready; see [NewProgress].
type Progress struct {
	Status Status
	Cause  InterruptCause // why it is interrupted; empty otherwise
	Since  time.Time      // of the newest change of status

	Turn TurnProgress
	Said LastMessage // in this turn

	Usage    Usage
	Warned   map[string]bool    // bounds of the budget that were warned of
	Executed []ExecutedToolCall // the newest calls that have their outcome
	Options  ChosenOptions      // of the agent, that were set by the turns that have ended

	Generations int // how many generations of blocks there are

	Streaming bool // text arrives
	Texts     map[TextKey]*OpenText
	Closed    map[TextKey]bool     // texts that were completed since the turn began
	Calls     map[string]*OpenCall // requested and without an outcome, by id
	Ended     map[string]bool      // calls that have their outcome

	Delegates map[ExecutionID]int // by child, the newest rest whose result was taken; 0: none

	SharesFolder bool // other executions worked in the folder when the first turn began

	Checkpoint CheckpointProgress

	clock   activeTime
	retries retrying
}

// TurnProgress is the newest turn.
type TurnProgress struct {
	Number int               // 1, 2, 3 …; 0: there was none
	Open   bool              // it has not ended
	Heard  bool              // the agent has answered, so it had received the prompt
	Note   string            // see [TurnStarted]
	Text   string            // the prompt; empty for the first turn, whose prompt is the execution's
	Parts  []PromptPart      // of the prompt; nil: Text is all
	Edits  int               // the generation that the turn changes; 0: none
	Repair int               // see [TurnStarted]
	Set    map[string]string // options of the agent that the turn sets
	Rounds int               // answers with tool calls
	Round  string            // the message whose calls were counted last
	Before Usage             // of the execution when the turn began
}

// TextKey names a message or a thought.
type TextKey struct {
	Kind EventType // MessageDeltaType or ThoughtDeltaType
	ID   string
}

// OpenText is a message or thought that has begun and is not completed.
type OpenText struct {
	Length int  // UTF-8 bytes in the log
	Whole  bool // nothing of it is missing: the model went on to ask for a tool
}

// OpenCall is a tool call without an outcome.
type OpenCall struct {
	Call     ToolCall
	Running  bool       // it has started; where its server died since, it may have run
	Lost     bool       // it had started, its server stopped, and somebody was asked; it has not started again
	Paused   bool       // it had started, and its MCP server has asked a question: only the answer starts it again
	Approval ApprovalID // the newest that was asked for; empty where none was

	Since      time.Time  // when it started last
	Under      ApprovalID // that let it start; empty where nobody was asked
	AllowedBy  string     // of one that has started
	RuleID     string
	EditedBy   *Actor        // who has changed the arguments with which it started; nil: nobody
	Sandbox    string        // what confines it, for a command that has started
	Awaits     Awaited       // who runs it, where that is not the server
	Children   []ExecutionID // the children that it has created or waits for
	Mode       AwaitMode
	Generation int // of a call that has handed in blocks; 0: it has not
	Printed    int // UTF-8 bytes of output in the log
	Questions  int // how many people were asked in words
}

// NewProgress is the progress of an execution whose log is empty.
func NewProgress() *Progress {
	return &Progress{
		Warned: map[string]bool{}, Texts: map[TextKey]*OpenText{}, Closed: map[TextKey]bool{},
		Calls: map[string]*OpenCall{}, Ended: map[string]bool{}, Delegates: map[ExecutionID]int{}, clock: activeTime{here: map[string]bool{}},
	}
}

// Fold applies a whole log. It fails if the log is broken.
func Fold(log []Event) (*Progress, error) {
	p := NewProgress()
	for _, event := range log {
		if err := p.Apply(event); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// Apply applies the next event of the log. It ignores a type that it does not know, so that an older server can read a newer log. An error means
// that the log is broken.
func (p *Progress) Apply(event Event) error { return event.ApplyTo(p) }

// ApplyText is [Progress.Apply] for the piece of a text that an event at that time holds.
func (p *Progress) ApplyText(at time.Time, piece Payload) { p.apply(at, piece) }

// Folded is what a log amounts to: a [Progress] or a [Transcript].
type Folded interface {
	apply(at time.Time, payload Payload)
}

// ApplyTo has each take the event as the next of its log, and decodes it once; see [Progress.Apply].
func (e Event) ApplyTo(all ...Folded) error {
	if e.Type.decoder() == nil {
		return nil
	}
	payload, err := e.Payload()
	if err != nil {
		return err
	}
	for _, folded := range all {
		folded.apply(e.Time, payload)
	}
	return nil
}

func (p *Progress) apply(at time.Time, payload Payload) {
	p.clock.take(at, payload)
	p.retries.take(payload)
	p.applyTurn(at, payload)
	p.applyText(payload)
	p.applyCall(at, payload)
	p.applyDelegate(payload)
	p.Checkpoint.apply(payload)
}

func (p *Progress) applyDelegate(payload Payload) {
	switch e := payload.(type) {
	case DelegateStarted:
		p.Delegates[e.ExecutionID] = 0
	case DelegateReturned:
		p.Delegates[e.ExecutionID] = max(p.Delegates[e.ExecutionID], e.Rest)
	}
}

func (p *Progress) applyTurn(at time.Time, payload Payload) {
	switch e := payload.(type) {
	case ExecutionCreated:
		p.Status, p.Since = e.Status, at
	case StateChanged:
		p.Status, p.Since, p.Cause = e.To, at, e.Cause
		switch {
		case e.To == StatusInitializing:
			p.Streaming = false // the agent that was speaking is gone
		case e.To == StatusInterrupted:
			p.Streaming = false
			p.Cause = cmp.Or(e.Cause, CauseProcessGone) // the one cause of the servers that did not write it down
		}
	case TurnStarted:
		p.SharesFolder = p.SharesFolder || len(e.SharesFolderWith) > 0
		p.Turn = TurnProgress{
			Number: e.Turn, Open: true, Note: e.Note, Text: e.Text, Parts: e.Parts, Edits: e.Edits, Repair: e.Repair, Set: e.Options, Before: p.Usage,
		}
		p.Said, p.Streaming = LastMessage{}, false
		p.forgetTexts()
	case TurnContinued:
		p.Turn.Heard = p.Turn.Heard && e.Mode != ResumeFresh
	case TurnEnded:
		p.Options = p.Options.After(p.Turn.Set, e.Error)
		p.Turn.Open, p.Turn.Set, p.Streaming = false, nil, false
		p.forgetTexts()
	case AgentUpdated:
		p.Turn.Heard = p.Turn.Heard || e.Turn > 0
	case UsageUpdated:
		p.Usage = e.Usage
	case BudgetWarned:
		p.Warned[e.Limit] = true
	case ModelRetrying:
		p.Streaming = false
	case ExecutionEnded:
		p.Status, p.Since, p.Cause = e.Status, at, ""
		p.Turn.Open = false
	}
}

func (p *Progress) forgetTexts() {
	clear(p.Texts)
	clear(p.Closed)
}

func (p *Progress) applyText(payload Payload) {
	switch e := payload.(type) {
	case MessageDelta:
		p.text(TextKey{MessageDeltaType, e.MessageID}).Length += len(e.Text)
		p.Streaming, p.Turn.Heard = true, true
		if p.Turn.Open {
			p.Said.add(e.MessageID, e.Text)
		}
	case ThoughtDelta:
		p.text(TextKey{ThoughtDeltaType, e.MessageID}).Length += len(e.Text)
		p.Streaming, p.Turn.Heard = true, true
	case MessageCompleted:
		p.close(TextKey{MessageDeltaType, e.MessageID})
		p.Streaming, p.Turn.Heard = false, true
		p.Said.completed(e)
	case ThoughtCompleted: // text follows a thought
		p.close(TextKey{ThoughtDeltaType, e.MessageID})
		p.Turn.Heard = true
	}
}

func (p *Progress) text(key TextKey) *OpenText {
	open, known := p.Texts[key]
	if !known {
		open = &OpenText{Whole: key.ID == p.Turn.Round && key.ID != ""}
		p.Texts[key] = open
	}
	return open
}

func (p *Progress) close(key TextKey) {
	delete(p.Texts, key)
	p.Closed[key] = true
}

func (p *Progress) applyCall(at time.Time, payload Payload) {
	switch e := payload.(type) {
	case ToolCallRequested:
		p.requested(e)
	case ApprovalRequested:
		if c := p.Calls[e.ToolCallID]; c != nil {
			c.asked(e)
		}
	case ToolCallStarted:
		if c := p.Calls[e.ToolCallID]; c != nil {
			c.start(at, e)
		}
	case ToolCallUpdated:
		if c := p.Calls[e.ToolCallID]; c != nil {
			c.Printed += len(e.Output)
		}
	case BlocksGenerated:
		p.Generations = e.Generation
		if c := p.Calls[e.ToolCallID]; c != nil {
			c.Generation = e.Generation
		}
	case ToolCallCompleted:
		if c := p.Calls[e.ToolCallID]; c != nil {
			executed := Executed(c.Call, e, c.Running || c.Lost)
			executed.Approved = executed.Approved || c.Paused
			p.Executed = AppendExecuted(p.Executed, executed)
			delete(p.Calls, e.ToolCallID)
			p.Ended[e.ToolCallID] = true
		}
	}
}

func (c *OpenCall) asked(e ApprovalRequested) {
	c.Approval = e.ApprovalID
	switch e.Kind {
	case ApprovalUnknownOutcome:
		c.Running, c.Paused, c.Lost = false, false, true
	case ApprovalQuestion:
		c.Questions++
		if e.Repeats {
			c.Running, c.Paused = false, true
		}
	}
}

// start takes a start. One that goes on after a question is allowed by those who have allowed the call: the person who answers the question only
// says how it goes on.
func (c *OpenCall) start(at time.Time, e ToolCallStarted) {
	goesOn := c.Paused
	c.Running, c.Lost, c.Paused, c.Since = true, false, false, at
	if goesOn {
		return
	}
	c.Call.Arguments, c.Call.Version, c.Under = e.Arguments, e.Version, e.ApprovalID
	c.AllowedBy, c.RuleID, c.Sandbox, c.Awaits = e.AllowedBy, e.RuleID, e.Sandbox, e.Awaits
	c.EditedBy, c.Children, c.Mode = e.EditedBy, e.Children, e.Mode
	if c.Call.MCP != nil && e.Definition != "" {
		tool := *c.Call.MCP // a clone of the progress shares it
		tool.Definition = e.Definition
		c.Call.MCP = &tool
	}
}

func (p *Progress) requested(e ToolCallRequested) {
	p.Streaming, p.Turn.Heard = false, true
	if e.MessageID != p.Turn.Round {
		p.Turn.Round = e.MessageID
		p.Turn.Rounds++
	}
	for _, kind := range []EventType{MessageDeltaType, ThoughtDeltaType} {
		if open := p.Texts[TextKey{kind, e.MessageID}]; open != nil {
			open.Whole = true
		}
	}
	p.Calls[e.ToolCallID] = &OpenCall{Call: ToolCall{
		ID: e.ToolCallID, Tool: e.Tool, Class: e.Class, Arguments: e.Arguments, Summary: e.Summary, MCP: e.MCP,
	}}
}

// Clone is a copy that shares nothing that Apply changes.
func (p *Progress) Clone() *Progress {
	c := *p
	c.Warned, c.Closed, c.Ended = maps.Clone(p.Warned), maps.Clone(p.Closed), maps.Clone(p.Ended)
	c.Texts, c.Calls = cloneEach(p.Texts), cloneEach(p.Calls)
	c.Executed, c.Delegates = slices.Clone(p.Executed), maps.Clone(p.Delegates)
	c.Said.text = bytes.Clone(p.Said.text)
	c.clock.here = maps.Clone(p.clock.here)
	c.retries.switched = slices.Clone(p.retries.switched)
	return &c
}

func cloneEach[K comparable, V any](of map[K]*V) map[K]*V {
	all := make(map[K]*V, len(of))
	for key, value := range of {
		copied := *value
		all[key] = &copied
	}
	return all
}

// ActiveTime is the active time of the turn at a given time, as timeoutSeconds counts it: neither waiting for somebody else nor time without a
// driver is active.
func (p *Progress) ActiveTime(at time.Time) time.Duration { return p.clock.at(at) }

// ActiveTimeOfTurns is the active time of all turns at a given time, as the budget counts it.
func (p *Progress) ActiveTimeOfTurns(at time.Time) time.Duration {
	return p.clock.turns + p.clock.at(at)
}

// Active reports whether active time passes now.
func (p *Progress) Active() bool { return p.clock.runs() }

// Retrying is the failed request to a model that will be repeated; nil: there is none.
func (p *Progress) Retrying() *Retrying { return p.retries.now() }

// RetryAt is the time of the repetition; zero: there is none.
func (p *Progress) RetryAt() time.Time {
	if p.retries.newest == nil {
		return time.Time{}
	}
	return p.retries.newest.At
}

// Executed is a call with its outcome, as an output lists it.
func Executed(call ToolCall, done ToolCallCompleted, started bool) ExecutedToolCall {
	line, _, _ := strings.Cut(strings.TrimSpace(done.Output), "\n")
	if len(line) > ResultSummaryBytes {
		line = strings.ToValidUTF8(line[:ResultSummaryBytes], "") + "…"
	}
	return ExecutedToolCall{
		ToolCallID: call.ID, Name: call.Tool, Outcome: done.Outcome, ResultSummary: line,
		// Some agents begin before they ask, and blocks are submitted without a start.
		Approved: done.Outcome == OutcomeSucceeded || started && done.Outcome != OutcomeDenied &&
			(done.Outcome != OutcomeExpired || done.Error != nil && done.Error.Code == CodeClientTimedOut),
	}
}

// AppendExecuted adds a call to the list of an output, and drops the oldest beyond its bound.
func AppendExecuted(calls []ExecutedToolCall, more ExecutedToolCall) []ExecutedToolCall {
	calls = append(calls, more)
	return calls[max(0, len(calls)-ExecutedCalls):]
}
