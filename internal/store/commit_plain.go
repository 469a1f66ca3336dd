package store

import (
	"context"
	"database/sql"
	"reflect"
	"strings"

	"signoff/internal/failpoint"
)

// Nearly all commits are plain: they append an agent's text to the log. By the steps of a batch such a commit takes five round trips to the server,
// each slower than the work that it asks for. Where a with clause may write, the whole commit is one statement, and a statement is a transaction.

// Plain reports whether the change is its driver's, only writes states of answers and events that no webhook sends, and updates an execution that
// neither becomes idle nor ends. So only its head can refuse it. A new field of Change is not plain until it is listed here.
func (c *Change) Plain() bool {
	if c.Epoch <= 0 || c.Update != nil && rests(c.Update.Status) {
		return false
	}
	rest := *c
	rest.Execution, rest.Epoch, rest.Update, rest.Progress, rest.Events, rest.States = "", 0, nil, false, nil, nil
	return reflect.ValueOf(&rest).Elem().IsZero() && !c.SendsWebhooks()
}

// plain reports whether the batch can be written by commitPlain.
func (b *batch) plain() bool {
	if b.store.dialect.arrays == nil {
		return false
	}
	for i := range b.changes {
		if !b.changes[i].Plain() {
			return false
		}
	}
	return len(b.changes) > 0
}

// commitPlain writes the batch in one statement. It sends no commit of its own, so if the answer is lost, nobody knows whether it was
// committed. If the server ends the session before the first row of the answer, it was not: the server commits after the last row.
//
// The snapshot of the statement is older than the locks that it waits for. This is harmless: everything depends on the rows that the update of the
// heads returns, and an update sees a row as it is when it gets the lock.
func (b *batch) commitPlain() error {
	statement, args, err := b.plainStatement()
	if err != nil {
		return err
	}
	return b.store.retry(b.ctx, "commit changes", func() (fault, error) {
		var heads []takenRow
		answered := false
		fault, err := b.store.alone(b.ctx, func(ctx context.Context, conn *sql.Conn) (err error) {
			heads, err = collect(ctx, conn, func(row scanner) (takenRow, error) {
				answered = true
				return scanTaken(row)
			}, statement, args...)
			return err
		})
		if fault == unknown && !answered && sqlState(err) != "" {
			fault = transient
		}
		if err == nil {
			b.begin(nil)
			b.take(heads)
			b.reportResults()
		}
		return fault, err
	})
}

// take notes the heads that were taken, and refuses the changes whose heads were not.
func (b *batch) take(heads []takenRow) {
	for _, head := range heads {
		b.heads[head.execution] = head.takenHead
	}
	for i, c := range b.live {
		if _, taken := b.heads[c.Execution]; !taken {
			b.refuse(i, errNotDriven)
		}
	}
}

var (
	plainHeads   = columns(`id text, driver bigint, events bigint, progress bigint, first bigint, moved bigint, states bigint, stated bigint`)
	plainEvents  = columns(`type text, time bigint, data text`)
	plainUpdates = columns(updateSpec)
	plainStates  = columns(stateSpec)
)

// plainLists are the tables that the statement gets. A head has the places of its first event, of its first state and of its update in their
// tables, from 1 on; 0 is no update.
func (b *batch) plainLists() (heads, events, states, updates list, err error) {
	heads.columns, events.columns, states.columns, updates.columns = plainHeads, plainEvents, plainStates, plainUpdates
	for _, i := range b.order {
		c, moved := &b.changes[i], 0
		if c.Update != nil {
			values, err := updateValues(c)
			if err != nil {
				return heads, events, states, updates, err
			}
			updates.rows = append(updates.rows, values)
			moved = len(updates.rows)
		}
		heads.rows = append(heads.rows, []any{string(c.Execution), c.Epoch, int64(len(c.Events)), flag(c.Progress),
			int64(len(events.rows) + 1), int64(moved), int64(len(c.States)), int64(len(states.rows) + 1)})
		for _, state := range c.States {
			states.rows = append(states.rows, stateValues(state))
		}
		for j := range c.Events {
			events.rows = append(events.rows, eventValues(&c.Events[j]))
		}
	}
	return heads, events, states, updates, nil
}

// plainStatement does what takeHeads, appendEvents, appendFeed, keepStates and updateExecutions do. It finds the rows of a head by their places and not by a
// join, because the planner cannot know how many rows there will be.
func (b *batch) plainStatement() (string, []any, error) {
	heads, events, states, updates, err := b.plainLists()
	if err != nil {
		return "", nil, err
	}
	d := b.store.dialect
	given, args := d.table("given", heads, nil)
	said, args := d.columnsOf(events, "t.first : t.first + t.events - 1", args)
	statement := `with ` + given + `,
		v as (select given.*, 0 as ends, 0 as urgent, null::bigint as writes, null::bigint as until from given)` + d.lockHeads() + `,
		taken (id, last, tenant, key, owner, events, first, moved, states, stated) as (` + updateHeads + `, v.events, v.first, v.moved, v.states, v.stated),
		logged as (
			insert into events (execution_id, seq, tenant_id, type, time_us, data)
			select t.id, t.last - t.events + e.n, t.tenant, e.type, e.time, e.data
			from taken t cross join lateral unnest(` + said + `) with ordinality e (type, time, data, n)),
		fed as (
			insert into feed (tenant_id, key, execution_id, first_seq, last_seq)
			select tenant, key, id, last - events + 1, last from taken where events > 0)`
	if len(states.rows) > 0 {
		var kept string
		kept, args = d.columnsOf(states, "t.stated : t.stated + t.states - 1", args)
		statement += `,
		kept as (
			insert into answer_states (execution_id, message_id, tenant_id, state)
			select t.id, s.message, t.tenant, s.state from taken t cross join lateral unnest(` + kept + `) s (message, state)
			on conflict do nothing)`
	}
	if len(updates.rows) > 0 {
		var due string
		due, args = d.columnsOf(updates, "t.moved", args)
		statement += `,
		due (` + names(updates.columns) + `) as (select ` + due + ` from taken t where t.moved > 0),
		updated as (` + updateExecutions + ` from due v` + whereNotEnded + `)`
	}
	return statement + ` select id, last, tenant, key, owner from taken`, args, nil
}

// columnsOf renders a part of each column of a list.
func (d *dialect) columnsOf(list list, part string, args []any) (string, []any) {
	arrays, more := d.arrays(list, len(args))
	for i := range arrays {
		arrays[i] = "(" + arrays[i] + ")[" + part + "]"
	}
	return strings.Join(arrays, ", "), append(args, more...)
}

// alone runs a statement that is a transaction by itself. ctx interrupts it only before it is sent, so that a caller who gives up does not leave
// the commit unknown. It also checks the connection first: after each restart of the server the first commit would otherwise be unknown, and its
// sessions would end.
func (s *Store) alone(ctx context.Context, do func(ctx context.Context, conn *sql.Conn) error) (fault, error) {
	conn, err := s.write.Conn(ctx)
	if err != nil {
		return s.dialect.fault(err, false), err
	}
	defer conn.Close()
	if err := s.dialect.alive(conn); err != nil {
		return s.dialect.fault(err, false), err
	}
	if ctx.Err() != nil {
		return permanent, context.Cause(ctx)
	}
	whole, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitLimit)
	defer cancel()
	failpoint.Hit(failpoint.BeforePlainCommit)
	if err := do(whole, conn); err != nil {
		return s.dialect.fault(err, true), err
	}
	failpoint.Hit(failpoint.AfterPlainCommit)
	return permanent, nil
}
