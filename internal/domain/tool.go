package domain

import (
	"cmp"
	"encoding/json"
	"time"
)

// Class is the kind of power that a tool call needs; capabilities are granted per class.
type Class string

const (
	ClassRead     Class = "read"
	ClassWrite    Class = "write"
	ClassExecute  Class = "execute"
	ClassNetwork  Class = "network"
	ClassMCP      Class = "mcp"      // a tool of an MCP server: what it does is the server's
	ClassDelegate Class = "delegate" // another agent does it
	ClassHost     Class = "host"     // on the host, without isolation; beside the class of the call itself
	ClassNone     Class = "none"     // nothing outside of the conversation: nobody needs to be asked
	ClassOther    Class = "other"    // what nobody could classify: a person is always asked
)

// Classes are those that capabilities grant.
var Classes = []Class{ClassRead, ClassWrite, ClassExecute, ClassNetwork, ClassMCP, ClassDelegate, ClassHost}

// Verdict is what policy says of an action.
type Verdict string

const (
	Allow Verdict = "allow"
	Ask   Verdict = "ask"
	Deny  Verdict = "deny"
)

// Capabilities bounds what an execution's tools may do, per class.
type Capabilities struct {
	Read     Verdict `json:"read"`
	Write    Verdict `json:"write"`
	Execute  Verdict `json:"execute"`
	Network  Verdict `json:"network"`
	MCP      Verdict `json:"mcp"`
	Delegate Verdict `json:"delegate"`
	Host     Verdict `json:"host"` // deny or ask
}

// strictness orders the verdicts. Any other word is as strict as deny.
var strictness = map[Verdict]int{Ask: 1, Allow: 2}

// Exceeds reports whether a verdict permits more than another one.
func (v Verdict) Exceeds(most Verdict) bool { return strictness[v] > strictness[most] }

// Within returns the capabilities bounded by others, class by class.
func (c Capabilities) Within(most Capabilities) Capabilities {
	for _, class := range Classes {
		if verdict := most.Of(class); c.Of(class).Exceeds(verdict) {
			*c.field(class) = verdict
		} else {
			*c.field(class) = c.Of(class)
		}
	}
	return c
}

// With returns the capabilities with another verdict for some classes.
func (c Capabilities) With(verdicts map[Class]Verdict) Capabilities {
	for _, class := range Classes {
		if verdict, named := verdicts[class]; named {
			*c.field(class) = verdict
		}
	}
	return c
}

// field is the verdict of one of [Classes].
func (c *Capabilities) field(class Class) *Verdict {
	return map[Class]*Verdict{
		ClassRead: &c.Read, ClassWrite: &c.Write, ClassExecute: &c.Execute, ClassNetwork: &c.Network, ClassMCP: &c.MCP,
		ClassDelegate: &c.Delegate, ClassHost: &c.Host,
	}[class]
}

// DefaultCapabilities is what an execution has where its request says nothing.
var DefaultCapabilities = Capabilities{Read: Allow, Write: Ask, Execute: Ask, Network: Ask, MCP: Ask, Delegate: Ask, Host: Ask}

// Of returns the verdict for class; a class that nobody granted is denied.
func (c Capabilities) Of(class Class) Verdict {
	switch class {
	case ClassRead:
		return c.Read
	case ClassWrite:
		return c.Write
	case ClassExecute:
		return c.Execute
	case ClassNetwork:
		return cmp.Or(c.Network, Ask) // a request that was stored before there was this class says nothing
	case ClassMCP:
		return cmp.Or(c.MCP, Ask)
	case ClassDelegate:
		return cmp.Or(c.Delegate, Ask)
	case ClassHost:
		if c.Host == Deny {
			return Deny
		}
		return Ask // no request and no setting allows what runs without isolation
	case ClassNone:
		return Allow
	case ClassOther:
		return Ask
	default:
		return Deny
	}
}

// ToolCall is one request of the agent to do something.
type ToolCall struct {
	ID          string          // unique within the execution
	Tool        string          // registered name
	Version     string          // of the tool; part of the arguments' hash
	Class       Class           // the power that it needs
	Arguments   json.RawMessage // one JSON object
	Summary     string          // what would happen, in a sentence for a person
	Description string          // of the tool, in a sentence; empty: nobody has described it. The log does not have it
	Action      Action          // what it would touch; made from the arguments, so it is not stored
	MCP         *MCPTool        // of a call for the tool of an MCP server; nil for all others

	// Edited are the arguments with which the call has started, where a person has changed them; nil elsewhere. Only a [Transcript] has them: a call
	// whose start was lost with its process goes on with these.
	Edited json.RawMessage
}

// Action is what a tool call would touch, in the terms that policy judges: the same for our own tools, for those of MCP
// servers, and for what external agents ask.
type Action struct {
	Paths   []string // files and folders that it reads or writes; absolute
	Command string   // a line for the shell; empty where none runs
	Hosts   []string // that it connects to: names or addresses, without a port
	Server  string   // the MCP server whose tool it is
	Secrets []string // the names of the secrets that it is given
}

// Outcome is how a tool call ended. Each call has exactly one.
type Outcome string

const (
	OutcomeSucceeded Outcome = "succeeded"
	OutcomeFailed    Outcome = "failed"         // it ran and failed, or could not be run at all
	OutcomeDenied    Outcome = "denied"         // a person or the policy said no
	OutcomeExpired   Outcome = "expired"        // nobody answered in time; never a human no
	OutcomeCancelled Outcome = "cancelled"      // the execution ended first
	OutcomeUnknown   Outcome = "outcomeUnknown" // it may have run when the process died; never run again unasked
)

// Command is a child process that a tool wants to run inside the workspace.
type Command struct {
	Argv    []string      // Argv[0] is looked up on the sandbox's PATH
	Dir     string        // absolute; the only folder that the child may write to. Empty: the host fills it in
	Env     []string      // further environment of the child, NAME=value; never the server's own
	Secrets []string      // names of secrets that the host puts into Env; a sandbox sees none of these
	Hosts   []string      // that the child may connect to: names, *.names, or * for every public one; empty: no network
	Timeout time.Duration // 0 = until the context ends

	Environment Environment // the zero value shows the workspace alone

	Tool     string   // whose call runs it; empty: permission rules about any tool hold for it
	Approved bool     // a person has said yes to the call that runs it
	Denied   []Denied // what the sandbox keeps it from; the host fills it in
}

// Denied is a file, or a folder with its content, that a command cannot reach.
type Denied struct {
	Path   string // absolute
	Hidden bool   // it cannot be read either
}

// CommandResult is how a command ended.
type CommandResult struct {
	ExitCode int // as a shell reports it: 128 + signal for a killed process
	TimedOut bool
	Duration time.Duration
	Notes    []string // Signoff's own words on what the command was refused, a sentence each
}
