package http

import (
	"context"

	"signoff/api"
	"signoff/internal/admission"
	"signoff/internal/http/contract"
	"signoff/internal/runbooks"
)

// getSettings shows what a frontend needs to know before it asks for anything. What the registries hold beside names is in
// their own lists.
func (s *Server) getSettings(ctx context.Context, _ struct{}) (responder, error) {
	d := s.admission.Settings()
	out := api.Settings{
		Agents: []string{}, Models: append([]string{}, s.models.Names()...), DefaultModel: textOrNull(s.models.Default()),
		DefaultTimeoutSeconds: *d.TimeoutSeconds, DefaultApprovalTimeoutSeconds: *d.ApprovalTimeoutSeconds,
		DefaultRetryForSeconds: *d.RetryForSeconds,
		DefaultCapabilities:    shownCapabilities(*d.Capabilities), DefaultShell: textOrNull(d.Shell),
		Features: api.Features{BlockGeneration: !d.BlockGenerationOff}, BlockTypes: listed(d.BlockTypes),
		Limits: api.Limits{
			BodyBytes: contract.MaxBody, ContextFrom: admission.MaxContextFrom, ContextBytes: admission.MaxContext, OutputsFrom: admission.MaxOutputsFrom,
			BlockTypes: runbooks.MaxTypes, ClientTools: admission.MaxClientTools,
		},
	}
	for _, agent := range s.agents.Agents(ctx) {
		out.Agents = append(out.Agents, agent.Name)
	}
	return okJSON(out), nil
}
