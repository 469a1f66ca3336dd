package http

import (
	"context"
	"encoding/json"

	"signoff/api"
	"signoff/internal/domain"
	"signoff/internal/failpoint"
	"signoff/internal/keys"
)

type answerToolCall struct {
	executionPath
	Body api.ToolResult
}

// answerToolCall takes the result of a call that the client has run. The first result wins.
func (s *Server) answerToolCall(ctx context.Context, request answerToolCall) (responder, error) {
	by := principalOf(ctx)
	answer, err := toClientAnswer(request.Body, by.Actor)
	if err != nil {
		return nil, err
	}
	call, err := s.sessions.AnswerClient(ctx, by.Tenant, request.ID, request.Body.ToolCallId, answer)
	failpoint.Hit(failpoint.AfterHTTPAnswer)
	if err != nil {
		return nil, attachCall(ctx, call, err)
	}
	return okJSON(toClientCall(call)), nil
}

func toClientAnswer(body api.ToolResult, by domain.Actor) (domain.ClientAnswer, error) {
	if (body.Output == nil) == (body.Error == nil) {
		return domain.ClientAnswer{}, domain.Invalid("/output", "Send exactly one of output and error.")
	}
	answer := domain.ClientAnswer{Output: string(body.Output), Error: api.Or(body.Error, ""), By: by}
	var text string
	if body.Output != nil && string(body.Output) != "null" && json.Unmarshal(body.Output, &text) == nil {
		answer.Output = text
	}
	return answer, nil
}

// attachCall adds the call to an error about its state, so that a late client sees the result that counts. The call holds arguments of
// the model and the result of another client, so only keys that may read executions get it.
func attachCall(ctx context.Context, call domain.ClientCall, err error) error {
	code := domain.CodeOf(err)
	if (code == domain.CodeAlreadyAnswered || code == domain.CodeCallEnded) && principalOf(ctx).May(keys.ExecutionsRead) {
		return &conflict{error: err, toolCall: new(toClientCall(call))}
	}
	return err
}
