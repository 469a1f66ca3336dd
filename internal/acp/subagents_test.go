package acp

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"signoff/internal/acp/wire"
	"signoff/internal/domain"
	"signoff/internal/tools/hosttest"
)

// ofSession lets translation hear updates of any session.
func (t translation) ofSession(session string, updates ...string) translation {
	for _, update := range updates {
		t.update(json.RawMessage(fmt.Sprintf(`{"sessionId":%q,"update":%s}`, session, update)))
	}
	return t
}

// childIs is what a parent says of a child.
func childIs(session, state string) string {
	return fmt.Sprintf(`{"sessionUpdate":"subagent_update","sessionId":%q,"title":"Look","capabilities":{"cancel":{}},"state":%s}`, session, state)
}

const (
	running = `{"state":"running"}`
	idle    = `{"state":"idle","stopReason":"end_turn"}`
)

func callIs(id, status string) string {
	return fmt.Sprintf(`{"sessionUpdate":"tool_call","toolCallId":%q,"title":"ls","kind":"execute","status":%q}`, id, status)
}

// parents lists the calls in their order, each with the one that it is a part of.
func parents(host *hosttest.Host) (lines []string) {
	for _, requested := range hosttest.Of[domain.ToolCallRequested](host) {
		lines = append(lines, strings.TrimSuffix(requested.ToolCallID+" < "+requested.ParentToolCallID, " < "))
	}
	return lines
}

// outcomes lists the calls that have ended.
func outcomes(host *hosttest.Host) (lines []string) {
	for _, c := range hosttest.Of[domain.ToolCallCompleted](host) {
		lines = append(lines, fmt.Sprintf("%s %s %s", c.ToolCallID, c.Outcome, c.Output))
	}
	return lines
}

func wantLines(t testing.TB, what string, got []string, wanted ...string) {
	t.Helper()
	if !slices.Equal(got, wanted) {
		t.Errorf("%s: got %q, want %q", what, got, wanted)
	}
}

// TestChildSessions: the work of a child is a call, its calls are below that, and its last words are the outcome. Ids of calls belong to their
// session. What the agent itself says is not broken off by what a child does.
func TestChildSessions(t *testing.T) {
	tr := newTranslation(t, domain.Opening{})
	tr.hears(agentSays("One "), childIs("child", running))
	tr.ofSession("child", agentSays("I look."), agentThinks("Where?"), callIs("c1", "in_progress"), callIs("c1", "completed"))
	tr.ofSession("child", childIs("grandchild", running))
	tr.ofSession("grandchild", callIs("c1", "completed"), agentSays("Deep down."))
	tr.ofSession("child", childIs("grandchild", idle), agentSays("Two files."))
	tr.hears(callIs("c1", "completed"), childIs("child", idle), agentSays("two."))
	tr.end(false)
	tr.host.Finish(t, true)
	wantLines(t, "calls", parents(tr.host), "subagent", "c1 < subagent", "subagent~2 < subagent", "c1~2 < subagent~2", "c1~3")
	wantLines(t, "outcomes", outcomes(tr.host), "c1 succeeded ", "c1~2 succeeded ", "subagent~2 succeeded Deep down.", "c1~3 succeeded ", "subagent succeeded Two files.")
	want(t, "text", tr.host.Text(), "One two.")
	var printed strings.Builder
	for _, piece := range hosttest.Of[domain.ToolCallUpdated](tr.host) {
		printed.WriteString(piece.ToolCallID + ": " + piece.Output + "\n")
	}
	want(t, "printed", printed.String(), "subagent: I look.\nsubagent~2: Deep down.\nsubagent: Two files.\n")
	var passed []string
	for _, update := range hosttest.Of[domain.AgentUpdated](tr.host) {
		passed = append(passed, strings.TrimSpace(update.Kind+" "+update.ParentToolCallID))
	}
	wantLines(t, "passed on", passed, "subagent_update", "agent_thought_chunk subagent", "subagent_update subagent", "subagent_update subagent", "subagent_update")
	requested := hosttest.Of[domain.ToolCallRequested](tr.host)[0]
	want(t, "request", fmt.Sprint(requested.Tool, requested.Class, requested.Summary, string(requested.Arguments)),
		`subagentdelegateLook{"sessionId":"child","title":"Look"}`)
}

