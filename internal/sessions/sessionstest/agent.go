// Package sessionstest has the scripted agent, the main double of the tests: it says, asks and waits as its script says.
package sessionstest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strconv"

	"signoff/internal/domain"
)

// Script is one turn of an agent.
type Script func(ctx context.Context, t *Turn) (domain.StopReason, error)

// Turn is the argument of a script. Its methods return the error that ends the turn.
type Turn struct {
	Host   domain.Host
	Prompt domain.Prompt
	ctx    context.Context
}

// Agent plays a script on every prompt.
type Agent struct {
	Script Script
	Intro  domain.Introduction
	Closed chan struct{} // closes with the agent; may be nil
}

var _ domain.Agent = (*Agent)(nil)

// Introduction returns the test's introduction.
func (a *Agent) Introduction() domain.Introduction { return a.Intro }

// Prompt plays the script.
func (a *Agent) Prompt(ctx context.Context, host domain.Host, prompt domain.Prompt) (domain.StopReason, error) {
	return a.Script(ctx, &Turn{Host: host, Prompt: prompt, ctx: ctx})
}

// Close tells who waits for it.
func (a *Agent) Close() error {
	if a.Closed != nil {
		close(a.Closed)
	}
	return nil
}

// Open returns a function that opens agents with this script.
func Open(script Script) func(context.Context, domain.Opening) (domain.Agent, error) {
	return func(context.Context, domain.Opening) (domain.Agent, error) { return &Agent{Script: script}, nil }
}

// External plays a script as an agent that is a process of its own and keeps its own sessions.
type External struct {
	Script  Script
	Forgets bool  // it cannot load a session again
	Refuses error // of the next opening that names an earlier session
	Opened  chan domain.Opening
}

// Open opens the agent; every opening is put into Opened.
func (e *External) Open(_ context.Context, opening domain.Opening) (domain.Agent, error) {
	e.Opened <- opening
	if opening.AgentSession != "" && e.Refuses != nil {
		return nil, e.Refuses
	}
	intro := domain.Introduction{Name: "external", Version: "1", AgentSession: "session-1", Resumable: !e.Forgets}
	if opening.AgentSession != "" {
		intro.Continued = "load"
	}
	return &Agent{Script: e.Script, Intro: intro}, nil
}

// Ask puts a question as an external agent does.
func (t *Turn) Ask(ctx context.Context, id, options string) (domain.Answer, error) {
	call := Bash(id, "ls")
	call.Version = ""
	return t.Host.Ask(ctx, domain.Question{Kind: domain.ApprovalAgentPermission, Call: call, Options: json.RawMessage(options)})
}

// Say streams text in pieces and closes the message.
func (t *Turn) Say(id string, pieces ...string) error {
	for _, piece := range pieces {
		if err := t.Host.Emit(t.ctx, domain.MessageDelta{MessageID: id, Text: piece}); err != nil {
			return err
		}
	}
	return t.Host.Emit(t.ctx, domain.MessageCompleted{MessageID: id})
}

// Think streams a thought.
func (t *Turn) Think(id, text string) error {
	if err := t.Host.Emit(t.ctx, domain.ThoughtDelta{MessageID: id, Text: text}); err != nil {
		return err
	}
	return t.Host.Emit(t.ctx, domain.ThoughtCompleted{MessageID: id})
}

// Want announces a call.
func (t *Turn) Want(message string, call domain.ToolCall) error {
	return t.Host.Emit(t.ctx, domain.ToolCallRequested{
		ToolCallID: call.ID, MessageID: message, Tool: call.Tool, Class: call.Class,
		Arguments: call.Arguments, Summary: call.Summary, MCP: call.MCP,
	})
}

// Use authorizes an announced call and, where it may run, runs it with run.
func (t *Turn) Use(call domain.ToolCall, run func(arguments json.RawMessage) string) (domain.Grant, error) {
	grant, err := t.Host.Authorize(t.ctx, call)
	if err != nil || !grant.Allowed {
		return grant, err
	}
	return grant, t.Host.Emit(t.ctx, domain.ToolCallCompleted{
		ToolCallID: call.ID, Outcome: domain.OutcomeSucceeded, Output: run(grant.Arguments),
	})
}

