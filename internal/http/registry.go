package http

import (
	"context"
	"encoding/json"

	"signoff/api"
	"signoff/internal/domain"
	"signoff/internal/keys"
)

// listAgents shows what can answer prompts: first our own loop over a model, then the agents of the registry.
func (s *Server) listAgents(ctx context.Context, _ struct{}) (responder, error) {
	items := []api.Agent{s.internalAgent(ctx)}
	for _, external := range s.agents.Agents(ctx) {
		items = append(items, toAgent(external))
	}
	return okJSON(api.AgentPage{Items: items}), nil
}

func (s *Server) internalAgent(ctx context.Context) api.Agent {
	agent := api.Agent{
		Name:         string(domain.SourceInternal),
		Type:         domain.SourceInternal,
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
	return agent
}

type getAgent struct {
	Name string `path:"name"`
}

// getAgent shows one agent with what it offers. To learn that, the agent may have to be started, which is for those who may
// create executions.
func (s *Server) getAgent(ctx context.Context, request getAgent) (responder, error) {
	if request.Name == string(domain.SourceInternal) {
		return okJSON(s.internalAgent(ctx)), nil
	}
	found, known := s.agents.Agent(ctx, request.Name, who(ctx).May(keys.ExecutionsWrite))
	if !known {
		return nil, domain.Errorf(domain.CodeNotFound, "There is no such agent.")
	}
	agent := toAgent(found.AgentInfo)
	if found.Probing {
		agent.Probing = &found.Probing
	}
	if found.Failure != nil {
		agent.ProbeFailure = &domain.Failure{Code: found.Failure.Code, Message: s.masker.MaskString(found.Failure.Message)}
	}
	if offers := found.Offers; offers != nil {
		agent.Offers = &api.AgentOffers{Version: textOrNull(offers.Version), At: api.Time(offers.At)}
		options := domain.Encode(append([]domain.AgentOption{}, offers.Options...))
		if err := json.Unmarshal(s.masker.JSON(options), &agent.Offers.Options); err != nil {
			return nil, err
		}
	}
	return okJSON(agent), nil
}

// listTools shows what the internal agent can do.
func (s *Server) listTools(context.Context, struct{}) (responder, error) {
	items := []api.Tool{}
	for _, tool := range s.tools.Tools() {
		items = append(items, toTool(tool))
	}
	return okJSON(api.ToolPage{Items: items}), nil
}

// listModels shows the registry without keys and addresses.
func (s *Server) listModels(ctx context.Context, _ struct{}) (responder, error) {
	items := []api.Model{}
	for _, model := range s.models.Models(ctx) {
		items = append(items, toModel(model))
	}
	return okJSON(api.ModelPage{Items: items}), nil
}
