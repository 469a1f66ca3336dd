package acp

import (
	"encoding/json"

	"signoff/internal/acp/wire"
)

// recognise takes an update that may be told again, and tells one that is not.
func (s *translator) recognise(raw json.RawMessage) {
	update := wire.ReadObject(raw)
	text := update.Object("content").Text("text")
	switch kind := update.Text("sessionUpdate"); kind {
	case "user_message_chunk":
		s.hearPrompt(raw, text)
	case "agent_message_chunk":
		s.hearText(&s.replay.messages, raw, text)
	case "agent_thought_chunk":
		s.hearText(&s.replay.thoughts, raw, text)
	case "tool_call", "tool_call_update":
		s.hearCall(kind, update.Text("toolCallId"), raw)
	case "plan":
		if !s.repeating() {
			s.translateNew(raw)
		}
	default:
		s.translate(raw)
	}
	if r := s.replay; r != nil && r.exhausted() && len(r.dropped) == 0 {
		s.replay = nil
	}
}

// repeating tells whether what is in the log is told again now.
func (s *translator) repeating() bool { return s.replay.running || s.host == nil }

// hearText takes a chunk of a message or a thought.
func (s *translator) hearText(t *transcript, raw json.RawMessage, text string) {
	r := s.replay
	belongs := anyPrompt
	if s.host != nil {
		belongs = func(prompt int) bool { return prompt == r.prompt }
	}
	if text == "" || !s.repeating() || !t.hear(text, belongs) {
		s.translateNew(raw)
		return
	}
	r.held, r.running = append(r.held, raw), true
	if !t.whole() {
		return
	}
	if s.host != nil && t == &r.messages {
		r.dropped = append(r.dropped, r.held...)
	}
	s.drop()
}

// hearPrompt takes what the user has said, as the agent tells it. It may be the prompt of this turn: one that is the same as an
// earlier one begins no replay.
func (s *translator) hearPrompt(raw json.RawMessage, text string) {
	r := s.replay
	prompt, found := r.find(text)
	switch {
	case found && (s.repeating() || withoutSpace(text) != s.prompt):
		s.drop()
		r.running, r.prompt, r.dropped = true, prompt, nil
	case s.repeating(): // of the agent's own making, such as the results of its tools
	default:
		s.translate(raw)
	}
}

// hearCall takes what the agent says of a call.
func (s *translator) hearCall(kind, agentID string, raw json.RawMessage) {
	r := s.replay
	id, found := r.findCall(agentID)
	switch {
	case kind == "tool_call" && found && s.repeating():
		s.drop()
		r.running, r.dropped = true, nil
		delete(r.calls, id)
		r.repeated[agentID] = true
	case kind == "tool_call_update" && r.repeated[agentID] && s.calls.known[agentID] == nil:
	default:
		delete(r.repeated, agentID)
		s.translateNew(raw)
	}
}

// drop forgets what was held back: it was told again.
func (s *translator) drop() {
	r := s.replay
	r.held = nil
	r.messages.settle()
	r.thoughts.settle()
	if next, _ := r.messages.find(r.messages.from); next > 0 {
		r.prompt = max(r.prompt, r.messages.parts[next-1].prompt)
	}
}

// translateNew tells an update that is not told again, and before it what was held back.
func (s *translator) translateNew(raw json.RawMessage) {
	s.release()
	s.translate(raw)
}

// release ends what was told again, since something new comes, and tells what was held back.
func (s *translator) release() {
	r := s.replay
	if r == nil {
		return
	}
	held := r.held
	r.held, r.dropped, r.running, r.news = nil, nil, false, r.news || s.host != nil
	r.messages.forget()
	r.thoughts.forget()
	for _, raw := range held {
		s.translate(raw)
	}
}

// endReplay is the end of the first turn: what comes later is not told again. A turn that has said nothing of its own may
// have given an earlier answer word for word. It is told rather twice than not at all.
func (s *translator) endReplay(answered bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.replay
	if r == nil {
		return
	}
	if answered && !r.news {
		r.held = append(r.dropped, r.held...)
	}
	s.release()
	s.replay = nil
}
