package acp

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"unicode"

	"signoff/internal/acp/wire"
	"signoff/internal/domain"
)

// replay recognises the updates that an agent repeats of a session that it has loaded. The protocol wants all of them before the
// answer to session/load. Gemini CLI answers first and repeats its history some time later, even after the next
// prompt: then only the log shows that it is not new.
//
// The log has the prompts, the messages and thoughts between them, and the calls by their ids. Between turns nobody has
// asked the agent anything, so what is in the log is a repetition. In a turn the agent may just as well give an earlier answer once
// more, or begin a new one with the same words. There a message is a repetition only behind a repeated prompt, and only if the
// log has it behind that prompt, whole. Until it is whole it is held back; as soon as it differs it is translated,
// at the end of the turn at the latest. So nothing new is lost, and nothing waits for a replay that has not begun.
type replay struct {
	prompts  []string // in their order, without white space
	messages transcript
	thoughts transcript
	calls    map[string]bool // ids of calls in the log that were not repeated yet
	children map[string]bool // calls in the log of child sessions and for them, which the session does not repeat
	repeated map[string]bool // calls that the agent is repeating

	running bool              // the last update was a repetition
	prompt  int               // the last repeated prompt; -1: none
	held    []json.RawMessage // chunks that may be a repetition
	dropped []json.RawMessage // in this turn: the message behind the last repeated prompt
	news    bool              // the turn has said something of its own
}

// readReplay reads the log of the session that is resumed; nil says that nothing could be told again.
func readReplay(ctx context.Context, log domain.AgentLog) (*replay, error) {
	r := &replay{calls: map[string]bool{}, children: map[string]bool{}, repeated: map[string]bool{}, prompt: -1}
	if err := log(ctx, r.remember); err != nil {
		return nil, err
	}
	if r.exhausted() {
		return nil, nil
	}
	return r, nil
}

// remember takes an event of the log. Other events tell of nothing that an agent would tell again.
func (r *replay) remember(of domain.Request, event domain.Event) {
	payload, err := event.Payload()
	if err != nil {
		return
	}
	at := len(r.prompts) - 1
	switch p := payload.(type) {
	case domain.ExecutionCreated:
		r.prompts = append(r.prompts, withoutSpace(of.FirstPrompt()))
	case domain.TurnStarted:
		if p.Text != "" {
			r.prompts = append(r.prompts, withoutSpace(p.Text))
		}
	case domain.TurnContinued:
		r.prompts = append(r.prompts, withoutSpace(p.Text))
	case domain.MessageDelta:
		r.messages.add(at, p.MessageID, p.Text)
	case domain.ThoughtDelta:
		r.thoughts.add(at, p.MessageID, p.Text)
	case domain.MessageCompleted:
		if parts := r.messages.parts; len(parts) > 0 {
			parts[len(parts)-1].cutOff = p.Interrupted
		}
	case domain.ToolCallRequested:
		if p.Tool == subagentTool && p.Class == domain.ClassDelegate || r.children[p.ParentToolCallID] {
			r.children[p.ToolCallID] = true
			return
		}
		r.calls[p.ToolCallID] = true
	}
}

// exhausted reports whether all was repeated. Thoughts come before the messages that they lead to.
func (r *replay) exhausted() bool {
	return r.messages.from >= r.messages.text.Len() && len(r.calls) == 0
}

// transcript is what the log has of the agent's messages, or of its thoughts, one behind the other and without white
// space: where one ends and the next begins, and how they are spaced, need not be the same in a repetition.
type transcript struct {
	text  strings.Builder
	parts []transcriptPart
	from  int // what is before it was repeated

	heard int   // bytes that were heard since then, and may be told again
	at    []int // the beginnings from which they may be, the likeliest first
}

// transcriptPart is one message.
type transcriptPart struct {
	id     string
	start  int
	prompt int  // that it answers
	cutOff bool // the agent may not remember it
}

func withoutSpace(text string) string {
	return strings.Map(func(c rune) rune {
		if unicode.IsSpace(c) {
			return -1
		}
		return c
	}, text)
}

