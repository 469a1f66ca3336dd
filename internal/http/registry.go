package http

import (
	"context"

	"signoff/api"
)

// ListAgents shows what can answer prompts: first our own loop over a model, then the agents of the registry.
func (s *Server) ListAgents(ctx context.Context, _ api.ListAgentsRequestObject) (api.ListAgentsResponseObject, error) {
	agent := api.Agent{
		Name:         "internal",
		Type:         api.SourceTypeInternal,
		Description:  "The built-in agent: a loop over a model of the registry, with tools that people sign off.",
		Version:      textOrNull(s.version),
		DefaultModel: textOrNull(s.models.Default()),
	}
	for _, model := range s.models.Models(ctx) {
		agent.Available = agent.Available || model.Available
	}
	if !agent.Available {
		agent.Reason = new("No model of the registry is available.")
	}
	items := []api.Agent{agent}
	for _, external := range s.agents.Agents(ctx) {
		items = append(items, toAgent(external))
	}
	return api.ListAgents200JSONResponse{Items: items}, nil
}

// ListTools shows what the internal agent can do.
func (s *Server) ListTools(context.Context, api.ListToolsRequestObject) (api.ListToolsResponseObject, error) {
	items := []api.Tool{}
	for _, tool := range s.tools.Tools() {
		items = append(items, toTool(tool))
	}
	return api.ListTools200JSONResponse{Items: items}, nil
}

// ListModels shows the registry without keys and addresses.
func (s *Server) ListModels(ctx context.Context, _ api.ListModelsRequestObject) (api.ListModelsResponseObject, error) {
	items := []api.Model{}
	for _, model := range s.models.Models(ctx) {
		items = append(items, toModel(model))
	}
	return api.ListModels200JSONResponse{Items: items}, nil
}
