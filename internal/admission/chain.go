package admission

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"signoff/internal/domain"
	"signoff/internal/keys"
)

const (
	MaxContextFrom = 20
	MaxContext     = 1 << 20 // bytes of conversations
	MaxOutputsFrom = 100
	maxOutputName  = 200

	// A log is read in pages, since a long one does not fit into memory.
	logPageEvents = 1000
	logPageBytes  = 1 << 20
)

// sources are the ended executions whose conversations and outputs a request uses.
type sources struct {
	context []domain.Execution          // in the order of the request
	outputs map[string]domain.Execution // by their names in templates
}

// findSources reads the executions that a request names. It requires the scope for reading executions.
func (a *Admission) findSources(ctx context.Context, by keys.Principal, contextFrom []string, outputsFrom map[string]string) (sources, error) {
	found := sources{outputs: map[string]domain.Execution{}}
	if len(contextFrom)+len(outputsFrom) > 0 && !by.May(keys.ExecutionsRead) {
		return found, domain.Errorf(domain.CodeForbidden,
			"contextFrom and outputsFrom show what other executions said: the key lacks the scope %s.", keys.ExecutionsRead)
	}
	for i, id := range contextFrom {
		execution, err := a.ended(ctx, by, fmt.Sprintf("/contextFrom/%d", i), id)
		if err != nil {
			return found, err
		}
		found.context = append(found.context, execution)
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

// addSources adds the conversations of earlier executions to a request.
func (a *Admission) addSources(ctx context.Context, request *domain.Request, found sources) error {
	left := MaxContext
	for _, execution := range found.context {
		messages, err := a.conversation(ctx, execution, left)
		if err != nil {
			return err
		}
		for _, message := range messages {
			left -= len(message.Content)
		}
		if left < 0 {
			return tooLongContext()
		}
		request.ContextFrom = append(request.ContextFrom, execution.ID)
		request.Context = append(request.Context, messages...)
	}
	for name, execution := range found.outputs {
		if request.OutputsFrom == nil {
			request.OutputsFrom = map[string]domain.ExecutionID{}
		}
		request.OutputsFrom[name] = execution.ID
	}
	return nil
}

func tooLongContext() error {
	return domain.Invalid("/contextFrom", "The conversations of these executions are longer than %d bytes.", MaxContext)
}

// conversation returns the messages of people and of the agent. It leaves tool calls out: without their results, the agent would only ask
// for them again. The states of the answers stay behind as well: they are of answers with their calls, and may be another model's.
func (a *Admission) conversation(ctx context.Context, execution domain.Execution, limit int) ([]domain.InputMessage, error) {
	messages := slices.Clone(execution.Request.Messages)
	if prompt := domain.Mentioned(execution.Request.Prompt, execution.Request.Parts); prompt != "" {
		messages = append(messages, domain.InputMessage{Role: domain.RoleUser, Content: prompt})
	}
	log, err := a.conversationEvents(ctx, execution.ID, limit)
	if err != nil {
		return nil, err
	}
	transcript := domain.NewTranscript()
	for _, event := range log {
		if err := transcript.Apply(event); err != nil {
			return nil, err
		}
	}
	for _, message := range transcript.Messages() {
		spoken := message.Role == domain.RoleUser || message.Role == domain.RoleAssistant
		if text := domain.Mentioned(message.Text, message.Parts); spoken && strings.TrimSpace(text) != "" {
			messages = append(messages, domain.InputMessage{Role: message.Role, Content: text})
		}
	}
	return messages, nil
}

// conversationEvents reads the events of a log that messages are made of, up to limit bytes of text.
func (a *Admission) conversationEvents(ctx context.Context, id domain.ExecutionID, limit int) (log []domain.Event, err error) {
	for after := int64(0); ; {
		page, err := a.config.Executions.EventPage(ctx, id, after, logPageEvents, logPageBytes)
		if err != nil || len(page) == 0 {
			return log, err
		}
		after = page[len(page)-1].Seq
		for _, event := range page {
			switch event.Type {
			case domain.MessageDeltaType:
				payload, err := event.Payload()
				if err != nil {
					return nil, err
				}
				if limit -= len(payload.(domain.MessageDelta).Text); limit < 0 { //nolint:forcetypeassert // of this type
					return nil, tooLongContext()
				}
			case domain.TurnStartedType, domain.TurnEndedType, domain.MessageCompletedType, domain.ToolCallRequestedType:
			default:
				continue
			}
			log = append(log, event)
		}
	}
}
