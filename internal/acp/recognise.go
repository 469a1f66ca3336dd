package acp

import (
	"encoding/json"

	"signoff/internal/acp/wire"
)

// recognise translates an update, unless it repeats the log.
func (t *translator) recognise(raw json.RawMessage) {
	update := wire.ReadObject(raw)
	text := update.Object("content").Text("text")
	switch kind := update.Text("sessionUpdate"); kind {
	case "user_message_chunk":
		t.hearPrompt(raw, text)
	case "agent_message_chunk":
		t.hearText(&t.replay.messages, raw, text)
	case "agent_thought_chunk":
		t.hearText(&t.replay.thoughts, raw, text)
	case "tool_call", "tool_call_update":
		t.hearCall(kind, update.Text("toolCallId"), raw)
	case "plan":
		if !t.repeating() {
			t.translateNew(raw)
		}
	default:
		t.translate(raw)
	}
	if r := t.replay; r != nil && r.exhausted() && len(r.dropped) == 0 {
		t.replay = nil
	}
}

// repeating reports whether the agent repeats the log now.
func (t *translator) repeating() bool { return t.replay.running || t.host == nil }

// hearText takes a chunk of a message or a thought.
func (t *translator) hearText(of *transcript, raw json.RawMessage, text string) {
	r := t.replay
	belongs := anyPrompt
	if t.host != nil {
		belongs = func(prompt int) bool { return prompt == r.prompt }
	}
	if text == "" || !t.repeating() || !of.hear(text, belongs) {
		t.translateNew(raw)
		return
	}
	r.held, r.running = append(r.held, raw), true
	if !of.whole() {
		return
	}
	if t.host != nil && of == &r.messages {
		r.dropped = append(r.dropped, r.held...)
	}
	t.drop()
}

// hearPrompt takes what the user has said, as the agent tells it. It may be the prompt of this turn: one that is the same as an
// earlier one begins no replay.
func (t *translator) hearPrompt(raw json.RawMessage, text string) {
	r := t.replay
	prompt, found := r.find(text)
	switch {
	case found && (t.repeating() || withoutSpace(text) != t.prompt):
		t.drop()
		r.running, r.prompt, r.dropped = true, prompt, nil
	case t.repeating(): // of the agent's own making, such as the results of its tools
	default:
		t.translate(raw)
	}
}

// hearCall takes what the agent says of a call.
func (t *translator) hearCall(kind, agentID string, raw json.RawMessage) {
	r := t.replay
	id, found := r.findCall(agentID)
	switch {
	case kind == "tool_call" && found && t.repeating():
		t.drop()
		r.running, r.dropped = true, nil
		delete(r.calls, id)
		r.repeated[agentID] = true
	case kind == "tool_call_update" && r.repeated[agentID] && t.calls.known[callKey{call: agentID}] == nil:
	default:
		delete(r.repeated, agentID)
		t.translateNew(raw)
	}
}

// drop discards the updates that were held back: they were repeated.
func (t *translator) drop() {
	r := t.replay
	r.held = nil
	r.messages.settle()
	r.thoughts.settle()
	if next, _ := r.messages.find(r.messages.from); next > 0 {
		r.prompt = max(r.prompt, r.messages.parts[next-1].prompt)
	}
}

// translateNew translates an update that repeats nothing, and before it those that were held back.
func (t *translator) translateNew(raw json.RawMessage) {
	t.release()
	t.translate(raw)
}

// release ends the repetition, since something new comes, and translates the updates that were held back.
func (t *translator) release() {
	r := t.replay
	if r == nil {
		return
	}
	held := r.held
	r.held, r.dropped, r.running, r.news = nil, nil, false, r.news || t.host != nil
	r.messages.forget()
	r.thoughts.forget()
	for _, raw := range held {
		t.translate(raw)
	}
}

// endReplay is the end of the first turn: what comes later is not told again. A turn that has said nothing of its own may
// have given an earlier answer word for word. It is better to show that twice than not at all.
func (t *translator) endReplay(answered bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.replay
	if r == nil {
		return
	}
	if answered && !r.news {
		r.held = append(r.dropped, r.held...)
	}
	t.release()
	t.replay = nil
}
