package http

import (
	"cmp"
	"context"
	"encoding/json"
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

// listOutputs returns the outputs that a template of the runbook may name: of each block the newest execution that has ended.
func (s *Server) listOutputs(ctx context.Context, request listOutputs) (responder, error) {
	page, err := s.reader.Executions(ctx, principalOf(ctx).Tenant, store.ExecutionFilter{
		RunbookID: request.ID, Latest: store.LatestOfBlock, Cursor: request.Cursor, Limit: request.Limit,
	})
	return okJSON(api.BlockOutputPage{Items: mapped(page.Items, toBlockOutput), NextCursor: textOrNull(page.Next)}), err
}

// toBlockOutput lists the keys of an output as templates see them.
func toBlockOutput(ended domain.Execution) api.BlockOutput {
	out := api.BlockOutput{
		BlockId: ended.Request.Block.ID, Name: ended.Request.Block.Name, ExecutionId: string(ended.ID), EndedAt: timeOrNull(ended.Ended), Keys: []api.OutputKey{},
	}
	value := admission.OutputValue(ended)
	for _, name := range slices.Sorted(maps.Keys(value)) {
		encoded := domain.Encode(value[name])
		out.Keys = append(out.Keys, api.OutputKey{Name: name, Type: jsonType(encoded), Value: shortValue(encoded)})
	}
	return out
}

// jsonType names the type of a JSON value.
func jsonType(value json.RawMessage) api.OutputKeyType {
	switch value[0] {
	case '"':
		return api.OutputKeyTypeString
	case '{':
		return api.OutputKeyTypeObject
	case '[':
		return api.OutputKeyTypeArray
	case 't', 'f':
		return api.OutputKeyTypeBoolean
	case 'n':
		return api.OutputKeyTypeNull
	default:
		return api.OutputKeyTypeNumber
	}
}

const maxShownValue = 200 // characters of a value in a list of outputs

// shortValue is a value as a list of completions shows it: a text as it is, all others as JSON.
func shortValue(value json.RawMessage) string {
	shown := string(value)
	var text string
	if json.Unmarshal(value, &text) == nil && value[0] == '"' {
		shown = text
	}
	if runes := []rune(shown); len(runes) > maxShownValue {
		return string(runes[:maxShownValue]) + "…"
	}
	return shown
}
