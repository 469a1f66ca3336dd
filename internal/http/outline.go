package http

import (
	"context"

	"signoff/api"
	"signoff/internal/domain"
	"signoff/internal/keys"
)

// This file is what a key sees that may change executions, but not read them. It is told how far an execution is, so that
// it knows what to do next, and nothing of what was said in it: otherwise a conflict would be a way to read.

// shownTo is the execution as the sender of a request may see it.
func (s *Server) shownTo(ctx context.Context, execution domain.Execution) (api.Execution, error) {
	shown, err := s.shown(ctx, execution)
	if !who(ctx).May(keys.ExecutionsRead) {
		shown = outline(shown)
	}
	return shown, err
}

// outline leaves out what people, agents and tools have said.
func outline(e api.Execution) api.Execution {
	e.Prompt, e.SystemPrompt, e.Instructions, e.Messages = nil, nil, nil, nil
	e.OutputSchema, e.Output, e.Block, e.AgentSession = nil, nil, nil, nil
	e.ContextFrom, e.OutputsFrom, e.Metadata = []string{}, map[string]string{}, map[string]string{}
	e.PendingApprovals, e.PendingToolCalls = []api.ApprovalSummary{}, []api.ClientCallSummary{}
	return e
}
