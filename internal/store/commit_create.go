package store

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
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
	return b.writeRows(`id text, tenant text, key text, body_hash bytea, created bigint`, rows, domain.Errorf(domain.CodeConflict, "The idempotency key is taken."), `
		insert into idempotency_keys (execution_id, tenant_id, key, body_hash, created_us)
		select id, tenant, key, body_hash, created from v where true
		on conflict do nothing returning execution_id`)
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
		place := e.Request.RunbookPlace()
		var parent, root any
		if above := e.Request.Parent; above != nil {
			parent, root = text(string(above.Execution)), text(string(above.Root))
		}
		rows = append(rows, row{i, []any{string(e.ID), text(string(e.Tenant)), text(string(e.Request.Marshal())), string(e.Status),
			text(string(e.Request.Source.Type)), text(e.Request.Source.Model), int64(e.Turn), int64(e.Rounds), usage,
			e.Created.UnixMicro(), updated.UnixMicro(), text(e.ByKey),
			text(e.Request.Source.Command), text(e.AgentSession), optionalText(c.Create.Place), retainMicros(e.Request), resumes(e.Request),
			optionalText(place.RunbookID), optionalText(place.BlockID), text(string(cmp.Or(e.Request.Kind, domain.KindAgent))), parent, root,
			optionalText(e.Request.WorkingDirectory), ownFolder(e.Request)}})
	}
	b.orderByAgentSession(rows)
	created, err := b.run(`id text, tenant text, request text, status text, source_type text, model text, turn bigint,
		rounds bigint, usage text, created bigint, updated bigint, created_by text, agent text, agent_session text,
		place text, retain bigint, resumes text, runbook text, block text, kind text, parent text, root text, directory text, own text`, rows, `
		insert into executions (id, tenant_id, request, status, source_type, model, turn, rounds, usage, created_us,
			updated_us, created_by, agent, agent_session, place, placed_us, retain_us, resumes, runbook_id, block_id, kind,
			parent_id, root_id, working_directory, own_folder)
		select id, tenant, request, status, source_type, model, turn, rounds, usage, created, updated, created_by,
			agent, agent_session, place, case when place is not null then now_us() end, retain, resumes, runbook, block, kind, parent, root, directory, own
		from v where true on conflict do nothing returning id`)
	if err != nil {
		return err
	}
	for _, one := range rows {
		b.written[one.change] = b.written[one.change] || created[one.values[0].(string)]
	}
	for _, one := range rows {
		if created[one.values[0].(string)] {
			continue
		}
		why, err := b.notCreated(&b.changes[one.change].Create.Execution)
		if err != nil {
			return err
		}
		b.refuse(one.change, why)
	}
	return nil
}

// resumes is a digest of the agent session that a request goes on with. An agent gives its sessions what ids it likes, also one that is too
// long for an index.
func resumes(request domain.Request) any {
	if request.ResumeSession == "" {
		return nil
	}
	digest := sha256.Sum256([]byte(request.ResumeSession))
	return hex.EncodeToString(digest[:])
}

// orderByAgentSession puts rows into the order of their locks: Postgres waits for the end of whoever has just taken an agent session, so two
// batches that take the same two crosswise would wait for each other.
func (b *batch) orderByAgentSession(rows []row) {
	slices.SortStableFunc(rows, func(x, y row) int {
		one, two := &b.changes[x.change].Create.Execution, &b.changes[y.change].Create.Execution
		return cmp.Or(cmp.Compare(one.Request.ResumeSession, two.Request.ResumeSession), cmp.Compare(one.Tenant, two.Tenant),
			cmp.Compare(one.Request.Source.Command, two.Request.Source.Command))
	})
}

// notCreated is why an execution was passed over, and names the one that was before it.
func (b *batch) notCreated(e *domain.Execution) (*domain.Error, error) {
	session := resumes(e.Request)
	if session == nil {
		return domain.Errorf(domain.CodeConflict, "There is an execution with this id."), nil
	}
	others, err := rowsOf(b.tx, scanValue[string], `
		select id from executions where tenant_id = $1 and agent = $2 and resumes = $3 and ended_us is null`,
		text(string(e.Tenant)), text(e.Request.Source.Command), session)
	if err != nil {
		return nil, err
	}
	if len(others) == 0 { // it has ended since
		return domain.NotResumable("Another execution was going on with that agent session; try again."), nil
	}
	return domain.NotResumable("The execution %s is going on with that agent session.", others[0]), nil
}

// requires is what a server must understand to drive the execution, see [domain.Request]. A server without trees must not drive a child.
func requires(request domain.Request) int64 {
	if request.Parent != nil {
		return int64(max(request.Requires, domain.RequiresDelegation))
	}
	return int64(request.Requires)
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
			optionalText(string(c.Create.Owner)), flag(ended), flag(c.Create.Queued), requires(e.Request)}})
	}
	created, err := ask(b, `id text, tenant text, events bigint, owner text, ended bigint, queued bigint, requires bigint`, rows, scanTaken, `
		insert into execution_heads (execution_id, tenant_id, last_seq, epoch, owner, recoveries, bell, ended, feed_key,
			wake_us, queued_us, requires)
		select id, tenant, events, 1, owner, 0, 0, ended, change_key(),
			case when queued = 1 then `+neverText+` else 0 end, case when queued = 1 then now_us() end, requires
		from v where true
		returning execution_id, last_seq, tenant_id, feed_key, coalesce(owner, '')`)
	for _, head := range created {
		b.heads[head.execution] = head.takenHead
	}
	return err
}
