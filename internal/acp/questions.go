package acp

import (
	"bytes"
	"encoding/json"
	"maps"
	"time"

	"signoff/internal/acp/wire"
	"signoff/internal/domain"
)

// Questions are about calls: what a person is asked, and what becomes of the call by the answer.

// ask returns the call that a question is about. A call can have one open question; another one about the same call goes
// by an id of its own.
func (s *translator) ask(toolCall wire.Object, raw json.RawMessage) *toolCall {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.release()
	agentID := toolCall.Text("toolCallId")
	c := s.calls.known[agentID]
	switch {
	case agentID == "" || c == nil || c.ended:
		c = s.announce(agentIDOr(agentID, "permission"), toolCall)
	case c.asking:
		c.learn(toolCall)
		c = s.double(c, agentID)
	default:
		c.learn(toolCall)
	}
	if len(raw) > 0 {
		s.emit(domain.ToolCallReported{ToolCallID: c.id, Turn: s.turn, Update: raw})
	}
	c.asking = true
	return c
}

// inQuestion is the call as the host is to be asked about it.
func (s *translator) inQuestion(c *toolCall) domain.ToolCall {
	s.mu.Lock()
	defer s.mu.Unlock()
	return c.inQuestion()
}

func agentIDOr(agentID, otherwise string) string {
	if agentID == "" {
		return otherwise
	}
	return agentID
}

// descriptive are the members of a report that say what a call will do, where its input is no object, or empty.
var descriptive = []string{"title", "content", "locations", "rawInput"}

// describe keeps what a report says of what the call will do. A member that is empty says nothing.
func (c *toolCall) describe(update wire.Object) {
	for _, name := range descriptive {
		if len(bytes.Trim(update[name], "[]{}\" \t\r\n")) == 0 || !update.Has(name) {
			continue
		}
		if c.told == nil {
			c.told = wire.Object{}
		}
		c.told[name] = update[name]
	}
}

// inQuestion is the call as a person is asked about it. An agent that does not say what the tool gets says what would
// happen in another way, perhaps long before it asks: that stands in for the arguments, since a decision is about what
// was shown, and may be remembered for what looks the same. Were it only what the question itself says, which may be
// the id alone, then "ls" would look the same as "rm -rf /". A call of which nothing is known looks like no other one.
func (c *toolCall) inQuestion() domain.ToolCall {
	call := c.asHost()
	switch {
	case len(wire.ReadObject(c.arguments)) > 0:
	case len(c.told) > 0:
		call.Arguments = domain.Encode(c.told)
	default:
		call.Arguments = domain.Encode(map[string]string{"toolCallId": c.id})
	}
	return call
}

// asHost is the call as the host knows it.
func (c *toolCall) asHost() domain.ToolCall {
	return domain.ToolCall{
		ID: c.id, Tool: c.tool, Class: c.class, Arguments: c.arguments, Summary: c.summary, Action: c.action(),
	}
}

// double announces a call once more, for a second question.
func (s *translator) double(c *toolCall, agentID string) *toolCall {
	second := &toolCall{
		id: s.calls.newID(agentID), folder: c.folder, servers: c.servers, tool: c.tool, server: c.server, byName: c.byName, class: c.class, ofKind: c.ofKind, power: c.power, arguments: c.arguments, summary: c.summary,
		told: maps.Clone(c.told),
	}
	c.others = append(c.others, second)
	s.request(second)
	return second
}

// answered notes what became of a question. Where the answer allows, the session has written that the call runs; where
// it refuses, the fate of the call, unless the agent had begun it before it asked.
func (s *translator) answered(c *toolCall, verdict domain.ApprovalStatus) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.asking, c.unanswered = false, false
	switch {
	case verdict == domain.ApprovalApproved && !c.started:
		c.started, c.begun = true, time.Now()
	case verdict == domain.ApprovalApproved:
	case verdict == domain.ApprovalDenied || verdict == domain.ApprovalExpired:
		c.ended = c.ended || !c.started
		s.messages.round = ""
	default:
		c.unanswered = true
	}
}
