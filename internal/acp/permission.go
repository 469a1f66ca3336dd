package acp

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/coder/acp-go-sdk"

	"signoff/internal/acp/wire"
	"signoff/internal/domain"
)

// permissionAnswer is the answer to a permission request: an option of the agent's by its id, or that nobody will say.
type permissionAnswer struct {
	Outcome permissionOutcome `json:"outcome"`
}

type permissionOutcome struct {
	Outcome  string `json:"outcome"` // selected or cancelled
	OptionID string `json:"optionId,omitempty"`
}

var permissionCancelled = permissionAnswer{permissionOutcome{Outcome: "cancelled"}}

// permission asks a person about a call of the agent's. The options go there and come back as they are: only the agent
// knows what each of them does, whatever it says of their kind.
func (a *agent) permission(ctx context.Context, sent wire.Object, raw json.RawMessage) (any, error) {
	masked, err := a.shown(raw)
	if err != nil {
		return nil, acp.NewInvalidParams(nil)
	}
	request := wire.ReadObject(masked)
	call := request["toolCall"]
	c := a.translator.ask(request.Text("sessionId"), wire.ReadObject(call), call)
	if !slices.ContainsFunc(request.Objects("options"), func(option wire.Object) bool { return option.Text("optionId") != "" }) {
		a.translator.passOn("malformed", masked)
		a.translator.answered(c, domain.ApprovalCancelled)
		return permissionCancelled, nil
	}
	if input := wire.ReadObject(call)["rawInput"]; wire.ReadObject(input) != nil && len(wire.ReadObject(input)) == 0 {
		a.translator.awaitInput(ctx, c)
	}
	answer := a.ask(ctx, domain.Question{
		Kind: domain.ApprovalAgentPermission, Call: a.translator.inQuestion(c), Options: request["options"],
	})
	a.translator.answered(c, answer.Status)
	switch {
	case withdrawn(ctx):
		return nil, context.Canceled
	case answer.OptionID == "":
		return permissionCancelled, nil
	default:
		return permissionAnswer{permissionOutcome{Outcome: "selected", OptionID: a.sentOption(sent, answer.OptionID)}}, nil
	}
}

// inputGrace is how long a question waits for the input of its call. OpenCode asks about a tool of an MCP server with an
// empty input, and tells the real one about 100 ms later; a tool without parameters has none.
const inputGrace = time.Second

// awaitInput waits until the agent has said what the call gets, at most for inputGrace.
func (t *translator) awaitInput(ctx context.Context, c *toolCall) {
	t.mu.Lock()
	if len(wire.ReadObject(c.arguments)) > 0 {
		t.mu.Unlock()
		return
	}
	if c.informed == nil {
		c.informed = make(chan struct{})
	}
	informed := c.informed
	t.mu.Unlock()
	late := time.NewTimer(inputGrace)
	defer late.Stop()
	select {
	case <-informed:
	case <-late.C:
	case <-ctx.Done():
	}
}

// ask puts a question to a person. Where it cannot be put, or nobody waits for the answer any more, nobody answers.
func (a *agent) ask(ctx context.Context, question domain.Question) domain.Answer {
	question.Isolated = a.config.Process.Environment.Isolated()
	answer, err := a.translator.currentHost().Ask(ctx, question)
	if err != nil {
		return domain.Answer{Status: domain.ApprovalCancelled}
	}
	return answer
}

// withdrawn tells whether the agent does not want the answer any more. A turn that we cancel is something else: then it
// wants to hear that nobody will say.
func withdrawn(ctx context.Context) bool {
	return ctx.Err() != nil && context.Cause(ctx) != errTurnCancelled //nolint:errorlint // the very cause that service sets
}
