package http

import (
	"context"

	"signoff/api"
	"signoff/internal/domain"
	"signoff/internal/keys"
)

// permittedView is the view of an execution for a key that may change executions. A key without the scope to read them sees how far
// the execution is, so that it knows what to do next, and nothing of what was said; otherwise a conflict would be a way to read.
func (s *Server) permittedView(ctx context.Context, execution domain.Execution) (api.Execution, error) {
	view, err := s.view(ctx, execution)
	if !principalOf(ctx).May(keys.ExecutionsRead) {
		redact(&view)
	}
	return view, err
}

// redact removes what people, agents and tools have said.
func redact(e *api.Execution) {
	e.Prompt, e.SystemPrompt, e.Instructions, e.Messages = nil, nil, nil, nil
	e.Parts = nil
	e.OutputSchema, e.Output, e.Block, e.AgentSession = nil, nil, nil, nil
	e.ContextFrom, e.OutputsFrom, e.Metadata = []api.ContextSource{}, map[string]string{}, map[string]string{}
	e.PendingApprovals, e.PendingToolCalls = []api.ApprovalSummary{}, []api.ClientCallSummary{}
}
