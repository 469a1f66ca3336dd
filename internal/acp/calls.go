package acp

import (
	"encoding/json"
	"fmt"
	"time"

	"signoff/internal/acp/wire"
	"signoff/internal/domain"
)

// calls are the tool calls of one process, those that the agent tells of and those that are requests to us.
//
// Nothing about them can be relied on: a call may never be announced, or only after a person was asked about it; it may
// never end; its id may come again for another call. So whatever names a call makes it known, and an id that has come
// to its end is free for the next.
type calls struct {
	process string   // as in messages
	folder  string   // that relative paths are meant in
	servers []string // MCP servers that the agent was handed
	ending  string   // of all ids; empty while no other process has spoken for the execution
	known   map[string]*toolCall
	used    map[string]bool // ids of ours
}

// toolCall is one call as far as it is known.
type toolCall struct {
	id        string // ours
	folder    string
	servers   []string
	tool      string
	server    string       // the MCP server whose tool it is; empty: none, or not known
	byName    bool         // the name that the agent has for the tool says that it is one of a server's
	class     domain.Class // what policy is asked for
	ofKind    domain.Class // the strictest that the agent has said
	power     domain.Class // the same, but for what nobody can classify
	arguments json.RawMessage
	summary   string
	told      wire.Object // what else is known of what it will do: the newest of each of descriptive

	classified bool          // the agent has said of which kind it is
	informed   chan struct{} // closed when the arguments are known; nil while no question waits for them
	asking     bool          // a question about it waits for its answer
	unanswered bool          // the last one got none
	started    bool          // the log has it as running
	begun      time.Time     // since when
	ended      bool          // the log has its fate

	output   string      // as last reported
	exitCode *int        // of a command, where the agent tells
	others   []*toolCall // further questions about the same call, which end with it
}

func newCalls(process, folder string) calls {
	return calls{process: process, folder: folder, known: map[string]*toolCall{}, used: map[string]bool{}}
}

// distinguish gives all further ids an ending of their own.
func (c *calls) distinguish() { c.ending = "~" + c.process }

// callIDBytes bounds an id that an agent chose.
const callIDBytes = 120

// newID returns an id that no call has had, as close to what the agent says as that allows.
func (c *calls) newID(wanted string) string {
	wanted = wire.Beginning(wanted, callIDBytes) + c.ending
	id := wanted
	for n := 2; c.used[id]; n++ {
		id = fmt.Sprintf("%s~%d", wanted, n)
	}
	c.used[id] = true
	return id
}

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

// summaryBytes bounds a title. The whole of it is in the report.
const summaryBytes = 1000

// learn keeps what a question about the call, or its fate, will need. A member that is absent is unchanged.
func (c *toolCall) learn(update wire.Object) {
	c.identify(update)
	c.classify(update.Text("kind"))
	if title := update.Text("title"); title != "" {
		c.summary = wire.Beginning(title, summaryBytes)
	}
	if input := wire.ReadObject(update["rawInput"]); len(input) > 0 { // an empty one says nothing
		c.arguments = update["rawInput"]
		if c.informed != nil {
			close(c.informed)
			c.informed = nil
		}
	}
	c.describe(update)
	if output, told := outputOf(update); told {
		c.output = output
	}
	meta := update.Object("_meta")
	if delta := meta.Object("terminal_output_delta").Text("data"); delta != "" {
		c.output = wire.Ending(c.output+delta, 2*outputBytes)
	}
	if code := meta.Object("terminal_exit").Count("exit_code"); code != nil {
		exit := int(*code)
		c.exitCode = &exit
	}
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

// failureOf is the failure of a fate that an agent reports.
func failureOf(fate domain.Fate) *domain.Failure {
	switch fate {
	case domain.FateSucceeded:
		return nil
	case domain.FateCancelled:
		return &domain.Failure{Code: domain.CodeCancelled, Message: "It was cancelled."}
	default:
		return &domain.Failure{Code: domain.CodeToolFailed, Message: "The agent reports that it failed."}
	}
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
