package http

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"signoff/api"
	"signoff/internal/admission"
	"signoff/internal/domain"
	"signoff/internal/store"
)

type listRunbooks struct{ paged }

// listRunbooks returns the runbooks that executions have named, each with its newest execution; the runbook that was used last comes first.
func (s *Server) listRunbooks(ctx context.Context, request listRunbooks) (responder, error) {
	page, err := s.reader.Executions(ctx, principalOf(ctx).Tenant, store.ExecutionFilter{Latest: store.LatestOfRunbook, Cursor: request.Cursor, Limit: request.Limit})
	return okJSON(api.RunbookPage{Items: mapped(page.Items, toUsedRunbook), NextCursor: textOrNull(page.Next)}), err
}

func toUsedRunbook(last domain.Execution) api.UsedRunbook {
	return api.UsedRunbook{RunbookId: last.Request.RunbookID, LastExecution: api.RunbookExecution{
		Id: string(last.ID), Status: last.Status, Kind: cmp.Or(last.Request.Kind, domain.KindAgent), Block: last.Request.Block, Cost: last.Usage.Cost,
		CreatedAt: api.Time(last.Created), EndedAt: timeOrNull(last.Ended),
	}}
}

type listOutputs struct {
	ID string `path:"id"`
	paged
}

// listOutputs returns what a template of the runbook may name: of each block the output of its newest execution that has ended, and the variables of
// the newest executions.
func (s *Server) listOutputs(ctx context.Context, request listOutputs) (responder, error) {
	tenant := principalOf(ctx).Tenant
	page, err := s.reader.Executions(ctx, tenant, store.ExecutionFilter{
		RunbookID: request.ID, Latest: store.LatestOfBlock, Cursor: request.Cursor, Limit: request.Limit,
	})
	if err != nil {
		return nil, err
	}
	out := api.TemplateNamePage{Items: mapped(page.Items, toBlockOutput), Variables: []api.TemplateVariable{}, NextCursor: textOrNull(page.Next)}
	if request.Cursor != "" {
		return okJSON(out), nil
	}
	newest, err := s.reader.Executions(ctx, tenant, store.ExecutionFilter{RunbookID: request.ID, Limit: variableSources})
	out.Variables = variablesOf(newest.Items)
	return okJSON(out), err
}

// variableSources is how many executions of a runbook are read for their variables.
const variableSources = 50

// variablesOf lists the variables of executions by name. The executions come with the newest first, and the newest value of a name counts.
func variablesOf(newestFirst []domain.Execution) []api.TemplateVariable {
	found := map[string]api.TemplateVariable{}
	for _, execution := range slices.Backward(newestFirst) {
		for name, kept := range execution.Request.Variables {
			found[name] = api.TemplateVariable{
				Scope: api.TemplateVariableScopeVariable, Name: name, Type: api.ValueType(kept.Type), Value: kept.Value, ExecutionId: string(execution.ID),
			}
		}
	}
	list := []api.TemplateVariable{}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		list = append(list, found[name])
	}
	return list
}

// toBlockOutput lists the keys of an output as templates see them.
func toBlockOutput(ended domain.Execution) api.BlockOutput {
	out := api.BlockOutput{
		Scope:   api.BlockOutputScopeOutput,
		BlockId: ended.Request.Block.ID, Name: ended.Request.Block.Name, ExecutionId: string(ended.ID), EndedAt: timeOrNull(ended.Ended), Keys: []api.OutputKey{},
	}
	value := admission.OutputValue(ended)
	for _, name := range slices.Sorted(maps.Keys(value)) {
		encoded := domain.Encode(value[name])
		out.Keys = append(out.Keys, api.OutputKey{Name: name, Type: api.ValueType(admission.JSONType(encoded)), Value: admission.ShortValue(encoded)})
	}
	return out
}
