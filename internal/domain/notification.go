package domain

import (
	"encoding/json"
	"slices"
	"time"
)

// ExecutionInterruptedType is the type of the notification for an execution.stateChanged to interrupted. Webhooks get no other change of
// status: an interrupted execution waits for a person, mostly without a deadline.
const ExecutionInterruptedType EventType = "execution.interrupted"

// NotificationTypes are the types of notifications that a webhook can ask for. All but [ExecutionInterruptedType] are those of the event that they
// report.
var NotificationTypes = []EventType{
	ApprovalRequestedType, ApprovalResolvedType, ExecutionInterruptedType, ExecutionCompletedType,
	ExecutionFailedType, ExecutionCancelledType, ExecutionTimedOutType,
}

// Notification is the body of a webhook request. It is small on purpose: it says what happened and where to read more, and it cannot leak what it
// omits.
type Notification struct {
	Type      EventType        `json:"type"`
	Timestamp time.Time        `json:"timestamp"`
	Data      NotificationData `json:"data"`
}

// NotificationData are the fields of an event's payload that a webhook may get, and the event's place. Fields that the event does not have are left
// out. A summary is not among them: it quotes the command, the file or the question.
type NotificationData struct {
	Execution ExecutionID `json:"executionId,omitempty"`
	Seq       int64       `json:"seq,omitempty"`

	Approval ApprovalID   `json:"approvalId,omitempty"`
	Root     ExecutionID  `json:"root,omitempty"` // of the tree of the child that asks
	Path     []NamedStep  `json:"path,omitempty"` // from the root to the child
	Kind     ApprovalKind `json:"kind,omitempty"`
	Tool     string       `json:"tool,omitempty"`
	Expires  *time.Time   `json:"expiresAt,omitempty"`

	Environment *ApprovalEnvironment `json:"environment,omitempty"` // in which the call would run

	Status       string       `json:"status,omitempty"`
	Resolution   Resolution   `json:"resolution,omitempty"`
	DecidedBy    *Actor       `json:"decidedBy,omitempty"`
	FinishReason FinishReason `json:"finishReason,omitempty"`

	Cause InterruptCause `json:"cause,omitempty"` // why an execution is interrupted
	Code  Code           `json:"code,omitempty"`  // of the failure that interrupted it, where there was one

	Webhook string `json:"webhookId,omitempty"` // of a test
	Link    string `json:"link,omitempty"`      // added when it is sent, and never stored
}

// NamedStep is a [PathStep] without the beginning of the prompt.
type NamedStep struct {
	Execution ExecutionID `json:"executionId"`
	Name      string      `json:"name"`
}

// NotificationType is the type of the notification for the event; empty where webhooks get none.
func (e *Event) NotificationType() EventType {
	if e.Type == StateChangedType {
		var change StateChanged
		if json.Unmarshal(e.Data, &change) == nil && change.To == StatusInterrupted {
			return ExecutionInterruptedType
		}
		return ""
	}
	if slices.Contains(NotificationTypes, e.Type) {
		return e.Type
	}
	return ""
}

// Notification is what webhooks get of an event that has a [Event.NotificationType] and stands at seq in its log. Data that cannot be read give the
// event's place alone.
func (e *Event) Notification(seq int64) Notification {
	n := Notification{Type: e.NotificationType(), Timestamp: e.Time}
	_ = json.Unmarshal(e.Data, &n.Data)
	if n.Type == ExecutionInterruptedType {
		n.Data.Status = string(StatusInterrupted)
	}
	n.Data.Execution, n.Data.Seq, n.Data.Webhook, n.Data.Link = e.Execution, seq, "", ""
	return n
}
