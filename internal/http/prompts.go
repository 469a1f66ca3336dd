package http

import (
	"context"

	"signoff/api"
	"signoff/internal/failpoint"
)

type promptExecution struct {
	executionPath
	idempotent
	Body api.PromptExecution
}

// promptExecution queues a further prompt. It does not wait for its turn; events report it.
func (s *Server) promptExecution(ctx context.Context, request promptExecution) (responder, error) {
	by := principalOf(ctx)
	admitted, err := s.admission.AdmitPrompt(ctx, by, request.ID, request.Body, request.Key)
	if err != nil {
		return nil, err
	}
	prompt, replayed, err := s.sessions.Prompt(ctx, by.Tenant, request.ID, admitted, by.Actor, request.idempotency())
	failpoint.Hit(failpoint.AfterHTTPPrompt)
	if err != nil {
		return nil, s.attachExecution(ctx, request.ID, err)
	}
	return acceptedJSON(toPrompt(prompt)).with(replayedHeader(replayed)), nil
}
