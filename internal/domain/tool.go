package domain

import (
	"encoding/json"
	"time"
)

// Class is the kind of power that a tool call needs; capabilities are granted per class.
type Class string

const (
	ClassRead    Class = "read"
	ClassWrite   Class = "write"
	ClassExecute Class = "execute"
	ClassOther   Class = "other" // what nobody could classify: a person is always asked
)

// Verdict is what policy says of an action.
type Verdict string

const (
	Allow Verdict = "allow"
	Ask   Verdict = "ask"
	Deny  Verdict = "deny"
)

// Capabilities bounds what an execution's tools may do, per class.
type Capabilities struct {
	Read    Verdict `json:"read"`
	Write   Verdict `json:"write"`
	Execute Verdict `json:"execute"` // deny or ask: a command is never run unseen
}

// DefaultCapabilities is what an execution has where its request says nothing.
var DefaultCapabilities = Capabilities{Read: Allow, Write: Ask, Execute: Ask}

// Of returns the verdict for class; a class that nobody granted is denied.
func (c Capabilities) Of(class Class) Verdict {
	switch class {
	case ClassRead:
		return c.Read
	case ClassWrite:
		return c.Write
	case ClassOther:
		return Ask
	case ClassExecute:
		return c.Execute
	default:
		return Deny
	}
}

// ToolCall is one request of the agent to do something.
type ToolCall struct {
	ID        string          // unique within the execution
	Tool      string          // registered name
	Version   string          // of the tool; part of the arguments' hash
	Class     Class           // the power that it needs
	Arguments json.RawMessage // one JSON object
	Summary   string          // what would happen, in a sentence for a person
}

// Fate is what became of a tool call. Each call has exactly one.
type Fate string

const (
	FateSucceeded      Fate = "succeeded"
	FateFailed         Fate = "failed"         // it ran and failed, or could not be run at all
	FateDenied         Fate = "denied"         // a person or the policy said no
	FateExpired        Fate = "expired"        // nobody answered in time; never a human no
	FateCancelled      Fate = "cancelled"      // the execution ended first
	FateOutcomeUnknown Fate = "outcomeUnknown" // it may have run when the process died; never run again unasked
)

// Command is a child process that a tool wants to run inside the workspace.
type Command struct {
	Argv    []string      // Argv[0] is looked up on the sandbox's PATH
	Dir     string        // absolute; the only folder that the child may write to. Empty: the host fills it in
	Env     []string      // further environment of the child, NAME=value; never the server's own
	Timeout time.Duration // 0 = until the context ends
}

// CommandResult is how a command ended.
type CommandResult struct {
	ExitCode int // as the shell tells it: 128 + signal for a killed process
	TimedOut bool
	Duration time.Duration
}
