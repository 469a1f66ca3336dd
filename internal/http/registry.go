package http

import (
	"context"

	"signoff/api"
)

// ListAgents shows what can answer prompts: for now our own loop over a model.
func (s *Server) ListAgents(ctx context.Context, _ api.ListAgentsRequestObject) (api.ListAgentsResponseObject, error) {
	agent := api.Agent{
		Name:         "internal",
		Type:         api.SourceTypeInternal,
		Description:  "The built-in agent: a loop over a model of the registry, with tools that people sign off.",
		DefaultModel: textOrNull(s.models.Default()),
	}
	for _, model := range s.models.Models(ctx) {
		agent.Available = agent.Available || model.Available
	}
	if !agent.Available {
		agent.Reason = new("No model of the registry is available.")
	}
	return api.ListAgents200JSONResponse{Items: []api.Agent{agent}}, nil
}

// ListModels shows the registry without keys and addresses.
func (s *Server) ListModels(ctx context.Context, _ api.ListModelsRequestObject) (api.ListModelsResponseObject, error) {
	items := []api.Model{}
	for _, model := range s.models.Models(ctx) {
		items = append(items, toModel(model))
	}
	return api.ListModels200JSONResponse{Items: items}, nil
}
