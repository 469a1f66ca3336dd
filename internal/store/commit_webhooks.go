package store

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"signoff/internal/domain"
)

// InterruptedType is the type of the delivery for an execution.stateChanged to interrupted. Webhooks are told of no other change of
// status: this one waits for a person, mostly without a deadline.
const InterruptedType domain.EventType = "execution.interrupted"

// ToldTypes are the types of deliveries. All but [InterruptedType] are those of the event that they tell of.
var ToldTypes = []domain.EventType{
	domain.ApprovalRequestedType, domain.ApprovalResolvedType, InterruptedType, domain.ExecutionCompletedType,
	domain.ExecutionFailedType, domain.ExecutionCancelledType, domain.ExecutionTimedOutType,
}

// Told tells whether webhooks are told of the change.
func (c *Change) Told() bool {
	return slices.ContainsFunc(c.Events, func(e domain.Event) bool { return toldAs(&e) != "" })
}

// toldAs is the type of the delivery for an event; empty where webhooks are not told of it.
func toldAs(event *domain.Event) domain.EventType {
	if event.Type == domain.StateChangedType {
		var change domain.StateChanged
		if json.Unmarshal(event.Data, &change) == nil && change.To == domain.StatusInterrupted {
			return InterruptedType
		}
		return ""
	}
	if slices.Contains(ToldTypes, event.Type) {
		return event.Type
	}
	return ""
}

// tellWebhooks writes a delivery for each webhook that an event is for, in the transaction of the event: what is in the log
// is told, also where the server dies right after the commit. The id is made of the event's place, so no event can be written down
// twice. Where nothing is to be told it asks nothing.
func (b *batch) tellWebhooks() error {
	var rows []row
	for i, c := range b.live {
		head := b.heads[c.Execution]
		for j := range c.Events {
			event := &c.Events[j]
			as := toldAs(event)
			if as == "" {
				continue
			}
			seq := head.lastSeq - int64(len(c.Events)) + int64(j) + 1
			rows = append(rows, row{i, []any{string(c.Execution), fmt.Sprintf("msg_%s_%d", c.Execution, seq), head.tenant,
				string(as), told(event, as, seq)}})
		}
	}
	return b.insert(`execution text, message text, tenant text, type text, body text`, rows, `
		insert into webhook_deliveries (webhook_id, id, tenant_id, type, body, execution_id, created_us, state, due_us, attempts, before)
		select w.id, v.message, v.tenant, v.type, v.body, v.execution, now_us(), 'pending', now_us(), 0, 0
		from v join webhooks w on w.tenant_id = v.tenant
		where w.disabled_us is null and (w.types is null or w.types like '%"' || v.type || '"%')`)
}

// Notice is the body of a delivery. It is thin: it says what happened and where to read more, and what it leaves out cannot
// leak to wherever it is sent.
type Notice struct {
	Type      domain.EventType `json:"type"`
	Timestamp time.Time        `json:"timestamp"`
	Data      NoticeData       `json:"data"`
}

// NoticeData are the fields of an event's payload that may be told, and the event's place. Those that the event does not have are left out.
// A summary is none of them: it quotes the command, the file or the question.
type NoticeData struct {
	Execution domain.ExecutionID `json:"executionId,omitempty"`
	Seq       int64              `json:"seq,omitempty"`

	Approval domain.ApprovalID   `json:"approvalId,omitempty"`
	Kind     domain.ApprovalKind `json:"kind,omitempty"`
	Tool     string              `json:"tool,omitempty"`
	Expires  *time.Time          `json:"expiresAt,omitempty"`

	Status       string              `json:"status,omitempty"`
	Resolution   domain.Resolution   `json:"resolution,omitempty"`
	DecidedBy    *domain.Actor       `json:"decidedBy,omitempty"`
	FinishReason domain.FinishReason `json:"finishReason,omitempty"`

	Cause domain.InterruptCause `json:"cause,omitempty"` // why an execution is interrupted
	Code  domain.Code           `json:"code,omitempty"`  // of the failure that interrupted it, where there was one

	Webhook string `json:"webhookId,omitempty"` // of a test
	Link    string `json:"link,omitempty"`      // put in when it is sent, and never stored
}

// told is the body that tells of an event. Data that cannot be read tells of nothing but the event's place.
func told(event *domain.Event, as domain.EventType, seq int64) string {
	notice := Notice{Type: as, Timestamp: event.Time}
	_ = json.Unmarshal(event.Data, &notice.Data)
	if as == InterruptedType {
		notice.Data.Status = string(domain.StatusInterrupted)
	}
	notice.Data.Execution, notice.Data.Seq, notice.Data.Webhook, notice.Data.Link = event.Execution, seq, "", ""
	return string(domain.Encode(notice))
}
