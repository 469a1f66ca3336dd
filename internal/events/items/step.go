package items

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"signoff/internal/domain"
)

// Step is a decoded event.
type Step struct {
	event   domain.Event
	payload domain.Payload // nil: the event changes no item
}

// itemTypes are the types of events that change items. Others are not decoded.
var itemTypes = []domain.EventType{
	domain.ExecutionCreatedType, domain.TurnStartedType, domain.TurnEndedType,
	domain.MessageDeltaType, domain.MessageCompletedType, domain.ThoughtDeltaType, domain.ThoughtCompletedType,
	domain.ToolCallRequestedType, domain.ToolCallQueuedType, domain.ToolCallStartedType, domain.ToolCallUpdatedType, domain.ToolCallReportedType,
	domain.ToolCallCompletedType, domain.ApprovalRequestedType, domain.ApprovalResolvedType,
	domain.BlocksGeneratedType, domain.BlocksAcceptedType, domain.ContextCompactedType,
	domain.DelegateStartedType, domain.DelegateUpdatedType, domain.DelegateAskedType, domain.DelegateAnsweredType, domain.DelegateReturnedType,
	domain.CheckpointCreatedType, domain.RollbackCompletedType,
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

// Keys returns the keys of the rows that the event may change. Stored ones must be restored before the event is applied.
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
	case domain.BlocksAccepted:
		return r.currentKey()
	case domain.DelegateStarted:
		return r.callKey(p.ToolCallID)
	case domain.DelegateUpdated:
		return r.delegateKeys(r.delegate(p.ExecutionID))
	case domain.DelegateApprovalRequested:
		return r.delegateKeys(r.delegateOn(p.Path))
	case domain.DelegateApprovalResolved:
		return r.delegateKeys(r.delegateAsking(p.ApprovalID))
	case domain.DelegateReturned:
		return r.delegateKeys(r.delegate(p.ExecutionID))
	case domain.CheckpointCreated:
		if isAfterCall(p) {
			return r.callKey(p.ToolCallID)
		}
		return nil
	case domain.ExecutionEnded:
		return append(r.currentKey(), r.askingKeys()...)
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

// callKey returns the key of a call and of its changes.
func (r *Reducer) callKey(id string) []string {
	if _, known := r.calls[id]; known {
		return nil
	}
	return []string{keyOf(callID(id))}
}

// delegateKeys returns the keys of the calls that show a child.
func (r *Reducer) delegateKeys(d *delegate) (keys []string) {
	if d == nil {
		return nil
	}
	for _, id := range d.shownBy() {
		keys = append(keys, r.callKey(id)...)
	}
	return keys
}

// askingKeys returns the keys of the calls that show a pending approval of a child.
func (r *Reducer) askingKeys() (keys []string) {
	for _, d := range r.delegates {
		if len(d.Asked) > 0 {
			keys = append(keys, r.delegateKeys(d)...)
		}
	}
	return keys
}

func (r *Reducer) currentKey() []string {
	if r.stored == "" {
		return nil
	}
	return []string{keyOf(r.stored)}
}

// keyBytes bounds a key, which is indexed: an agent chooses the length of ids.
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
