package http

import (
	"cmp"
	"context"

	"signoff/api"
	"signoff/internal/domain"
	"signoff/internal/http/contract"
)

// Settings is what the operator has set for requests: what holds where they say nothing, and what there is for them.
type Settings struct {
	TimeoutSeconds         *int                 // nil: 300; 0: none
	ApprovalTimeoutSeconds *int                 // nil: 3600; 0: for ever
	RetryForSeconds        *int                 // nil: 3600; 0: nothing is repeated
	Capabilities           *domain.Capabilities // nil: [domain.DefaultCapabilities]
	Shell                  string               // empty: unknown
	BlockTypes             []domain.BlockType
	BlockGenerationOff     bool
}

const (
	defaultTimeout         = 300
	defaultApprovalTimeout = 3600
	defaultRetryFor        = 3600
)

// filled has the defaults in the place of zero values.
func (d Settings) filled() Settings {
	d.TimeoutSeconds = cmp.Or(d.TimeoutSeconds, new(defaultTimeout))
	d.ApprovalTimeoutSeconds = cmp.Or(d.ApprovalTimeoutSeconds, new(defaultApprovalTimeout))
	d.RetryForSeconds = cmp.Or(d.RetryForSeconds, new(defaultRetryFor))
	if d.Capabilities == nil {
		d.Capabilities = &domain.DefaultCapabilities
	}
	return d
}

// getSettings shows what a frontend needs to know before it asks for anything. What the registries hold beside names is in
// their own lists.
func (s *Server) getSettings(ctx context.Context, _ struct{}) (responder, error) {
	d := s.defaults
	out := api.Settings{
		Agents: []string{}, Models: append([]string{}, s.models.Names()...), DefaultModel: textOrNull(s.models.Default()),
		DefaultTimeoutSeconds: *d.TimeoutSeconds, DefaultApprovalTimeoutSeconds: *d.ApprovalTimeoutSeconds,
		DefaultRetryForSeconds: *d.RetryForSeconds,
		DefaultCapabilities:    shownCapabilities(*d.Capabilities), DefaultShell: textOrNull(d.Shell),
		Features: api.Features{BlockGeneration: !d.BlockGenerationOff}, BlockTypes: listed(d.BlockTypes),
		Limits: api.Limits{
			BodyBytes: contract.MaxBody, ContextFrom: maxContextFrom, ContextBytes: maxContext, OutputsFrom: maxOutputsFrom,
			BlockTypes: maxBlockTypes, ClientTools: maxClientTools,
		},
	}
	for _, agent := range s.agents.Agents(ctx) {
		out.Agents = append(out.Agents, agent.Name)
	}
	return okJSON(out), nil
}
