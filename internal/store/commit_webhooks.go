package store

import (
	"fmt"
	"slices"

	"signoff/internal/domain"
)

// SendsWebhooks reports whether webhooks get a notification of the change.
func (c *Change) SendsWebhooks() bool {
	return slices.ContainsFunc(c.Events, func(e domain.Event) bool { return e.NotificationType() != "" })
}

// insertDeliveries writes a delivery for each webhook that asks for an event, in the transaction of the event: a server that dies right after
// the commit loses none. The id is made of the event's place, so no event gets two deliveries to one webhook. A batch without such an event costs
// no statement.
func (b *batch) insertDeliveries() error {
	var rows []row
	for i, c := range b.live {
		head := b.heads[c.Execution]
		for j := range c.Events {
			event := &c.Events[j]
			if event.NotificationType() == "" {
				continue
			}
			seq := head.lastSeq - int64(len(c.Events)) + int64(j) + 1
			n := event.Notification(seq)
			rows = append(rows, row{i, []any{string(c.Execution), fmt.Sprintf("msg_%s_%d", c.Execution, seq), head.tenant,
				string(n.Type), string(domain.Encode(n))}})
		}
	}
	return b.insert(`execution text, message text, tenant text, type text, body text`, rows, `
		insert into webhook_deliveries (webhook_id, id, tenant_id, type, body, execution_id, created_us, state, due_us, attempts, before)
		select w.id, v.message, v.tenant, v.type, v.body, v.execution, now_us(), 'pending', now_us(), 0, 0
		from v join webhooks w on w.tenant_id = v.tenant
		where w.disabled_us is null and (w.types is null or w.types like '%"' || v.type || '"%')`)
}
