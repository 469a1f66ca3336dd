package store

import (
	"signoff/internal/domain"
)

// What is kept of the raw messages of one execution: the newest, up to both.
const (
	DebugMessages = 2000
	DebugBytes    = 8 << 20
)

// feed is the end of an execution's raw messages.
type feed struct {
	execution domain.ExecutionID
	n         int64 // of the newest one
	position  int64 // behind it
}

// appendDebug adds to the feeds and trims them. The newest message always stays: the next number follows from its number.
func (b *batch) appendDebug() error {
	feeds, err := b.feeds()
	if err != nil || len(feeds) == 0 {
		return err
	}
	var messages, cuts []row
	for i, c := range b.live {
		if len(c.Debug) == 0 {
			continue
		}
		end := feeds[c.Execution]
		for j := range c.Debug {
			m := &c.Debug[j]
			message := text(m.Message)
			end.n++
			messages = append(messages, row{i, []any{string(c.Execution), end.n, b.heads[c.Execution].tenant,
				m.Time.UnixMicro(), text(string(m.Direction)), int64(m.Bytes), end.position, message}})
			end.position += int64(len(message))
		}
		if end.n > DebugMessages || end.position > DebugBytes {
			cuts = append(cuts, row{i, []any{string(c.Execution), end.n, end.n - DebugMessages, end.position - DebugBytes}})
		}
	}
	err = b.insert(`id text, n bigint, tenant text, time bigint, direction text, bytes bigint, position bigint, message text`,
		messages, `
		insert into debug_messages (execution_id, n, tenant_id, time_us, direction, bytes, position, message)
		select id, n, tenant, time, direction, bytes, position, message from v where true`)
	if err != nil {
		return err
	}
	return b.trimDebug(cuts)
}

// feeds finds where the feeds end that get something.
func (b *batch) feeds() (map[domain.ExecutionID]feed, error) {
	var rows []row
	all := map[domain.ExecutionID]feed{}
	for i, c := range b.live {
		if len(c.Debug) > 0 {
			all[c.Execution] = feed{}
			rows = append(rows, row{i, []any{string(c.Execution)}})
		}
	}
	found, err := ask(b, `id text`, rows, func(row scanner) (f feed, err error) {
		return f, row.Scan(&f.execution, &f.n, &f.position)
	}, `,
		newest as materialized (
			select v.id, (select n from debug_messages where execution_id = v.id order by n desc limit 1) as n from v)
		select d.execution_id, d.n, d.position + octet_length(d.message)
		from newest join debug_messages d on d.execution_id = newest.id and d.n = newest.n`)
	for _, f := range found {
		all[f.execution] = f
	}
	return all, err
}

// trimDebug finds the first message that stays and deletes those before it. Positions and numbers grow together, and
// what is before it is gone but for the newest ones, so the search ends soon.
func (b *batch) trimDebug(cuts []row) error {
	return b.insert(`id text, newest bigint, number bigint, position bigint`, cuts, `,
		cuts as materialized (
			select v.id, coalesce((
				select n from debug_messages
				where execution_id = v.id and n > v.number and debug_messages.position >= v.position
				order by n limit 1), v.newest) as n from v)
		delete from debug_messages where (execution_id, n) in (
			select d.execution_id, d.n from cuts join debug_messages d on d.execution_id = cuts.id and d.n < cuts.n)`)
}
