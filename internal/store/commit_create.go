package store

import (
	"cmp"
	"slices"

	"signoff/internal/domain"
)

// takeKeys inserts the idempotency keys first: a change that finds its key taken has written nothing yet. Where another
// transaction has just taken it, Postgres waits for that one's end.
func (b *batch) takeKeys() error {
	var rows []row
	for i, c := range b.live {
		if c.Create == nil || c.Create.Idempotency == nil {
			continue
		}
		e, key := &c.Create.Execution, c.Create.Idempotency
		rows = append(rows, row{i, []any{string(c.Execution), text(string(e.Tenant)), text(key.Key), append(make([]byte, 0, 32), key.BodyHash...), e.Created.UnixMicro()}})
	}
	slices.SortStableFunc(rows, func(a, b row) int { // the order of the locks
		return cmp.Or(cmp.Compare(a.values[1].(string), b.values[1].(string)), cmp.Compare(a.values[2].(string), b.values[2].(string)))
	})
	taken, err := b.run(`id text, tenant text, key text, body_hash bytea, created bigint`, rows, `
		insert into idempotency_keys (execution_id, tenant_id, key, body_hash, created_us)
		select id, tenant, key, body_hash, created from v where true
		on conflict do nothing returning execution_id`)
	if err != nil {
		return err
	}
	b.settle(rows, taken, domain.Errorf(domain.CodeConflict, "The idempotency key is taken."))
	return nil
}

func (b *batch) createExecutions() error {
	var rows []row
	for i, c := range b.live {
		if c.Create == nil {
			continue
		}
		e := &c.Create.Execution
		usage, err := encode(e.Usage)
		if err != nil {
			return err
		}
		updated := e.Updated
		if updated.IsZero() {
			updated = e.Created
		}
		rows = append(rows, row{i, []any{string(e.ID), text(string(e.Tenant)), text(string(e.Request.Marshal())), string(e.Status),
			text(string(e.Request.Source.Type)), text(e.Request.Source.Model), int64(e.Turn), int64(e.Rounds), usage,
			e.Created.UnixMicro(), updated.UnixMicro(), text(e.ByKey),
			text(e.Request.Source.Command), text(e.AgentSession), optionalText(c.Create.Place), retainMicros(e.Request)}})
	}
	created, err := b.run(`id text, tenant text, request text, status text, source_type text, model text, turn bigint,
		rounds bigint, usage text, created bigint, updated bigint, created_by text, agent text, agent_session text,
		place text, retain bigint`, rows, `
		insert into executions (id, tenant_id, request, status, source_type, model, turn, rounds, usage, created_us,
			updated_us, created_by, agent, agent_session, place, placed_us, retain_us)
		select id, tenant, request, status, source_type, model, turn, rounds, usage, created, updated, created_by,
			agent, agent_session, place, case when place is not null then now_us() end, retain
		from v where true on conflict (id) do nothing returning id`)
	if err != nil {
		return err
	}
	b.settle(rows, created, domain.Errorf(domain.CodeConflict, "There is an execution with this id."))
	return nil
}

func (b *batch) createHeads() error {
	var rows []row
	for i, c := range b.live {
		if c.Create == nil {
			continue
		}
		e := &c.Create.Execution
		ended := e.Status.Terminal() || c.Update != nil && c.Update.Status.Terminal()
		rows = append(rows, row{i, []any{string(e.ID), text(string(e.Tenant)), int64(len(c.Events)),
			optionalText(string(c.Create.Owner)), flag(ended), flag(c.Create.Queued)}})
	}
	created, err := ask(b, `id text, tenant text, events bigint, owner text, ended bigint, queued bigint`, rows, scanTaken, `
		insert into execution_heads (execution_id, tenant_id, last_seq, epoch, owner, recoveries, bell, ended, feed_key,
			wake_us, queued_us)
		select id, tenant, events, 1, owner, 0, 0, ended, change_key(),
			case when queued = 1 then `+neverText+` else 0 end, case when queued = 1 then now_us() end
		from v where true
		returning execution_id, last_seq, tenant_id, feed_key, coalesce(owner, '')`)
	for _, head := range created {
		b.heads[head.execution] = head.takenHead
	}
	return err
}
