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
	if err := s.choosable(ctx, id, options, request.Key); err != nil {
		return nil, err
	}
	prompt, replayed, err := s.sessions.Prompt(ctx, by.Tenant, id, domain.QueuedPrompt{
		Text: request.Body.Prompt, WhenBusy: api.Or(request.Body.WhenBusy, domain.WhenBusyEnqueue),
		Options: options,
	}, by.Actor, request.idempotency())
	failpoint.Hit(failpoint.HTTPPrompted)
	if err != nil {
		return nil, s.overExecution(ctx, id, err)
	}
	return acceptedJSON(toPrompt(prompt)).with(replayedHeader(replayed)), nil
}

// choosable holds the options of a prompt against what the agent has offered. One that came before under its key is not looked
// at: the agent may offer something else by now, and the first answer stands.
func (s *Server) choosable(ctx context.Context, id domain.ExecutionID, options map[string]string, key string) error {
	if len(options) == 0 {
		return nil
	}
	execution, err := s.reader.Execution(ctx, who(ctx).Tenant, id)
	if err != nil {
		return err
	}
	if key != "" {
		_, _, err := s.reader.PromptByKey(ctx, id, key)
		if err == nil || domain.CodeOf(err) != domain.CodeNotFound {
			return err
		}
	}
	if execution.Request.Source.Type != domain.SourceACP {
		return domain.Invalid("/options", "Options belong to the type acp; the internal agent has none.")
	}
	offered, err := s.reader.AgentOptions(ctx, id)
	if err != nil {
		return err
	}
	return s.agents.CheckOptions(execution.Request.Source, options, offered)
}
