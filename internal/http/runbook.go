package http

import (
	"cmp"
	"encoding/json"
	"slices"

	"signoff/api"
	"signoff/internal/domain"
)

// This file is a request's runbook, between the contract's shapes and the domain's.

func toDocument(body *api.RunbookDocument) *domain.Document {
	if body == nil {
		return nil
	}
	return &domain.Document{Revision: value(body.Revision, ""), Blocks: body.Blocks}
}

// holds tells whether a block is in a document. Where blocks have no ids nobody can tell.
func holds(document *api.RunbookDocument, block string) bool {
	var blocks any
	if json.Unmarshal(document.Blocks, &blocks) != nil { // unreachable: the body was read before
		return true
	}
	ids := blockIDs(blocks)
	return len(ids) == 0 || slices.Contains(ids, block)
}

func toBlockType(body api.BlockType) domain.BlockType {
	return domain.BlockType{
		Type: body.Type, Description: value(body.Description, ""), Docs: value(body.Docs, ""), PropsSchema: body.PropsSchema,
	}
}

func toClientTool(body api.ClientTool) domain.ClientTool {
	return domain.ClientTool{
		Name: body.Name, Description: body.Description, Schema: body.Schema,
		Class: domain.Class(value(body.Class, api.ClientToolClassWrite)),
	}
}

// ——— out ———

func showRunbook(out *api.Execution, r domain.Request) {
	out.Kind = api.ExecutionKind(cmp.Or(r.Kind, domain.KindAgent))
	if r.Block != nil {
		out.Block = &api.BlockName{Id: r.Block.ID, Name: r.Block.Name}
	}
	out.ContextFrom = []string{}
	for _, id := range r.ContextFrom {
		out.ContextFrom = append(out.ContextFrom, string(id))
	}
	out.OutputsFrom = map[string]string{}
	for name, id := range r.OutputsFrom {
		out.OutputsFrom[name] = string(id)
	}
	out.OutputSchema = jsonOrNull(r.OutputSchema)
}

func fromBlockType(t domain.BlockType) api.BlockType {
	return api.BlockType{
		Type: t.Type, Description: textOrNull(t.Description), Docs: textOrNull(t.Docs), PropsSchema: t.PropsSchema,
	}
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
	out.Answer = &api.ClientAnswer{AnsweredBy: toActor(c.Answer.By), Error: textOrNull(c.Answer.Error)}
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
	out := api.Generation{
		Number: g.Number, State: api.GenerationState(g.State), Turn: g.Turn, ToolCallId: g.ToolCallID, Blocks: g.Blocks,
		DocumentRevision: textOrNull(g.DocumentRevision), CreatedAt: api.Time(g.Created), DecidedAt: timeOrNull(g.Decided),
	}
	if g.By != nil {
		by := toActor(*g.By)
		out.AcceptedBy = &by
	}
	return out
}

// generationSummary is a generation in short, nil where there is none.
func generationSummary(g *domain.Generation) *api.GenerationSummary {
	if g == nil {
		return nil
	}
	return &api.GenerationSummary{Number: g.Number, State: api.GenerationState(g.State)}
}

func toActor(a domain.Actor) api.Actor { return api.Actor{KeyId: a.KeyID, Name: a.Name} }
