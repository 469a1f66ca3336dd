package store

import (
	"cmp"

	"signoff/internal/domain"
)

// takeHeads checks the epoch, hands out the sequence numbers and locks the row until the transaction ends, in one update: nobody else gets
// numbers in between.
func (b *batch) takeHeads() error {
	var rows []row
	for i, c := range b.live {
		if c.Create != nil {
			continue // its head was inserted with its numbers taken
		}
		driver, ends := c.Epoch, c.Update != nil && c.Update.Status.Terminal()
		if c.Quiet {
			driver = quietEpoch
		}
		rows = append(rows, row{i, append([]any{string(c.Execution), driver, int64(len(c.Events)), flag(c.Progress), flag(ends),
			flag(c.Cancel != nil)}, c.Park.values()...)})
	}
	rows = b.withRoots(rows)
	for part := range b.store.dialect.parts(rows) {
		if err := b.takeSome(part); err != nil {
			return err
		}
	}
	return nil
}

func (b *batch) takeSome(rows []row) error {
	given := list{columns: columns(`id text, driver bigint, events bigint, progress bigint, ends bigint, urgent bigint,
		writes bigint, until bigint`)}
	for _, row := range rows {
		given.rows = append(given.rows, row.values)
	}
	with, args := b.store.dialect.with(given)
	heads, err := rowsOf(b.tx, scanTaken, with+b.store.dialect.lockHeads()+updateHeads, args...)
	if err != nil {
		return err
	}
	for _, head := range heads {
		b.heads[head.execution] = head.takenHead
		b.written[b.places[head.execution]] = true
	}
	for _, row := range rows {
		if _, taken := b.heads[domain.ExecutionID(row.values[0].(string))]; !taken && row.change != noChange {
			b.refuseWithoutHead(row.change)
		}
	}
	return nil
}

// In place of an epoch, a row of takeHeads can have one of these.
const (
	quietEpoch    = -1 // writes as under epoch 0, and neither notifies the driver nor wakes the execution
	lockOnlyEpoch = -2 // writes nothing
)

// noChange is the change of a row that belongs to none.
const noChange = -1

// lockHeads continues `with v (…) as (…)`. A row of v says what a change does to its head.
func (d *dialect) lockHeads() string {
	return `, locked as (
			select v.* from v join execution_heads on execution_id = v.id
			order by execution_id` + d.lock + `)`
}

const updateHeads = `
		update execution_heads as h set
			last_seq = h.last_seq + v.events,
			bell = h.bell + case when v.driver = 0 then 1 else 0 end,
			recoveries = case when v.progress = 1 then 0 else h.recoveries end,
			ended = v.ends,
			owner = case when v.until is null then h.owner end,
			epoch = case when v.until is null then h.epoch else h.epoch + 1 end,
			wake_us = case when v.until is not null then v.until
				when v.driver = 0 and (h.queued_us is null or v.urgent = 1) then 0 else h.wake_us end,
			queued_us = case when v.ends = 0 then h.queued_us end,
			feed_key = case when h.feed_key > change_key() then h.feed_key else change_key() end
		from locked as v
		where h.execution_id = v.id and (v.driver in (0, -1) and h.deleted_us is null or v.driver = h.epoch) and (v.writes is null or v.writes = h.bell) and h.ended = 0
		returning execution_id, last_seq, tenant_id, feed_key, coalesce(owner, '')`

// takenRow is a head that was taken, with its execution.
type takenRow struct {
	execution domain.ExecutionID
	takenHead
}

func scanTaken(row scanner) (t takenRow, err error) {
	return t, row.Scan(&t.execution, &t.lastSeq, &t.tenant, &t.feedKey, &t.owner)
}

func (b *batch) appendEvents() error {
	var rows []row
	for i, c := range b.live {
		head := b.heads[c.Execution]
		seq := head.lastSeq - int64(len(c.Events))
		for j := range c.Events {
			seq++
			rows = append(rows, row{i, append([]any{string(c.Execution), seq, head.tenant}, eventValues(&c.Events[j])...)})
		}
	}
	return b.insert(`id text, seq bigint, tenant text, type text, time bigint, data text`, rows, `
		insert into events (execution_id, seq, tenant_id, type, time_us, data)
		select id, seq, tenant, type, time, data from v where true`)
}

func eventValues(event *domain.Event) []any {
	return []any{text(string(event.Type)), event.Time.UnixMicro(), string(eventToRow(event.Type, event.Data))}
}

// insert is run for a statement that writes every row, and so returns nothing.
func (b *batch) insert(spec string, rows []row, statement string) error {
	given := list{columns: columns(spec)}
	for part := range b.store.dialect.parts(rows) {
		given.rows = given.rows[:0]
		for _, row := range part {
			given.rows = append(given.rows, row.values)
		}
		with, args := b.store.dialect.with(given)
		if err := b.tx.later(with+statement, args...); err != nil {
			return err
		}
	}
	return nil
}

func (b *batch) updateExecutions() error {
	var rows []row
	for i, c := range b.live {
		if c.Update == nil && !c.Resumed {
			continue
		}
		values, err := updateValues(c)
		if err != nil {
			return err
		}
		rows = append(rows, row{i, values})
	}
	return b.writeRows(updateSpec, rows, stale("The execution has ended."), updateExecutions+` from v`+whereNotEnded+` returning id`)
}

const updateSpec = `target text, status text, turn bigint, rounds bigint, usage text, output text, ends bigint, ended bigint,
		agent_session text, resumed bigint, cause text`

const updateExecutions = `
		update executions as e set
			status = coalesce(v.status, e.status),
			turn = coalesce(v.turn, e.turn),
			rounds = coalesce(v.rounds, e.rounds),
			usage = coalesce(v.usage, e.usage),
			output = coalesce(v.output, e.output),
			ended_us = case when v.ends = 1 then coalesce(v.ended, now_us()) else e.ended_us end,
			agent_session = coalesce(v.agent_session, e.agent_session),
			resume = case when v.resumed = 1 then null else e.resume end,
			cause = case when v.status is null then e.cause else v.cause end,
			updated_us = now_us()`

// whereNotEnded repeats for the row what its head has already checked: nothing is written after the end.
const whereNotEnded = ` where id = v.target and e.status not in ('completed', 'failed', 'cancelled', 'timedOut')`

// updateValues is a row of updateSpec, in its order. Null keeps what is stored.
func updateValues(c *Change) ([]any, error) {
	u := cmp.Or(c.Update, &Update{})
	var turn, rounds, output any
	if u.Turn != 0 {
		turn = int64(u.Turn)
	}
	if u.Turn != 0 || u.Rounds != 0 {
		rounds = int64(u.Rounds)
	}
	usage, err := encodeOptional(u.Usage)
	if err != nil {
		return nil, err
	}
	if u.Output != nil {
		encoded, err := encode(u.Output)
		if err != nil {
			return nil, err
		}
		output = outputToRow(encoded)
	}
	return []any{
		string(c.Execution),            // target
		optionalText(string(u.Status)), // status
		turn,                           // turn
		rounds,                         // rounds
		usage,                          // usage
		output,                         // output
		flag(u.Status.Terminal()),      // ends
		micros(u.Ended),                // ended
		optionalText(u.AgentSession),   // agent_session
		flag(c.Resumed),                // resumed
		optionalText(string(u.Cause)),  // cause
	}, nil
}