// TestEndsOfChildren: how a child's work can end, and that it can begin again.
func TestEndsOfChildren(t *testing.T) {
	for state, wanted := range map[string]string{
		`{"state":"idle"}`:                                                      "succeeded",
		`{"state":"idle","stopReason":"cancelled"}`:                             "cancelled",
		`{"state":"idle","stopReason":"max_tokens"}`:                            "failed The subagent stopped: max_tokens.",
		`{"state":"idle","stopReason":"error","error":{"message":"No quota."}}`: "failed No quota.",
		`{"state":"unknown"}`:                                                   "",
		`null`:                                                                  "",
	} {
		tr := newTranslation(t, domain.Opening{})
		tr.hears(childIs("child", running), childIs("child", `{"state":"requires_action"}`), childIs("child", running), childIs("child", state))
		var got string
		for _, c := range hosttest.Of[domain.ToolCallCompleted](tr.host) {
			if got = string(c.Outcome); c.Error != nil && c.Outcome == domain.OutcomeFailed {
				got += " " + c.Error.Message
			}
		}
		want(t, state, got, wanted)
		if wanted != "" {
			tr.hears(childIs("child", running))
			wantLines(t, "calls after "+state, parents(tr.host), "subagent", "subagent~2")
		}
		tr.host.Finish(t, false)
	}
}

// TestChildIsNotHeardTwice: what a child says when its work is over is passed on, and opens nothing that would never end. In a further turn,
// the session has told the outcome of all calls; a child that goes on has a new one.
func TestChildIsNotHeardTwice(t *testing.T) {
	tr := newTranslation(t, domain.Opening{})
	tr.hears(childIs("child", running), childIs("child", idle))
	tr.ofSession("child", agentSays("late"))
	tr.host.Finish(t, true)
	tr.hears(childIs("child", running))
	tr.end(false)
	next := &hosttest.Host{}
	tr.begin(next, domain.Prompt{Turn: 2})
	tr.ofSession("child", callIs("c1", "completed"))
	wantLines(t, "calls", parents(next), "subagent~3", "c1 < subagent~3")
	next.Finish(t, false)
}

// TestNoSuchChild: what is no child is passed on as malformed.
func TestNoSuchChild(t *testing.T) {
	tr := newTranslation(t, domain.Opening{})
	tr.hears(childIs("", running), childIs("s", running))
	for _, update := range hosttest.Of[domain.AgentUpdated](tr.host) {
		want(t, "kind", update.Kind, "malformed")
	}
	want(t, "calls", len(parents(tr.host)), 0)
}

// TestReplayedChildrenAreHistory: an agent that loads a session tells what its children did, too. All of it is in the log.
func TestReplayedChildrenAreHistory(t *testing.T) {
	outside, host := &hosttest.Host{}, &hosttest.Host{}
	tr := newTranslator(t.Context(), domain.Opening{Host: outside, AgentSession: "s"})
	tr.beginReplay("s", nil)
	heard := translation{tr, host, outside}
	heard.hears(childIs("child", running))
	heard.ofSession("child", agentSays("Old news."), callIs("c1", "completed"), childIs("grandchild", running))
	heard.ofSession("grandchild", agentSays("Older news."))
	heard.hears(childIs("child", idle))
	tr.goLive()
	want(t, "told", len(outside.Payloads()), 0)
	tr.begin(host, domain.Prompt{Turn: 2})
	heard.ofSession("grandchild", callIs("c1", "completed"))
	want(t, "depth", len(parents(host)), 3) // the child is known although it was announced in the replay
}

// TestChildrenAreNotAwaited: what the log has of child sessions is no part of the history that the agent's session is told with.
func TestChildrenAreNotAwaited(t *testing.T) {
	told, err := readReplay(t.Context(), logOf("Look.",
		domain.ToolCallRequested{ToolCallID: "subagent", Tool: subagentTool, Class: domain.ClassDelegate},
		domain.ToolCallRequested{ToolCallID: "c1", Tool: "execute", ParentToolCallID: "subagent"},
		domain.ToolCallRequested{ToolCallID: "subagent~2", Tool: subagentTool, Class: domain.ClassDelegate, ParentToolCallID: "subagent"},
		domain.ToolCallRequested{ToolCallID: "c1~2", Tool: "execute", ParentToolCallID: "subagent~2"},
	))
	if told != nil || err != nil {
		t.Errorf("awaits %+v, %v", told, err)
	}
}

// TestParentsInMeta: Claude Code and Qwen Code name the call that a report of a subagent belongs below.
func TestParentsInMeta(t *testing.T) {
	for _, meta := range []string{`{"claudeCode":{"parentToolUseId":"task","toolName":"Bash"}}`, `{"parentToolCallId":"task","subagentType":"general"}`} {
		tr := newTranslation(t, domain.Opening{})
		tr.hears(`{"sessionUpdate":"tool_call","toolCallId":"task","title":"Look","kind":"think","status":"pending","_meta":`+meta+`}`,
			agentSays("Mine."),
			`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Not mine."},"_meta":`+meta+`}`,
			`{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"Hm."},"_meta":`+meta+`}`,
			`{"sessionUpdate":"tool_call","toolCallId":"c1","title":"ls","status":"completed","_meta":`+meta+`}`,
			`{"sessionUpdate":"tool_call_update","toolCallId":"task","status":"completed","content":[{"type":"content","content":{"type":"text","text":"Found."}}]}`,
			`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":" Late."},"_meta":`+meta+`}`,
		)
		tr.end(false)
		tr.host.Finish(t, true)
		wantLines(t, "calls", parents(tr.host), "task", "c1 < task")
		want(t, "text", tr.host.Text(), "Mine.")
		want(t, "thought", tr.host.Thought(), "")
		wantLines(t, "outcomes", outcomes(tr.host)[1:], "task succeeded Found.")
	}
}

