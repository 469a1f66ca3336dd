package http

import (
	"context"
	"encoding/json"

	"signoff/api"
	"signoff/internal/admission"
	"signoff/internal/domain"
	"signoff/internal/http/contract"
	"signoff/internal/keys"
	"signoff/internal/runbooks"
)

// registryHandlers answer the routes of the registries and of the operator's settings.
type registryHandlers struct {
	agents    Agents
	models    Models
	tools     Tools
	admission *admission.Admission
	masker    Masker
	version   string // of the internal agent

	environments Environments
	servers      MCPServers
}

// listAgents returns the internal agent first, then the agents of the registry.
func (h registryHandlers) listAgents(ctx context.Context, _ struct{}) (responder, error) {
	items := append([]api.Agent{h.internalAgent(ctx)}, mapped(h.agents.Agents(ctx), toAgent)...)
	return okJSON(api.AgentPage{Items: items}), nil
}

func (h registryHandlers) internalAgent(ctx context.Context) api.Agent {
	agent := api.Agent{
		Name:         string(domain.SourceInternal),
		Type:         domain.SourceInternal,
		Description:  "The built-in agent: a loop over a model of the registry, with tools that people sign off.",
		Version:      textOrNull(h.version),
		DefaultModel: textOrNull(h.models.Default()),
	}
	for _, model := range h.models.Models(ctx) {
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

// getAgent returns one agent with its offers. If these are unknown, the agent has to be started, which only keys that may create executions
// can cause.
func (h registryHandlers) getAgent(ctx context.Context, request getAgent) (responder, error) {
	if request.Name == string(domain.SourceInternal) {
		return okJSON(h.internalAgent(ctx)), nil
	}
	found, known := h.agents.Agent(ctx, request.Name, principalOf(ctx).May(keys.ExecutionsWrite))
	if !known {
		return nil, domain.Errorf(domain.CodeNotFound, "There is no such agent.")
	}
	agent := toAgent(found.AgentInfo)
	if found.Probing {
		agent.Probing = &found.Probing
	}
	if found.Failure != nil {
		agent.ProbeFailure = &domain.Failure{Code: found.Failure.Code, Message: h.masker.MaskString(found.Failure.Message)}
	}
	if offers := found.Offers; offers != nil {
		agent.Offers = &api.AgentOffers{MediaTypes: listed(offers.MediaTypes), Version: textOrNull(offers.Version), At: api.Time(offers.At)}
		options := domain.Encode(append([]domain.AgentOption{}, offers.Options...))
		if err := json.Unmarshal(h.masker.JSON(options), &agent.Offers.Options); err != nil {
			return nil, err
		}
	}
	return okJSON(agent), nil
}

// listTools returns the tools of the internal agent.
func (h registryHandlers) listTools(context.Context, struct{}) (responder, error) {
	return okJSON(api.ToolPage{Items: mapped(h.tools.Tools(), toTool)}), nil
}

// listModels leaves keys and addresses out.
func (h registryHandlers) listModels(ctx context.Context, _ struct{}) (responder, error) {
	return okJSON(api.ModelPage{Items: mapped(h.models.Models(ctx), toModel)}), nil
}

// listEnvironments returns what commands can see of the machine, and what of it this machine can build.
func (h registryHandlers) listEnvironments(context.Context, struct{}) (responder, error) {
	return okJSON(api.EnvironmentPage{Items: h.environments.All()}), nil
}

// getSettings returns what a frontend needs before its first request: defaults, limits, features and the names in the registries.
func (h registryHandlers) getSettings(ctx context.Context, _ struct{}) (responder, error) {
	d := h.admission.Settings()
	return okJSON(api.Settings{
		Agents: mapped(h.agents.Agents(ctx), func(a AgentInfo) string { return a.Name }), Models: listed(h.models.Names()),
		DefaultModel: textOrNull(h.models.Default()), DefaultTimeoutSeconds: *d.TimeoutSeconds,
		DefaultApprovalTimeoutSeconds: *d.ApprovalTimeoutSeconds, DefaultRetryForSeconds: *d.RetryForSeconds, DefaultCheckpoints: d.Checkpoints,
		DefaultCapabilities: effectiveCapabilities(*d.Capabilities), DefaultShell: textOrNull(d.Shell),
		Features: api.Features{BlockGeneration: !d.BlockGenerationOff}, BlockTypes: listed(d.BlockTypes),
		Limits: api.Limits{
			BodyBytes: contract.MaxBody, ContextFrom: admission.MaxContextFrom, ContextBytes: admission.MaxContext, OutputsFrom: admission.MaxOutputsFrom,
			BlockTypes: runbooks.MaxTypes, ClientTools: admission.MaxClientTools,
			FileBytes: domain.MaxFileSize, PromptParts: domain.MaxPromptParts, PromptPictures: domain.MaxPromptPictures, PromptFileBytes: domain.MaxPromptBytes,
		},
	}), nil
}

func toAgent(a AgentInfo) api.Agent {
	return api.Agent{
		Name: a.Name, Type: domain.SourceACP, Description: a.Description, Available: a.Available,
		Reason: textOrNull(a.Reason), Version: textOrNull(a.Version), Mode: textOrNull(a.Mode),
		Environment: textOrNull(a.Environment),
	}
}

func toModel(m ModelInfo) api.Model {
	out := api.Model{
		Name: m.Name, Provider: m.Provider, Model: m.Model, Default: m.Default,
		Available: m.Available, Reason: textOrNull(m.Reason),
		Settings: append([]string{}, m.Settings...), Efforts: append([]domain.Effort{}, m.Efforts...),
	}
	if m.ContextWindow > 0 {
		out.ContextWindow = &m.ContextWindow
	}
	if m.MaxOutputTokens > 0 {
		out.MaxOutputTokens = &m.MaxOutputTokens
	}
	return out
}

func toTool(t ToolInfo) api.Tool {
	return api.Tool{Name: t.Name, Version: t.Version, Class: t.Class, Description: t.Description, Schema: t.Schema}
}
