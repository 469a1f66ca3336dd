package http

import (
	"context"

	"signoff/api"
	"signoff/internal/domain"
	"signoff/internal/failpoint"
)

// PromptExecution takes a further prompt in. It does not wait for its turn: the events tell of that.
func (s *Server) PromptExecution(ctx context.Context, request api.PromptExecutionRequestObject) (api.PromptExecutionResponseObject, error) {
	id, err := executionID(request.Id)
	if err != nil {
		return nil, err
	}
	by := who(ctx)
	prompt, replayed, err := s.sessions.Prompt(ctx, by.Tenant, id, domain.QueuedPrompt{
		Text: request.Body.Prompt, WhenBusy: domain.WhenBusy(value(request.Body.WhenBusy, api.WhenBusyEnqueue)),
	}, by.Actor, idempotency(ctx, request.Params.IdempotencyKey))
	failpoint.Hit(failpoint.HTTPPrompted)
	if err != nil {
		return nil, s.overExecution(ctx, id, err)
	}
	response := api.PromptExecution202JSONResponse{Body: toPrompt(prompt)}
	if replayed {
		response.Headers.IdempotencyReplayed = new("true")
	}
	return response, nil
}
