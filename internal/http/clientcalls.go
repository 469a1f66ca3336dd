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
	named
	Body api.ToolResult
}

// answerToolCall hands in what came of a call that the client has run. One answer wins.
func (s *Server) answerToolCall(ctx context.Context, request answerToolCall) (responder, error) {
	id, err := domain.ParseExecutionID(request.ID)
	if err != nil {
		return nil, err
	}
	by := who(ctx)
	answer, err := toClientAnswer(request.Body, by.Actor)
	if err != nil {
		return nil, err
	}
	call, err := s.sessions.AnswerClient(ctx, by.Tenant, id, request.Body.ToolCallId, answer)
	failpoint.Hit(failpoint.AfterHTTPAnswer)
	if err != nil {
		return nil, overCall(ctx, call, err)
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

// overCall adds the call to an error about its state, so that a client that came late sees what counts. It holds what the
// model wanted and what another client said, which is for those who may read.
func overCall(ctx context.Context, call domain.ClientCall, err error) error {
	if !who(ctx).May(keys.ExecutionsRead) {
		return err
	}
	switch domain.CodeOf(err) {
	case domain.CodeAlreadyAnswered, domain.CodeCallEnded:
		shown := toClientCall(call)
		return &conflict{error: err, toolCall: &shown}
	default:
		return err
	}
}
