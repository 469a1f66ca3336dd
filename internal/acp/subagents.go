package acp

import (
	"cmp"
	"encoding/json"

	"signoff/internal/acp/wire"
	"signoff/internal/domain"
)

// Agents hand work to agents of their own, and report it in one of two ways.
//
// The protocol has child sessions, for a client with that capability: https://agentclientprotocol.com/protocol/v1/subagents.
// The updates of a child have a session id of its own, and the agent need not report its own call that made the child. So each piece of work
// of a child is a call here: the calls of the child are below that call, and its text is the output of that call.
//
// Other agents report the work of subagents as their own, and name the call that stands for the subagent in a member of _meta.

// subagents are the child sessions of an agent, by their shown ids.
type subagents map[string]*subagent

// subagent is one child session. It outlives its work: its parent may give it work again.
type subagent struct {
	session     string // its shown id
	parent      *subagent
	title       string
	description string
	cancellable bool // it supports session/cancel

	call *toolCall // for its present work, or its last work in this turn; nil: none yet
	text string    // since its last tool call: at the end of its work, the answer
}

// subagentTool is the name of the calls that stand for the work of subagents, the same for all agents, so that one rule fits them.
const subagentTool = "subagent"

// subagentUpdated takes an agent's report about a child session. The end of the child's work comes here, too, because the protocol keeps
// the child for further work. The report is also passed on as it is.
func (t *translator) subagentUpdated(parent *subagent, update wire.Object, raw json.RawMessage) {
	s := t.learnSubagent(parent, update)
	if s == nil {
		t.malformed(raw)
		return
	}
	state := update.Object("state")
	switch state.Text("state") {
	case "running", "requires_action":
		if s.call == nil || s.call.ended {
			t.beginWork(s)
		}
	case "idle":
		t.endWork(s, state)
	}
	t.passFrom(parent, "subagent_update", raw)
}

// knowsChild tells whether the agent has announced a child session.
func (t *translator) knowsChild(session string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.children[session] != nil
}

// learnSubagent records a child session, or changes of a known one. A child keeps the parent that has announced it. If the update names no child, it
// returns nil.
func (t *translator) learnSubagent(parent *subagent, update wire.Object) *subagent {
	session := update.Text("sessionId")
	if session == "" || session == t.filter.session {
		return nil
	}
	s := t.children[session]
	if s == nil {
		s = &subagent{session: session, parent: parent}
		t.children[session] = s
	}
	if _, sent := update["title"]; sent {
		s.title = wire.Beginning(update.Text("title"), summaryBytes)
	}
	if _, sent := update["description"]; sent {
		s.description = wire.Beginning(update.Text("description"), summaryBytes)
	}
	if _, sent := update["capabilities"]; sent {
		s.cancellable = update.Object("capabilities").Has("cancel")
	}
	return s
}

// key is the key of a call of the subagent; nil is the agent itself.
func (s *subagent) key(agentID string) callKey {
	if s == nil {
		return callKey{call: agentID}
	}
	return callKey{session: s.session, call: agentID}
}

// beginWork starts the call for a piece of work of a subagent.
func (t *translator) beginWork(s *subagent) {
	about := map[string]string{"sessionId": s.session}
	for name, text := range map[string]string{"title": s.title, "description": s.description} {
		if text != "" {
			about[name] = text
		}
	}
	s.text = ""
	s.call = &toolCall{
		id: t.calls.newID(subagentTool), folder: t.calls.folder, tool: subagentTool, class: domain.ClassDelegate,
		arguments: domain.Encode(about), summary: cmp.Or(s.title, s.description, subagentTool), parent: t.workOf(s.parent),
	}
	t.request(s.call)
	t.start(s.call)
}

// workOf returns the call that stands for the work of a subagent, and nil for the agent itself. An agent need not report that a child works: then
// the first update of the child starts the call.
func (t *translator) workOf(s *subagent) *toolCall {
	if s == nil {
		return nil
	}
	if s.call == nil {
		t.beginWork(s)
	}
	return s.call
}

// endWork ends the call for the work of a subagent, with its outcome.
func (t *translator) endWork(s *subagent, state wire.Object) {
	if s.call == nil || s.call.ended {
		return
	}
	completed := domain.ToolCallCompleted{Outcome: domain.OutcomeSucceeded}
	switch stop := state.Text("stopReason"); stop {
	case "", "end_turn":
	case "cancelled":
		completed.Outcome = domain.OutcomeCancelled
		completed.Error = failureOf(domain.OutcomeCancelled)
	default:
		why := cmp.Or(state.Object("error").Text("message"), "The subagent stopped: "+stop+".")
		completed.Outcome = domain.OutcomeFailed
		completed.Error = &domain.Failure{Code: domain.CodeToolFailed, Message: wire.Beginning(why, failureBytes)}
	}
	completed.Output, completed.Truncated = shortened(s.text)
	t.conclude(s.call, completed)
}

// translateFrom emits the events of an update of a subagent.
func (t *translator) translateFrom(s *subagent, raw json.RawMessage) {
	update := wire.ReadObject(raw)
	switch kind := update.Text("sessionUpdate"); kind {
	case "agent_message_chunk":
		content := update.Object("content")
		if content.Text("type") != "text" || s.call != nil && s.call.ended {
			t.passFrom(s, kind, raw)
			return
		}
		s.text = wire.Ending(s.text+content.Text("text"), 2*outputBytes)
		t.print(t.workOf(s), content.Text("text"))
	case "tool_call", "tool_call_update":
		t.callUpdated(s, kind, update, raw)
	case "subagent_update":
		t.subagentUpdated(s, update, raw)
	case "":
		t.malformed(raw)
	default:
		t.passFrom(s, kind, raw)
	}
}

// print emits the text of a subagent as output of the call that stands for it.
func (t *translator) print(c *toolCall, text string) {
	t.start(c)
	t.emit(domain.ToolCallUpdated{ToolCallID: c.id, Output: text})
}

// passFrom passes on an update of a subagent unchanged; nil is the agent itself.
func (t *translator) passFrom(s *subagent, kind string, update json.RawMessage) {
	if s == nil {
		t.pass(kind, update)
		return
	}
	t.passBelow(s.call, kind, update)
}

func (t *translator) passBelow(parent *toolCall, kind string, update json.RawMessage) {
	t.emit(domain.AgentUpdated{Turn: t.turn, Kind: wire.Beginning(kind, 100), Update: update, ParentToolCallID: parent.idOrNone()})
}

// cancellableSessions are the sessions of the children that work and support session/cancel. A cancel of the agent's session need not reach them.
func (t *translator) cancellableSessions() (sessions []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range t.children {
		if s.cancellable && s.call != nil && !s.call.ended {
			sessions = append(sessions, s.session)
		}
	}
	return sessions
}

// parentInMeta returns the parent call that _meta of an update names, as Claude Code and Qwen Code send it.
func (t *translator) parentInMeta(update wire.Object) *toolCall {
	meta := update.Object("_meta")
	members := []wire.Object{meta}
	for _, member := range sortedNames(meta) {
		members = append(members, meta.Object(member))
	}
	for _, member := range members {
		named := cmp.Or(member.Text("parentToolCallId"), member.Text("parentToolUseId"))
		if parent := t.calls.known[callKey{call: named}]; parent != nil && named != update.Text("toolCallId") {
			return parent
		}
	}
	return nil
}
