package acp

import (
	"context"
	"encoding/json"

	"github.com/coder/acp-go-sdk"

	"signoff/internal/acp/wire"
	"signoff/internal/domain"
)

// elicitationAnswer is the answer to a form.
type elicitationAnswer struct {
	Action  string          `json:"action"` // accept, decline or cancel
	Content json.RawMessage `json:"content,omitempty"`
}

// elicitation puts a form of the agent's to a person. Forms are all that is offered: an address that a person should
// open comes from the agent, and is not passed on as if it came from here.
func (a *agent) elicitation(ctx context.Context, _ wire.Object, raw json.RawMessage) (any, error) {
	masked, err := a.shown(raw)
	if err != nil {
		return nil, acp.NewInvalidParams(nil)
	}
	request := wire.ReadObject(masked)
	if mode := request.Text("mode"); mode != "" && mode != "form" {
		a.translator.passOn("elicitation", masked)
		return elicitationAnswer{Action: "decline"}, nil
	}
	schema := request["requestedSchema"]
	if request.Object("requestedSchema") == nil { // it asks for nothing but a yes
		schema = json.RawMessage(`{"type":"object","properties":{}}`)
	}
	form := domain.Encode(map[string]any{"message": request.Text("message"), "schema": schema})
	c, shown, ours := a.translator.formCall(request.Text("sessionId"), request.Text("toolCallId"), form)
	answer := a.ask(ctx, domain.Question{Kind: domain.ApprovalQuestion, Call: shown, Form: form})
	a.translator.answered(c, answer.Status)
	if ours { // a refusal has its outcome from the host already
		completed := domain.ToolCallCompleted{Outcome: domain.OutcomeCancelled, Error: failureOf(domain.OutcomeCancelled)}
		if answer.Status == domain.ApprovalApproved {
			completed = domain.ToolCallCompleted{Outcome: domain.OutcomeSucceeded, Output: string(answer.Content)}
		}
		a.translator.settle(c, completed)
	}
	if withdrawn(ctx) {
		return nil, context.Canceled
	}
	return formAnswer(answer), nil
}

// formCall returns the call that a form belongs to. A form that belongs to none, or to one that waits for another
// answer, becomes a call of its own, whose outcome is then ours to tell.
func (t *translator) formCall(session, agentID string, form json.RawMessage) (c *toolCall, shown domain.ToolCall, ours bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.children[session]
	c = t.calls.known[s.key(agentID)]
	if ours = c == nil || c.ended || c.asking; ours {
		c = t.ownCall(s, "question", domain.ClassOther, form, wire.ReadObject(form).Text("message"))
	}
	c.asking = true
	return c, c.asHost(), ours
}

func formAnswer(answer domain.Answer) elicitationAnswer {
	switch answer.Status {
	case domain.ApprovalApproved:
		content := answer.Content
		if wire.ReadObject(content) == nil {
			content = json.RawMessage("{}")
		}
		return elicitationAnswer{Action: "accept", Content: content}
	case domain.ApprovalDenied:
		return elicitationAnswer{Action: "decline"}
	default:
		return elicitationAnswer{Action: "cancel"}
	}
}
