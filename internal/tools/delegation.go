package tools

import (
	"context"
	"encoding/json"

	"signoff/internal/domain"
)

// DelegationTool is a tool whose work is done by other agents, the children of the execution. The agent's loop hands its calls to [domain.Host.Delegate].
type DelegationTool interface {
	Tool

	// Delegates marks these tools; Run only fails.
	Delegates()
}

// delegationBase is the common part of all delegation tools.
type delegationBase struct{}

// Delegates implements [DelegationTool].
func (delegationBase) Delegates() {}

// Run implements [Tool].
func (delegationBase) Run(context.Context, domain.Host, domain.ToolCall) Result {
	return failed("", domain.Errorf(domain.CodeToolFailed, "This tool is run by children of the execution, not here."))
}

const (
	maxDelegatePrompt = 200 << 10 // bytes; the arguments of a call have at most 256 KiB
	maxReason         = 2000
)

// child reads the id of a child. The session checks whether the execution has that child.
func (f *fields) child(name string) domain.ExecutionID {
	return f.childOf(name, f.text(name, 100))
}

func (f *fields) childOf(name, text string) domain.ExecutionID {
	id, err := domain.ParseExecutionID(text)
	if err != nil {
		f.wrong("The field %q must be the id of an agent that you have asked, as the tool `%s` has returned it.", name, domain.DelegateTool)
	}
	return id
}

// wait reads whether a call waits for the child; nil if the model does not say.
func (f *fields) wait() *bool {
	if _, given := f.given("wait"); !given {
		return nil
	}
	return new(f.flag("wait"))
}

// object reads a member that is an object, if it is there.
func (f *fields) object(name, form string, known []string, read func(inner *fields)) {
	raw, given := f.given(name)
	if !given {
		return
	}
	inner := &fields{members: map[string]json.RawMessage{}}
	if inner.mistake = inner.read(raw, form, known); inner.mistake == nil {
		read(inner)
	}
	if inner.mistake != nil {
		f.wrong("The field %q: %s", name, domain.FailureOf(inner.mistake).Message)
	}
}
