package acp

import (
	"cmp"
	"encoding/json"

	"signoff/internal/acp/wire"
	"signoff/internal/domain"
)

// Agents hand work to agents of their own, and show what those do in one of two ways.
//
// The protocol has child sessions, for a client that says that it knows them: https://agentclientprotocol.com/protocol/v1/subagents.
// What a child does comes with an id of its own, and the call of the agent that made the child need not be shown at all. So each time that
// a child works is a call here: its own calls are below that one, and what it says is what that one prints.
//
// Other agents report all of it as their own, and name in a corner of _meta the call that a report belongs below.

// subagents are the child sessions of an agent, by their ids as they are shown.
type subagents map[string]*subagent

// subagent is one child session. It outlives what it is asked for: its parent may give it work again.
type subagent struct {
	session     string // as it is shown
	parent      *subagent
	title       string
	description string
	cancellable bool // it takes a cancel of its own

	call *toolCall // what it does now, or did last in this turn; nil: nothing yet
	said string    // since its last call of a tool: in the end, its answer
}

// subagentTool is the name of the calls that stand for the work of subagents, the same for all agents, so that one rule fits them.
const subagentTool = "subagent"

// subagentUpdated takes what an agent says of a child that it has made. Of a child whose work is over it says so here, too: the
// protocol keeps the child for further work. Whatever else is said of it is passed on.
func (t *translator) subagentUpdated(parent *subagent, update wire.Object, raw json.RawMessage) {
	s := t.introduce(parent, update)
	if s == nil {
		t.malformed(raw)
		return
	}
	state := update.Object("state")
	switch state.Text("state") {
	case "running", "requires_action":
		if s.call == nil || s.call.ended {
			t.work(s)
		}
	case "idle":
		t.rest(s, state)
	}
	t.passFrom(parent, "subagent_update", raw)
}

// knowsChild tells whether the agent has announced a child session.
func (t *translator) knowsChild(session string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.children[session] != nil
}

// introduce makes a child known, or what is new of it. A child keeps the parent that has announced it. It returns nil for what is no child.
func (t *translator) introduce(parent *subagent, update wire.Object) *subagent {
	session := update.Text("sessionId")
	if session == "" || session == t.filter.session {
		return nil
	}
	s := t.children[session]
	if s == nil {
		s = &subagent{session: session, parent: parent}
		t.children[session] = s
	}
	if _, told := update["title"]; told {
		s.title = wire.Beginning(update.Text("title"), summaryBytes)
	}
	if _, told := update["description"]; told {
		s.description = wire.Beginning(update.Text("description"), summaryBytes)
	}
	if _, told := update["capabilities"]; told {
		s.cancellable = update.Object("capabilities").Has("cancel")
	}
	return s
}

// key is what a call of the subagent is known by; nil is the agent itself.
func (s *subagent) key(agentID string) callKey {
	if s == nil {
		return callKey{call: agentID}
	}
	return callKey{session: s.session, call: agentID}
}

// work tells that a subagent works.
func (t *translator) work(s *subagent) {
	about := map[string]string{"sessionId": s.session}
	for name, text := range map[string]string{"title": s.title, "description": s.description} {
		if text != "" {
			about[name] = text
		}
	}
	s.said = ""
	s.call = &toolCall{
		id: t.calls.newID(subagentTool), folder: t.calls.folder, tool: subagentTool, class: domain.ClassDelegate,
		arguments: domain.Encode(about), summary: cmp.Or(s.title, s.description, subagentTool), parent: t.doing(s.parent),
	}
	t.request(s.call)
	t.start(s.call)
}

// doing returns the call that stands for what a subagent does, and nil for the agent itself. An agent need not say that a child works: then
// what the child does says it.
func (t *translator) doing(s *subagent) *toolCall {
	if s == nil {
		return nil
	}
	if s.call == nil {
		t.work(s)
	}
	return s.call
}

// rest tells that a subagent has done its work, and what came of it.
func (t *translator) rest(s *subagent, state wire.Object) {
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
	completed.Output, completed.Truncated = shortened(s.said)
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
		s.said = wire.Ending(s.said+content.Text("text"), 2*outputBytes)
		t.print(t.doing(s), content.Text("text"))
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

// print tells what a subagent says, as what the call prints that stands for it.
func (t *translator) print(c *toolCall, text string) {
	t.start(c)
	t.emit(domain.ToolCallUpdated{ToolCallID: c.id, Output: text})
}

// passFrom passes on what a subagent said as it said it; nil is the agent itself.
func (t *translator) passFrom(s *subagent, kind string, update json.RawMessage) {
	if s == nil {
		t.pass(kind, update)
		return
	}
	t.passBelow(s.call, kind, update)
}

func (t *translator) passBelow(parent *toolCall, kind string, update json.RawMessage) {
	t.emit(domain.AgentUpdated{Turn: t.turn, Kind: wire.Beginning(kind, 100), Update: update, ParentToolCallID: parent.name()})
}

// working are the sessions of the children that work and take a cancel of their own. A cancel of the agent's session need not reach them.
func (t *translator) working() (sessions []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range t.children {
		if s.cancellable && s.call != nil && !s.call.ended {
			sessions = append(sessions, s.session)
		}
	}
	return sessions
}

// parentNamed returns the call that an update names as the one that it belongs below, in the words of Claude Code and Qwen Code.
func (t *translator) parentNamed(update wire.Object) *toolCall {
	meta := update.Object("_meta")
	corners := []wire.Object{meta}
	for _, member := range sortedNames(meta) {
		corners = append(corners, meta.Object(member))
	}
	for _, corner := range corners {
		named := cmp.Or(corner.Text("parentToolCallId"), corner.Text("parentToolUseId"))
		if parent := t.calls.known[callKey{call: named}]; parent != nil && named != update.Text("toolCallId") {
			return parent
		}
	}
	return nil
}
