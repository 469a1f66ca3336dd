package acp

import (
	"encoding/json"
	"time"

	"signoff/internal/acp/wire"
	"signoff/internal/domain"
)

// callUpdated takes what the agent says of one of its calls.
func (s *translator) callUpdated(kind string, update wire.Object, raw json.RawMessage) {
	agentID := update.Text("toolCallId")
	if agentID == "" {
		s.malformed(raw)
		return
	}
	c := s.calls.known[agentID]
	if c == nil || (c.ended && kind == "tool_call") {
		c = s.announce(agentID, update)
	} else {
		c.learn(update)
	}
	s.emit(domain.ToolCallReported{ToolCallID: c.id, Turn: s.turn, Update: raw})
	s.progressed(c, update)
}

// announce makes a call known to the host.
func (s *translator) announce(agentID string, update wire.Object) *toolCall {
	c := &toolCall{id: s.calls.newID(agentID), folder: s.calls.folder, servers: s.calls.servers, tool: toolName(update), arguments: json.RawMessage("{}")}
	c.summary = c.tool
	c.learn(update)
	s.calls.known[agentID] = c
	s.request(c)
	return c
}

// request tells that somebody wants to run the call. It ends what is being said: what follows is said after it.
func (s *translator) request(c *toolCall) {
	s.release()
	s.closeMessage(false)
	s.emit(domain.ToolCallRequested{
		ToolCallID: c.id, MessageID: s.roundID(), Turn: s.turn, Tool: c.tool, Class: c.class, Arguments: c.arguments,
		Summary: c.summary,
	})
}

// progressed tells the status.
func (s *translator) progressed(c *toolCall, update wire.Object) {
	if c.ended {
		return
	}
	switch update.Text("status") {
	case "in_progress":
		s.start(c)
	case "completed":
		s.start(c)
		s.complete(c, domain.FateSucceeded)
	case "failed":
		s.failed(c)
	case "cancelled": // of the next version of the protocol
		s.complete(c, domain.FateCancelled)
	}
}

// start tells that the call runs, unless the session has told it already, after an answer that allows.
func (s *translator) start(c *toolCall) {
	if c.started {
		return
	}
	c.started, c.begun = true, time.Now()
	s.emit(domain.ToolCallStarted{ToolCallID: c.id, Arguments: c.arguments, AllowedBy: "agent"})
}

// failed ends a call that failed, or that was not run because nobody answered: agents have one word for both.
func (s *translator) failed(c *toolCall) {
	if c.unanswered && !c.started {
		s.complete(c, domain.FateCancelled)
		return
	}
	s.start(c)
	s.complete(c, domain.FateFailed)
}

// complete tells the fate of a call that the agent ran, and of the questions that were about it too.
func (s *translator) complete(c *toolCall, fate domain.Fate) {
	completed := domain.ToolCallCompleted{Fate: fate, ExitCode: c.exitCode, Error: failureOf(fate)}
	completed.Output, completed.Truncated = shortened(c.output)
	s.conclude(c, completed)
	for _, other := range c.others {
		s.conclude(other, completed)
	}
	c.others = nil
}

// conclude ends one call. What the model does next, it does knowing the result.
func (s *translator) conclude(c *toolCall, completed domain.ToolCallCompleted) {
	if c.ended {
		return
	}
	c.ended, c.output, c.told = true, "", nil
	if !c.begun.IsZero() {
		completed.DurationMs = time.Since(c.begun).Milliseconds()
	}
	completed.ToolCallID = c.id
	s.messages.round = ""
	s.emit(completed)
}

// own announces a call that is a request to us.
func (s *translator) own(tool string, class domain.Class, arguments json.RawMessage, summary string) *toolCall {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ownCall(tool, class, arguments, summary)
}

func (s *translator) ownCall(tool string, class domain.Class, arguments json.RawMessage, summary string) *toolCall {
	c := &toolCall{
		id: s.calls.newID(tool), folder: s.calls.folder, tool: tool, class: class, arguments: arguments, summary: wire.Beginning(summary, summaryBytes),
	}
	s.request(c)
	return c
}

// settle tells what became of a call that was a request to us.
func (s *translator) settle(c *toolCall, completed domain.ToolCallCompleted) {
	s.mu.Lock()
	defer s.mu.Unlock()
	completed.Output, completed.Truncated = shortenedBy(completed.Output, completed.Truncated)
	s.conclude(c, completed)
}
