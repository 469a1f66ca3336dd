package llm

import (
	"context"
	"encoding/json"
	"errors"

	"signoff/internal/llm/provider"
)

// A vendor that can holds the answer to the outputSchema of the request, as far as the schema can be said to it. The session checks the
// answer all the same, and asks for it again; that is all that there is with the other vendors.

// schema is what the model whose turn it is holds its answers to; nil where that cannot be.
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

// refuseSchema tells whether a request that the vendor calls wrong may do better without the schema that was in it, and sees to it that it
// is not sent again: an older model may not know it, or the vendor may have a bound that we do not.
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