func (t *transcript) add(prompt int, id, text string) {
	if text = withoutSpace(text); text == "" {
		return
	}
	if len(t.parts) == 0 || t.parts[len(t.parts)-1].id != id {
		t.parts = append(t.parts, transcriptPart{id: id, start: t.text.Len(), prompt: prompt})
	}
	t.text.WriteString(text)
}

// hear tells whether a further piece may be told again: whether all that was heard stands in the transcript from the
// beginning of a message on that belongs to the prompt, or to any one. An agent may have forgotten messages in between.
func (t *transcript) hear(piece string, belongs func(prompt int) bool) bool {
	piece = withoutSpace(piece)
	var at []int
	for _, start := range t.beginnings(belongs) {
		if strings.HasPrefix(t.text.String()[start+t.heard:], piece) {
			at = append(at, start)
		}
	}
	if len(at) == 0 {
		return false
	}
	t.at, t.heard = at, t.heard+len(piece)
	return true
}

// beginnings are where what is heard may begin.
func (t *transcript) beginnings(belongs func(prompt int) bool) (starts []int) {
	if t.heard > 0 {
		return t.at
	}
	next, _ := t.find(t.from)
	for _, part := range t.parts[next:] {
		if belongs(part.prompt) {
			starts = append(starts, part.start)
		}
	}
	return starts
}

// find looks for the message that begins at a place, or else the first behind it.
func (t *transcript) find(start int) (index int, found bool) {
	return slices.BinarySearchFunc(t.parts, start, func(part transcriptPart, start int) int { return part.start - start })
}

// tellingBytes is the length from which on a text is not the same by chance.
const tellingBytes = 20

// whole tells whether what was heard ends where a message does. A message that was cut off may end anywhere, so a few
// letters of it say nothing.
func (t *transcript) whole() bool {
	if t.heard == 0 {
		return true
	}
	end := t.at[0] + t.heard
	next, found := t.find(end)
	if !found && end < t.text.Len() {
		return false
	}
	return !t.parts[next-1].cutOff || t.heard >= tellingBytes
}

// settle notes that what was heard was a repetition.
func (t *transcript) settle() {
	if t.heard > 0 {
		t.from = t.at[0] + t.heard
	}
	t.forget()
}

// forget notes that it was something else.
func (t *transcript) forget() { t.heard, t.at = 0, nil }

// find looks for a prompt behind the last repeated one. An agent may have been given it with more around it, or
// tell it in parts.
func (r *replay) find(prompt string) (index int, found bool) {
	prompt = withoutSpace(prompt)
	for i := r.prompt + 1; i < len(r.prompts); i++ {
		known := r.prompts[i]
		part := len(known) >= tellingBytes && strings.Contains(prompt, known) ||
			len(prompt) >= tellingBytes && strings.Contains(known, prompt)
		if part || known == prompt && known != "" {
			return i, true
		}
	}
	return 0, false
}

// findCall looks for a call by the id that the agent has for it. Ours may have an ending of its own.
func (r *replay) findCall(agentID string) (id string, found bool) {
	wanted := wire.Beginning(agentID, callIDBytes)
	for id := range r.calls {
		if id == wanted || strings.HasPrefix(id, wanted+"~") {
			return id, true
		}
	}
	return "", false
}

func anyPrompt(int) bool { return true }

// learn takes a repeated update where it should be, before the answer.
func (r *replay) learn(kind string, update wire.Object) {
	if r == nil {
		return
	}
	switch text := update.Object("content").Text("text"); kind {
	case "user_message_chunk":
		if prompt, found := r.find(text); found {
			r.prompt = prompt
		}
	case "agent_message_chunk":
		r.messages.learn(text)
	case "agent_thought_chunk":
		r.thoughts.learn(text)
	case "tool_call", "tool_call_update":
		id, _ := r.findCall(update.Text("toolCallId"))
		delete(r.calls, id)
	}
}

// learn takes a repeated piece.
func (t *transcript) learn(piece string) {
	switch {
	case !t.hear(piece, anyPrompt):
		t.forget() // the agent tells it in other words
	case t.whole():
		t.settle()
	}
}
