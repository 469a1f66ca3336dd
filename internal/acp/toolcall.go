package acp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"signoff/internal/acp/wire"
	"signoff/internal/domain"
)

// calls are the tool calls of one process: those that the agent reports, and those that are requests to us.
//
// Nothing about them can be relied on: a call may never be announced, or only after a person was asked about it; it may
// never end; its id may come again for another call. So whatever names a call makes it known, and an id that has come
// to its end is free for the next.
type calls struct {
	process string   // as in messages
	folder  string   // that relative paths are meant in
	servers []string // MCP servers that the agent was handed
	ending  string   // of all ids; empty while no other process has spoken for the execution
	known   map[callKey]*toolCall
	used    map[string]bool // ids of ours
}

// callKey identifies a call of the agent. Each session has ids of its own.
type callKey struct {
	session string // of a subagent; empty for the agent's
	call    string
}

// toolCall is one call as far as it is known.
type toolCall struct {
	id        string    // ours
	parent    *toolCall // the call that it belongs below; nil: the agent's turn
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

	classified bool          // the agent has named its kind
	informed   chan struct{} // closed when the arguments are known; nil while no question waits for them
	asking     bool          // a question about it waits for its answer
	unanswered bool          // the last one got none
	started    bool          // the log has it as running
	begun      time.Time     // since when
	ended      bool          // the log has its outcome

	output   string // as last reported
	pictures pictures
	exitCode *int        // of a command, where the agent tells
	others   []*toolCall // further questions about the same call, which end with it
	round    string      // of the calls below it, as in messages
}

// idOrNone is the id of a call; empty for none.
func (c *toolCall) idOrNone() string {
	if c == nil {
		return ""
	}
	return c.id
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

// summaryBytes bounds a title. The whole of it is in the report.
const summaryBytes = 1000

// learn keeps what a question about the call, or its outcome, will need. A member that is absent is unchanged.
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

// classify takes what a report says of the kind of the call. An agent may announce a reading and ask about a command, by
// mistake or not: the milder word must not decide. Only where nothing was said before, anything said is better.
func (c *toolCall) classify(kind string) {
	said := classOf(kind, c.tool)
	if !c.classified || kind != "" && severity[said] > severity[c.ofKind] {
		c.ofKind = said
	}
	c.classified = c.classified || kind != ""
	if said != domain.ClassOther && severity[said] > severity[c.power] {
		c.power = said
	}
	switch c.class = c.ofKind; {
	case c.byName, c.server != "" && severity[c.power] < severity[domain.ClassMCP]:
		c.class = domain.ClassMCP
	case c.server != "":
		c.class = c.power
	}
}

// identify notes that the call is one of a server's tool, as soon as anything shows it. From then on the tool has the name
// that most agents would give it, so that one rule fits the same tool with all of them.
func (c *toolCall) identify(update wire.Object) {
	if c.server != "" {
		return
	}
	found, is := findServerTool(update, c.servers)
	if !is {
		return
	}
	c.server, c.byName = found.server, found.byName
	if found.server != "" {
		c.tool = toolOfServer + found.server + "__" + found.tool
	}
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
// the id alone, then "ls" would look the same as "rm -rf /". A call without any description gets its id, so it is equal to no other call.
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

// action is what the call would touch, as far as its agent says. What its input holds counts whatever its kind is: some
// agents call a command a reading because it looks like one.
func (c *toolCall) action() domain.Action {
	input := wire.ReadObject(c.arguments)
	if len(input) == 0 {
		input = wire.ReadObject(c.told["rawInput"])
	}
	return domain.Action{Server: c.server, Paths: c.paths(input), Command: c.line(input), Hosts: hostsOf(input)}
}

// line is the command line of the call. One that starts in another folder begins with the way there: a > config means
// another file in .git than beside it.
func (c *toolCall) line(input wire.Object) string {
	line := commandLine(input)
	for _, name := range []string{"cwd", "workdir", "working_directory"} {
		folder := input.Text(name)
		if folder != "" && !filepath.IsAbs(folder) {
			folder = filepath.Join(c.folder, folder)
		}
		if line != "" && folder != "" && filepath.Clean(folder) != filepath.Clean(c.folder) {
			return "cd " + quotedWord(folder) + " && " + line
		}
	}
	return line
}

// paths are the files that the call names: where it says that it works, and in its input under the usual names.
func (c *toolCall) paths(input wire.Object) (paths []string) {
	add := func(path string) {
		if path == "" {
			return
		}
		if !filepath.IsAbs(path) {
			path = filepath.Join(c.folder, path)
		}
		if path = filepath.Clean(path); !slices.Contains(paths, path) {
			paths = append(paths, path)
		}
	}
	for _, location := range c.told.Objects("locations") {
		add(location.Text("path"))
	}
	for _, name := range []string{"path", "file_path", "filePath", "abs_path", "absolute_path", "notebook_path", "source", "destination"} {
		add(input.Text(name))
	}
	return paths
}

// failureOf is the failure of an outcome that an agent reports.
func failureOf(outcome domain.Outcome) *domain.Failure {
	switch outcome {
	case domain.OutcomeSucceeded:
		return nil
	case domain.OutcomeCancelled:
		return &domain.Failure{Code: domain.CodeCancelled, Message: "It was cancelled."}
	default:
		return &domain.Failure{Code: domain.CodeToolFailed, Message: "The agent reports that it failed."}
	}
}
