package domain

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// Transcript is what was said in an execution, as a model needs it: without the messages that the client brought along. It grows with each
// message, so a session keeps one only until its agent has it; what the execution has come to is in [Progress].
//
// It collects answers in the order in which they began; a tool call belongs to the answer that asked for it. It is for one goroutine at
// once.
type Transcript struct {
	answers []*answer
	texts   map[string]*answer
	calls   map[string]*answeredCall

	compacted []ContextCompacted
	refused   *refusal // that the model has not gone on from yet
}

// answer is what one request to the model brought: thought, text and tool calls share a message id.
type answer struct {
	person        bool         // no answer, but what the person said
	parts         []PromptPart // of the person, with files
	text, thought strings.Builder
	state         json.RawMessage
	refusedBy     []string
	textDone      bool
	interrupted   bool
	calls         []*answeredCall
	counted       *TokenCount
}

type answeredCall struct {
	call   ToolCall
	editor *Actor // nil: it ran as the model wrote it
	note   string // of the server, before the result
	done   bool
	result string
	files  []PromptPart
}

// NewTranscript returns the transcript of an empty log.
func NewTranscript() *Transcript {
	return &Transcript{texts: map[string]*answer{}, calls: map[string]*answeredCall{}}
}

// Apply takes the next event of the log, as [Progress.Apply] does.
func (t *Transcript) Apply(event Event) error { return event.ApplyTo(t) }

func (t *Transcript) apply(_ time.Time, payload Payload) {
	switch p := payload.(type) {
	case TurnStarted:
		if p.Text != "" || p.Parts != nil {
			said := &answer{person: true, parts: NotedParts(p.Note, p.Parts)}
			said.text.WriteString(p.Note + p.Text)
			t.answers = append(t.answers, said)
		}
	case MessageDelta:
		t.answer(p.MessageID).text.WriteString(p.Text)
	case ThoughtDelta:
		t.answer(p.MessageID).thought.WriteString(p.Text)
	case MessageCompleted:
		a := t.answer(p.MessageID)
		a.textDone, a.interrupted = true, a.interrupted || p.Interrupted
	case ThoughtCompleted:
		a := t.answer(p.MessageID)
		a.interrupted, a.state = a.interrupted || p.Interrupted, p.Thinking
	case ModelStateDropped:
		if p.Reason == StateRefused {
			t.refused = &refusal{p.Model, len(t.answers)}
		}
	case ModelSwitched, TurnEnded:
		t.refused = nil
	case ToolCallRequested:
		a := t.answer(p.MessageID)
		c := &answeredCall{call: ToolCall{ID: p.ToolCallID, Tool: p.Tool, Class: p.Class, Arguments: p.Arguments, Summary: p.Summary, MCP: p.MCP}}
		a.calls, t.calls[p.ToolCallID] = append(a.calls, c), c
	case ToolCallStarted:
		if c := t.calls[p.ToolCallID]; c != nil {
			c.start(p)
		}
	case ToolCallCompleted:
		if c := t.calls[p.ToolCallID]; c != nil {
			c.done, c.result, c.files = true, EditNote(c.editor, c.call.Edited)+c.note+p.ForModel(), PictureParts(p.Files)
		}
	case UsageUpdated:
		if p.MessageID != "" && p.Request != nil && p.Request.ContextUsed != nil {
			t.answer(p.MessageID).counted = &TokenCount{Model: p.Model, Tokens: *p.Request.ContextUsed, Compactions: len(t.compacted)}
		}
	case ContextCompacted:
		t.compacted = append(t.compacted, p)
	}
}

// refusal says that a model has refused the states of so many answers.
type refusal struct {
	model   string
	answers int
}

// refuse notes that a model has answered without the states that it has refused. A model that refuses the request without them as well has another
// reason, and may have them again.
func (t *Transcript) refuse() {
	for _, a := range t.answers[:t.refused.answers] {
		if !a.person && !slices.Contains(a.refusedBy, t.refused.model) {
			a.refusedBy = append(a.refusedBy, t.refused.model)
		}
	}
	t.refused = nil
}

// start takes the start of a call. What its model wrote stays, if a person has changed it: see [EditNote].
func (c *answeredCall) start(p ToolCallStarted) {
	c.call.Version, c.editor, c.call.Edited, c.note = p.Version, p.EditedBy, nil, p.Note
	if p.EditedBy != nil {
		c.call.Edited = p.Arguments
		return
	}
	c.call.Arguments = p.Arguments
}

// Recall gives the answers of the log their states, which stand beside it.
func (t *Transcript) Recall(states []AnswerState) {
	for _, kept := range states {
		if a, known := t.texts[kept.MessageID]; known {
			a.state = kept.State
		}
	}
}

// ForModel is the tool result that the model gets, live and after a recovery.
func (c ToolCallCompleted) ForModel() string { return cmp.Or(c.ModelOutput, c.Output) }

func (t *Transcript) answer(id string) *answer {
	a, known := t.texts[id]
	if !known {
		if t.refused != nil {
			t.refuse()
		}
		a = &answer{}
		t.texts[id], t.answers = a, append(t.answers, a)
	}
	return a
}

// Compacted is what was left out for the model so far; see [Prompt].
func (t *Transcript) Compacted() []ContextCompacted { return slices.Clone(t.compacted) }

// Messages are the messages of all turns. An answer with open calls comes without their results.
func (t *Transcript) Messages() []Message {
	var all []Message
	for _, a := range t.answers {
		switch {
		case a.person:
			all = append(all, Message{Role: RoleUser, Text: a.text.String(), Parts: a.parts})
		case a.whole():
			all = append(all, a.messages()...)
		}
	}
	return all
}

// whole reports whether the answer is complete: only then does the model remember it. An answer with tool calls always is, because its calls need an
// outcome.
func (a *answer) whole() bool {
	return len(a.calls) > 0 || (a.textDone && !a.interrupted)
}

// messages are the answer, and the results of its calls.
func (a *answer) messages() []Message {
	message := Message{Role: RoleAssistant, Text: a.text.String(), Thought: a.thought.String(), State: a.state, RefusedBy: a.refusedBy, Counted: a.counted}
	for _, c := range a.calls {
		message.ToolCalls = append(message.ToolCalls, c.call)
	}
	all := []Message{message}
	for _, c := range a.calls {
		if c.done {
			all = append(all, Message{Role: RoleTool, Text: c.result, Parts: c.files, ToolCallID: c.call.ID})
		}
	}
	return all
}
