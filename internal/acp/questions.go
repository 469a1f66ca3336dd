package acp

import (
	"cmp"
	"encoding/json"
	"maps"
	"time"

	"signoff/internal/acp/wire"
	"signoff/internal/domain"
)

// Questions are about calls: what a person is asked, and what becomes of the call by the answer.

// ask returns the call that a question of a session is about. A call can have one open question; another one about the same call goes
// by an id of its own.
func (t *translator) ask(session string, toolCall wire.Object, raw json.RawMessage) *toolCall {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.release()
	s, agentID := t.children[session], toolCall.Text("toolCallId")
	c := t.calls.known[s.key(agentID)]
	switch {
	case agentID == "" || c == nil || c.ended:
		c = t.announce(s, cmp.Or(agentID, "permission"), toolCall)
	case c.asking:
		c.learn(toolCall)
		c = t.double(c, agentID)
	default:
		c.learn(toolCall)
	}
	if len(raw) > 0 {
		t.emit(domain.ToolCallReported{ToolCallID: c.id, Turn: t.turn, Update: raw})
	}
	c.asking = true
	return c
}

// inQuestion is the call as the host is to be asked about it.
func (t *translator) inQuestion(c *toolCall) domain.ToolCall {
	t.mu.Lock()
	defer t.mu.Unlock()
	return c.inQuestion()
}

// double announces a call once more, for a second question.
func (t *translator) double(c *toolCall, agentID string) *toolCall {
	second := &toolCall{
		id: t.calls.newID(agentID), folder: c.folder, servers: c.servers, tool: c.tool, server: c.server, byName: c.byName, class: c.class, ofKind: c.ofKind, power: c.power, arguments: c.arguments, summary: c.summary,
		told: maps.Clone(c.told), parent: c.parent,
	}
	c.others = append(c.others, second)
	t.request(second)
	return second
}

// answered notes what became of a question. Where the answer allows, the session has written that the call runs; where
// it refuses, the outcome of the call, unless the agent had begun it before it asked.
func (t *translator) answered(c *toolCall, verdict domain.ApprovalStatus) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c.asking, c.unanswered = false, false
	switch {
	case verdict == domain.ApprovalApproved && !c.started:
		c.started, c.begun = true, time.Now()
	case verdict == domain.ApprovalApproved:
	case verdict == domain.ApprovalDenied || verdict == domain.ApprovalExpired:
		c.ended = c.ended || !c.started
		*t.roundOf(c) = ""
	default:
		c.unanswered = true
	}
}
