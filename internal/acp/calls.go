package acp

import (
	"encoding/json"
	"time"

	"signoff/internal/acp/wire"
	"signoff/internal/domain"
)

// callUpdated takes an update of the agent, or of a subagent, about one of its calls.
func (t *translator) callUpdated(s *subagent, kind string, update wire.Object, raw json.RawMessage) {
	agentID := update.Text("toolCallId")
	if agentID == "" {
		t.malformed(raw)
		return
	}
	c := t.calls.known[s.key(agentID)]
	anew := c == nil || (c.ended && kind == "tool_call")
	var shown pictures
	if !anew {
		shown = c.pictures
	}
	if shown.take(t.life, t.hostNow(), update) {
		raw = domain.Encode(update)
	}
	if anew {
		c = t.announce(s, agentID, update)
	} else {
		c.learn(update)
	}
	c.pictures = shown
	t.emit(domain.ToolCallReported{ToolCallID: c.id, Turn: t.turn, Update: raw})
	t.progressed(c, update)
}

// announce makes a call known to the host.
func (t *translator) announce(s *subagent, agentID string, update wire.Object) *toolCall {
	parent := t.parentInMeta(update)
	if s != nil {
		parent, s.text = t.workOf(s), ""
	}
	c := &toolCall{id: t.calls.newID(agentID), folder: t.calls.folder, servers: t.calls.servers, tool: toolName(update), arguments: json.RawMessage("{}")}
	c.summary, c.parent = c.tool, parent
	c.learn(update)
	t.calls.known[s.key(agentID)] = c
	t.request(c)
	return c
}

// request tells that somebody wants to run the call. It ends the current message, unless a subagent calls: later text is a new message.
// Calls in a row belong to one message; what comes after a result is a new answer of the model.
func (t *translator) request(c *toolCall) {
	t.release()
	if c.parent == nil {
		t.closeMessage(false)
	}
	round := t.roundOf(c)
	if *round == "" { // a new answer of the model, which says nothing
		*round = t.newMessageID()
	}
	t.emit(domain.ToolCallRequested{
		ToolCallID: c.id, ParentToolCallID: c.parent.idOrNone(), MessageID: *round, Turn: t.turn, Tool: c.tool, Class: c.class,
		Arguments: c.arguments, Summary: c.summary,
	})
}

// roundOf is the id of the message that the call and its siblings belong to: of the agent's model, or of a subagent's.
func (t *translator) roundOf(c *toolCall) *string {
	if c.parent == nil {
		return &t.messages.round
	}
	return &c.parent.round
}

// progressed tells the status.
func (t *translator) progressed(c *toolCall, update wire.Object) {
	if c.ended {
		return
	}
	switch update.Text("status") {
	case "in_progress":
		t.start(c)
	case "completed":
		t.start(c)
		t.complete(c, domain.OutcomeSucceeded)
	case "failed": // agents have one word for a failure, and for a call that was not run because nobody answered
		if c.unanswered && !c.started {
			t.complete(c, domain.OutcomeCancelled)
			return
		}
		t.start(c)
		t.complete(c, domain.OutcomeFailed)
	case "cancelled": // of the next version of the protocol
		t.complete(c, domain.OutcomeCancelled)
	}
}

// start tells that the call runs, unless the session has told it already, after an answer that allows.
func (t *translator) start(c *toolCall) {
	if c.started {
		return
	}
	c.started, c.begun = true, time.Now()
	t.emit(domain.ToolCallStarted{ToolCallID: c.id, Arguments: c.arguments, AllowedBy: "agent"})
}

// complete tells the outcome of a call that the agent ran, and of the questions that were about it too.
func (t *translator) complete(c *toolCall, outcome domain.Outcome) {
	completed := domain.ToolCallCompleted{Outcome: outcome, ExitCode: c.exitCode, Error: failureOf(outcome), Files: c.pictures.files}
	completed.Output, completed.Truncated = shortened(c.output)
	t.conclude(c, completed)
	for _, other := range c.others {
		t.conclude(other, completed)
	}
	c.others = nil
}

// conclude ends one call. What the model does next, it does knowing the result.
func (t *translator) conclude(c *toolCall, completed domain.ToolCallCompleted) {
	if c.ended {
		return
	}
	c.ended, c.output, c.told, c.pictures = true, "", nil, pictures{}
	if !c.begun.IsZero() {
		completed.DurationMs = time.Since(c.begun).Milliseconds()
	}
	completed.ToolCallID = c.id
	*t.roundOf(c) = ""
	t.emit(completed)
}

// own announces a call for a session's request to us, and returns the host that it was announced to.
func (t *translator) own(session, tool string, class domain.Class, arguments json.RawMessage, summary string) (*toolCall, domain.Host) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.ownCall(t.children[session], tool, class, arguments, summary), t.hostNow()
}

func (t *translator) ownCall(s *subagent, tool string, class domain.Class, arguments json.RawMessage, summary string) *toolCall {
	c := &toolCall{
		id: t.calls.newID(tool), folder: t.calls.folder, tool: tool, class: class, arguments: arguments, summary: wire.Beginning(summary, summaryBytes),
		parent: t.workOf(s),
	}
	t.request(c)
	return c
}

// settle tells what became of a call that was a request to us.
func (t *translator) settle(c *toolCall, completed domain.ToolCallCompleted) {
	t.mu.Lock()
	defer t.mu.Unlock()
	output, cut := shortened(completed.Output)
	completed.Output, completed.Truncated = output, cut || completed.Truncated
	t.conclude(c, completed)
}
