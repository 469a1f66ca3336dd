package admission

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"signoff/api"
	"signoff/internal/domain"
	"signoff/internal/keys"
)

const (
	MaxContextFrom = 20
	MaxContext     = 1 << 20 // bytes of conversations
	MaxOutputsFrom = 100
	maxOutputName  = 200
)

// sources are the ended executions whose conversations and outputs a request uses.
type sources struct {
	context []contextSource             // in the order of the request
	outputs map[string]domain.Execution // by their names in templates
}

// findSources reads the executions that a request names. It requires the scope for reading executions.
func (a *Admission) findSources(ctx context.Context, by keys.Principal, contextFrom []api.ContextSource, outputsFrom map[string]string) (sources, error) {
	found := sources{outputs: map[string]domain.Execution{}}
	if len(contextFrom)+len(outputsFrom) > 0 && !by.May(keys.ExecutionsRead) {
		return found, domain.Errorf(domain.CodeForbidden,
			"contextFrom and outputsFrom show what other executions said: the key lacks the scope %s.", keys.ExecutionsRead)
	}
	for i, source := range contextFrom {
		at := fmt.Sprintf("/contextFrom/%d", i)
		if slices.ContainsFunc(contextFrom[:i], func(s api.ContextSource) bool { return s.ExecutionID == source.ExecutionID }) {
			return found, domain.Invalid(at, "The execution stands there twice.")
		}
		if source.Include != "" {
			at += "/executionId"
		}
		execution, err := a.ended(ctx, by, at, source.ExecutionID)
		if err != nil {
			return found, err
		}
		found.context = append(found.context, contextSource{execution, source.Include == api.IncludeToolCalls})
	}
	for _, name := range slices.Sorted(maps.Keys(outputsFrom)) {
		at := domain.Pointer("outputsFrom", name)
		if strings.TrimSpace(name) == "" || len(name) > maxOutputName {
			return found, domain.Invalid(at, "The name of an output has 1 to %d bytes, and is not blank.", maxOutputName)
		}
		execution, err := a.ended(ctx, by, at, outputsFrom[name])
		if err != nil {
			return found, err
		}
		found.outputs[name] = execution
	}
	return found, nil
}

// ended reads an execution that must have ended.
func (a *Admission) ended(ctx context.Context, by keys.Principal, at, id string) (domain.Execution, error) {
	execution, err := a.execution(ctx, by, id)
	switch {
	case domain.CodeOf(err) == domain.CodeNotFound:
		return execution, domain.Invalid(at, "There is no such execution.")
	case err == nil && !execution.Status.Terminal():
		return execution, domain.Invalid(at, "The execution has not ended yet: it is %s.", execution.Status)
	default:
		return execution, err
	}
}

// addSources adds the conversations of earlier executions to a request, and the names of their outputs.
func (a *Admission) addSources(ctx context.Context, request *domain.Request, found sources) error {
	context, err := a.conversations(ctx, found.context)
	if err != nil {
		return err
	}
	request.Context = context
	for _, source := range found.context {
		request.ContextFrom = append(request.ContextFrom, source.execution.ID)
		if source.calls {
			request.ContextCalls = append(request.ContextCalls, source.execution.ID)
			request.Requires = max(request.Requires, domain.RequiresContextCalls)
		}
	}
	for name, execution := range found.outputs {
		if request.OutputsFrom == nil {
			request.OutputsFrom = map[string]domain.ExecutionID{}
		}
		request.OutputsFrom[name] = execution.ID
	}
	return nil
}
