package llm

import (
	"context"
	"encoding/json"
	"errors"

	"signoff/internal/llm/provider"
)

// Some vendors hold the answer to the outputSchema of the request, if the schema can be written in their form. The session checks the answer all the
// same, and asks again if it does not fit; with the other vendors that check is all.

// schema is the schema for the answer of the model that is asked next; nil if the model cannot hold its answers to it.
func (t *turn) schema() json.RawMessage {
	document, asked := t.agent.execution.Request.OutputSchema, t.agent.models.asked()
	if len(document) == 0 || t.agent.schemaless[asked.model.Name] || asked.provider.Schema == nil {
		return nil
	}
	rules := asked.provider.Schema(asked.model, len(t.agent.tools.definitions) > 0)
	if rules == nil {
		return nil
	}
	return rules.Strict(document)
}

// refuseSchema reports whether a request that the vendor calls wrong may do better without its schema. If so, the schema is not sent again: an older
// model may not take schemas, or the vendor may have a bound that we do not know.
func (t *turn) refuseSchema(ctx context.Context, err error) (again bool) {
	asked := t.agent.models.asked()
	var failed *provider.Error
	if !errors.As(err, &failed) || !failed.Refused() || t.schema() == nil {
		return false
	}
	if t.agent.schemaless == nil {
		t.agent.schemaless = map[string]bool{}
	}
	t.agent.schemaless[asked.model.Name] = true
	t.agent.logger.WarnContext(ctx, "model refused a request with the outputSchema; it is asked without", "executionId", t.agent.execution.ID,
		"model", asked.model.Name, "error", failed.Shown)
	return true
}
