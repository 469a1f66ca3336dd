package acp

import (
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