// Bash is a call of class execute.
func Bash(id, command string) domain.ToolCall {
	return domain.ToolCall{
		ID: id, Tool: "bash", Version: "1", Class: domain.ClassExecute,
		Arguments: json.RawMessage(`{"command":` + strconv.Quote(command) + `}`), Summary: "Run " + command,
		Action: domain.Action{Command: command},
	}
}

// Sandbox runs nothing; it answers each command with its last argument.
type Sandbox struct{ Kind string }

// Name returns the kind that the test wants to be in force.
func (s Sandbox) Name() string {
	if s.Kind == "" {
		return "off"
	}
	return s.Kind
}

// Reaches is as in the real ones: without isolation a command reaches everything.
func (s Sandbox) Reaches(dir string, _ domain.Environment, _ bool) []string {
	if s.Name() == "off" {
		return []string{"/"}
	}
	return []string{dir}
}

// Keeps says that all can be kept from a command where it is isolated.
func (s Sandbox) Keeps(context.Context, string, domain.Environment, domain.Denied) error {
	if s.Name() == "off" {
		return errors.New("commands are not isolated on this server")
	}
	return nil
}

// Run echoes.
func (s Sandbox) Run(_ context.Context, command domain.Command, output io.Writer) (domain.CommandResult, error) {
	_, err := io.Copy(output, bytes.NewBufferString(command.Argv[len(command.Argv)-1]))
	return domain.CommandResult{}, err
}

// AnyTool accepts all arguments that have a command.
type AnyTool struct{}

// Describe looks for the command.
func (AnyTool) Describe(_ domain.Request, tool string, arguments json.RawMessage) (domain.ToolCall, error) {
	call := domain.ToolCall{Tool: tool, Version: "1", Class: domain.ClassExecute, Arguments: arguments}
	var a struct {
		Command string `json:"command"`
	}
	if err := json.Unmarshal(arguments, &a); err != nil || a.Command == "" {
		return call, domain.Errorf(domain.CodeInvalidArguments, "command is missing")
	}
	call.Summary, call.Action.Command = "Run "+a.Command, a.Command
	return call, nil
}

// Give announces a call that the client runs, and waits for its output.
func (t *Turn) Give(message string, call domain.ToolCall) (output string, err error) {
	if err := t.Want(message, call); err != nil {
		return "", err
	}
	return t.Host.CallClient(t.ctx, call)
}

// Delegate announces a call that delegates, if it was not announced before, and waits for its output.
func (t *Turn) Delegate(message string, call domain.ToolCall, announced bool) (output string, err error) {
	if !announced {
		if err := t.Want(message, call); err != nil {
			return "", err
		}
	}
	return t.Host.Delegate(t.ctx, call)
}

// Delegation is a call of one of the tools that delegate.
func Delegation(id, tool string, arguments any) domain.ToolCall {
	return domain.ToolCall{
		ID: id, Tool: tool, Version: "1", Class: domain.ClassDelegate, Arguments: domain.Encode(arguments), Summary: "Delegate",
	}
}

// Submit announces a call that hands in blocks, and does so.
func (t *Turn) Submit(id, blocks string) error {
	call := Blocks(id, blocks)
	if err := t.Want("m-"+id, call); err != nil {
		return err
	}
	return t.Host.SubmitBlocks(t.ctx, call, json.RawMessage(blocks))
}

// Blocks is a call that hands in blocks.
func Blocks(id, blocks string) domain.ToolCall {
	return domain.ToolCall{
		ID: id, Tool: "submit_blocks", Version: "1", Class: domain.ClassNone,
		Arguments: json.RawMessage(`{"blocks":` + blocks + `}`), Summary: "Hand in blocks",
	}
}

// Insert is a call that the client runs.
func Insert(id, after string) domain.ToolCall {
	return domain.ToolCall{
		ID: id, Tool: "insert_blocks", Version: "1", Class: domain.ClassWrite,
		Arguments: json.RawMessage(`{"after":` + strconv.Quote(after) + `}`), Summary: "Insert blocks after " + after,
	}
}
