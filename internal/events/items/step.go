package items

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"signoff/internal/domain"
)

// Step is an event with its payload, as a reducer applies it.
type Step struct {
	event   domain.Event
	payload domain.Payload // nil: no item is made of it
}

// itemTypes are the types of events that change items. Others are not decoded.
var itemTypes = []domain.EventType{
	domain.ExecutionCreatedType, domain.TurnStartedType, domain.TurnEndedType,
	domain.MessageDeltaType, domain.MessageCompletedType, domain.ThoughtDeltaType, domain.ThoughtCompletedType,
	domain.ToolCallRequestedType, domain.ToolCallQueuedType, domain.ToolCallStartedType, domain.ToolCallUpdatedType, domain.ToolCallReportedType,
	domain.ToolCallCompletedType, domain.ApprovalRequestedType, domain.ApprovalResolvedType,
	domain.BlocksGeneratedType, domain.BlocksAcceptedType,
	domain.ExecutionCompletedType, domain.ExecutionFailedType, domain.ExecutionCancelledType, domain.ExecutionTimedOutType,
}

// Read reads an event.
func Read(event domain.Event) (Step, error) {
	if !slices.Contains(itemTypes, event.Type) {
		return Step{event: event}, nil
	}
	payload, err := event.Payload()
	if err != nil {
		return Step{event: event}, domain.Errorf(domain.CodeInternal, "Event %d of the log cannot be read.", event.Seq).With(err)
	}
	return Step{event, payload}, nil
}

// Keys names the rows that the event may change: where they are stored, they are to be restored before it is taken.
func (r *Reducer) Keys(step Step) []string {
	switch p := step.payload.(type) {
	case domain.MessageDelta:
		return r.messageKey(KindMessage, p.MessageID)
	case domain.MessageCompleted:
		return r.messageKey(KindMessage, p.MessageID)
	case domain.ThoughtDelta:
		return r.messageKey(KindReasoning, p.MessageID)
	case domain.ThoughtCompleted:
		return r.messageKey(KindReasoning, p.MessageID)
	case domain.ToolCallRequested:
		return r.callKey(p.ToolCallID)
	case domain.ApprovalRequested:
		return r.callKey(p.ToolCallID)
	case domain.ApprovalResolved:
		return r.callKey(p.ToolCallID)
	case domain.ToolCallQueued:
		return r.callKey(p.ToolCallID)
	case domain.ToolCallStarted:
		return r.callKey(p.ToolCallID)
	case domain.ToolCallUpdated:
		return r.callKey(p.ToolCallID)
	case domain.ToolCallReported:
		return r.callKey(p.ToolCallID)
	case domain.ToolCallCompleted:
		return r.callKey(p.ToolCallID)
	case domain.BlocksGenerated:
		return append(r.callKey(p.ToolCallID), r.currentKey()...)
	case domain.BlocksAccepted, domain.ExecutionEnded:
		return r.currentKey()
	default:
		return nil
	}
}

func (r *Reducer) messageKey(kind Kind, messageID string) []string {
	id := textID(kind, messageID)
	if _, known := r.messages[id]; known {
		return nil
	}
	return []string{keyOf(id)}
}

// callKey is the key of a call and of what it changes.
func (r *Reducer) callKey(id string) []string {
	if _, known := r.calls[id]; known {
		return nil
	}
	return []string{keyOf(callID(id))}
}

func (r *Reducer) currentKey() []string {
	if r.stored == "" {
		return nil
	}
	return []string{keyOf(r.stored)}
}

// keyBytes bounds a key: it is indexed, and ids in it are as long as an agent likes.
const keyBytes = 100

func keyOf(id string) string {
	if len(id) <= keyBytes {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:])
}

func textID(kind Kind, messageID string) string { return string(kind) + ":" + messageID }

func callID(id string) string { return "tool:" + id }
