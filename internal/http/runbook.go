package http

import (
	"cmp"
	"slices"

	"signoff/api"
	"signoff/internal/domain"
)

// addRunbook adds the runbook of an execution.
func addRunbook(out *api.Execution, r domain.Request) {
	out.Warnings = append([]domain.Detail{}, r.Warnings...)
	out.Kind = cmp.Or(r.Kind, domain.KindAgent)
	out.Block = r.Block
	out.ContextFrom = mapped(r.ContextFrom, func(id domain.ExecutionID) api.ContextSource {
		source := api.ContextSource{ExecutionID: string(id)}
		if slices.Contains(r.ContextCalls, id) {
			source.Include = api.IncludeToolCalls
		}
		return source
	})
	out.OutputsFrom = map[string]string{}
	for name, id := range r.OutputsFrom {
		out.OutputsFrom[name] = string(id)
	}
	out.OutputSchema = jsonOrNull(r.OutputSchema)
}

func toCallSummary(c domain.ClientCall) api.ClientCallSummary {
	return api.ClientCallSummary{
		ToolCallId: c.ToolCallID, Tool: c.Tool, Arguments: c.Arguments, Status: callStatus(c.State),
		RequestedAt: api.Time(c.Asked), ExpiresAt: timeOrNull(c.Expires),
	}
}

func toClientCall(c domain.ClientCall) api.ClientCall {
	out := api.ClientCall{
		ExecutionId: string(c.Execution), ToolCallId: c.ToolCallID, Tool: c.Tool, Arguments: c.Arguments, Status: callStatus(c.State),
		RequestedAt: api.Time(c.Asked), ExpiresAt: timeOrNull(c.Expires),
	}
	if c.Answer == nil {
		return out
	}
	out.Answer = &api.ClientAnswer{AnsweredBy: c.Answer.By, Error: textOrNull(c.Answer.Error)}
	if c.Answer.Error == "" {
		out.Answer.Output = &c.Answer.Output
	}
	return out
}

func callStatus(state domain.ClientCallState) api.ClientCallStatus {
	if state == domain.ClientCallWaiting {
		return api.ClientCallStatusWaitingForClient
	}
	return api.ClientCallStatus(state)
}

func toGeneration(g domain.Generation) api.Generation {
	return api.Generation{
		Number: g.Number, State: g.State, Turn: g.Turn, ToolCallId: g.ToolCallID, Blocks: g.Blocks, AcceptedBy: g.By,
		DocumentRevision: textOrNull(g.DocumentRevision), CreatedAt: api.Time(g.Created), DecidedAt: timeOrNull(g.Decided),
	}
}
