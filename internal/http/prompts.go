package http

import (
	"context"

	"signoff/api"
	"signoff/internal/domain"
	"signoff/internal/failpoint"
)

type promptExecution struct {
	named
	idempotent
	Body api.PromptExecution
}

// promptExecution takes a further prompt in. It does not wait for its turn: the events tell of that.
func (s *Server) promptExecution(ctx context.Context, request promptExecution) (responder, error) {
	id, err := domain.ParseExecutionID(request.ID)
	if err != nil {
		return nil, err
	}
	by := who(ctx)
	options := request.Body.Options
	if err := s.admission.AdmitPrompt(ctx, by, id, options, request.Key); err != nil {
		return nil, err
	}
	prompt, replayed, err := s.sessions.Prompt(ctx, by.Tenant, id, domain.QueuedPrompt{
		Text: request.Body.Prompt, WhenBusy: api.Or(request.Body.WhenBusy, domain.WhenBusyEnqueue),
		Options: options,
	}, by.Actor, request.idempotency())
	failpoint.Hit(failpoint.AfterHTTPPrompt)
	if err != nil {
		return nil, s.overExecution(ctx, id, err)
	}
	return acceptedJSON(toPrompt(prompt)).with(replayedHeader(replayed)), nil
}