// TestChildAsks: a person is asked about the call of a child as about any other. Its requests to read a file and its forms are below it, too.
func TestChildAsks(t *testing.T) {
	r := newRig(t)
	r.launch.Files = true
	r.open()
	person := r.answers(yes("once"))
	r.runs("raw "+childIs("child", running), `call c1 title=mine`, "as child", `ask c1 title=theirs input={"command":"ls"}`, "read nothing.txt", "elicit Which?",
		"as", "update c1 completed", "raw "+childIs("child", idle))
	wantLines(t, "calls", parents(r.host), "subagent", "c1", "c1~2 < subagent", "readTextFile < subagent", "question < subagent")
	want(t, "asked", person.asked[0].Call.ID, "c1~2")
	want(t, "shown", string(person.asked[0].Call.Arguments), `{"command":"ls"}`)
	want(t, "call of the form", person.asked[1].Call.ID, "question")
}

// TestStrangers: a request for a session that nobody has announced is answered at once, whatever it is, and told of. Nobody is asked. However
// many there are, the log stays short; each turn has its own few.
func TestStrangers(t *testing.T) {
	r := newRig(t)
	r.launch.Files, r.launch.Terminals = true, true
	r.open()
	person := r.answers(yes("once"))
	requests := []struct{ method, more, answer string }{
		{"session/request_permission", `"toolCall":{"toolCallId":"c1"},"options":[{"optionId":"once","kind":"allow_once"}]`, `={"outcome":{"outcome":"cancelled"}}`},
		{"elicitation/create", `"message":"Which?"`, `={"action":"cancel"}`},
		{"fs/read_text_file", `"path":"a.txt"`, "=error -32602"},
		{"fs/write_text_file", `"path":"a.txt","content":""`, "=error -32602"},
		{"terminal/create", `"command":"ls"`, "=error -32602"},
		{"terminal/output", `"terminalId":"t"`, "=error -32602"},
		{"_vendor/ask", `"a":1`, "=error -32601"},
	}
	var steps, methods []string
	for _, request := range requests {
		steps = append(steps, "request "+request.method+` {"sessionId":"stranger",`+request.more+"}")
		methods = append(methods, request.method)
	}
	r.runs(steps...)
	for _, request := range requests {
		r.heard(request.method + request.answer)
	}
	want(t, "asked", len(person.asked), 0)
	want(t, "calls", len(parents(r.host)), 0)
	wantLines(t, "told", strangers(r.host), methods...)
	many := slices.Repeat(steps[:1], 2*requestShown)
	r.runs(many...)
	want(t, "reported in two turns", len(strangers(r.host)), len(methods)+requestShown)
}

// strangers are the methods of the requests that nobody was asked about.
func strangers(host *hosttest.Host) (methods []string) {
	for _, update := range hosttest.Of[domain.AgentUpdated](host) {
		if method := wire.ReadObject(update.Update).Text("method"); update.Kind == "foreignSession" && method != "" {
			methods = append(methods, method)
		}
	}
	return methods
}

// TestCancelReachesChildren: a child that works and takes a cancel of its own need not hear of that of its parent.
func TestCancelReachesChildren(t *testing.T) {
	a := newAgent(Config{}, domain.Opening{Host: &hosttest.Host{}})
	defer a.stop()
	a.session = "s"
	close(a.sessionNamed)
	a.translator.nameSession("s")
	a.translator.goLive()
	heard := translation{translator: a.translator}
	heard.hears(childIs("works", running), childIs("rests", running), childIs("rests", idle),
		`{"sessionUpdate":"subagent_update","sessionId":"deaf","state":{"state":"running"}}`)
	r := newBubble(t, a)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan wire.Answer)
	go func() { ended <- a.turn(ctx, json.RawMessage(`{}`)) }()
	prompt := r.gets()
	cancel()
	for _, session := range []string{"s", "works"} {
		line, err := r.in.ReadString('\n')
		if err != nil || !strings.Contains(line, "session/cancel") || !strings.Contains(line, `"sessionId":"`+session+`"`) {
			t.Errorf("the agent reads %q, %v", line, err)
		}
	}
	r.answers(prompt, `{"stopReason":"cancelled"}`)
	if answer := <-ended; answer.Err != nil {
		t.Error(answer.Err)
	}
}
