package store

import (
	"context"
	"database/sql"
	"errors"

	"signoff/internal/domain"
)

// Delete marks an execution as deleted, for which it needs one short transaction however long the log is. From then on it is gone for
// clients: no read with a tenant finds it, no list and no feed shows it, its idempotency key is free, and only its driver may still write
// to it. One that has not ended is asked to cancel by the actor of record, which goes to the audit. [Store.Remove] removes its rows
// afterwards, portion by portion.
//
// Deleting it again is no error and writes nothing; once its rows are gone it is not found.
func (s *Store) Delete(ctx context.Context, tenant domain.TenantID, id domain.ExecutionID, record domain.AuditRecord) error {
	request := CancelRequest{Reason: "deleted"}
	if record.Actor != nil {
		request.By = *record.Actor
	}
	cancel, err := encode(request)
	if err != nil {
		return err
	}
	return s.transact(ctx, "delete an execution", func(tx *sql.Tx) error {
		deleted, err := one(ctx, tx, scanValue[bool], `
			select deleted_us is not null from execution_heads where execution_id = $1 and tenant_id = $2`+s.dialect.lock,
			text(string(id)), text(string(tenant)))
		if err = s.found(err, "execution"); err != nil || deleted {
			return err
		}
		for _, statement := range []struct {
			text string
			args []any
		}{
			{`update execution_heads set deleted_us = now_us(), bell = bell + 1, wake_us = 0, recoveries = 0 where execution_id = $1`, nil},
			{`update executions set cancel = coalesce(cancel, $2), updated_us = now_us() where id = $1 and ended_us is null`, []any{cancel}},
			{`delete from idempotency_keys where execution_id = $1`, nil},
		} {
			if _, err := tx.ExecContext(ctx, statement.text, append([]any{text(string(id))}, statement.args...)...); err != nil {
				return err
			}
		}
		return s.appendAudit(ctx, tx, tenant, record)
	})
}

// Deleted is an execution that somebody has deleted, and of which rows are left.
type Deleted struct {
	Execution domain.ExecutionID
	Ended     bool // its rows can be removed; before, its driver is to end it
}

// Deleted returns up to limit executions of all tenants that are deleted and of which rows are left, those that have ended first.
func (s *Store) Deleted(ctx context.Context, limit int) ([]Deleted, error) {
	return selectAll(ctx, s, "read what is deleted", func(row scanner) (d Deleted, err error) { return d, row.Scan(&d.Execution, &d.Ended) }, `
		select execution_id, ended = 1 from execution_heads where deleted_us is not null
		order by ended desc, deleted_us, execution_id limit $1`, limit)
}

// RemovedAtOnce is how many rows one call of [Store.Remove] removes at most, but for those that belong to the row of the execution itself.
// SQLite has one writer: all others wait for so many rows, and not for a log of a million events.
const RemovedAtOnce = 1000

// belongings are the tables that may have many rows of one execution, beside its events, each with the key of a row. All other rows are deleted
// with that of the execution.
var belongings = []struct{ table, key string }{
	{"item_folds", "execution_id"}, // before its rows: who reads on finds that they count no more
	{"item_rows", "place"},
	{"feed", "position"},
	{"approvals", "id"},
	{"prompts", "id"},
	{"debug_messages", "n"},
	{"answer_states", "message_id"},
	{"paused_requests", "call_id"},
	{"client_calls", "call_id"},
	{"generations", "number"},
	{"permission_rules", "id"},
}

// Removal is what a call of [Store.Remove] has done.
type Removal int

const (
	RemovalNone     Removal = iota // there is nothing to remove, or another replica is about it
	RemovalPortion                 // there may be more to remove
	RemovalComplete                // no row is left
)

// Remove removes a portion of an execution that is deleted and has ended. The row of the execution itself goes last, so that whoever looks
// for what is deleted finds it until then.
func (s *Store) Remove(ctx context.Context, id domain.ExecutionID) (done Removal, err error) {
	err = s.transact(ctx, "remove a deleted execution", func(tx *sql.Tx) error {
		done = RemovalNone
		head, err := one(ctx, tx, func(row scanner) (h removal, err error) { return h, row.Scan(&h.removed, &h.last) }, `
			select removed_seq, last_seq from execution_heads
			where execution_id = $1 and deleted_us is not null and ended = 1`+s.dialect.skipLocked, text(string(id)))
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err == nil {
			done, err = s.removePortion(ctx, tx, id, head)
		}
		return err
	})
	if err != nil {
		return RemovalNone, err
	}
	return done, nil
}

// removePortion removes files before all else: their bytes are what somebody who deletes an execution thinks of first.
func (s *Store) removePortion(ctx context.Context, tx *sql.Tx, id domain.ExecutionID, head removal) (Removal, error) {
	taken, err := s.removeFilesOf(ctx, tx, id)
	if err != nil {
		return RemovalNone, err
	}
	if taken == filesAtOnce {
		return RemovalPortion, nil
	}
	return head.remove(ctx, tx, id)
}

// removal is how far the events of an execution are removed.
type removal struct{ removed, last int64 }

func (r removal) remove(ctx context.Context, tx *sql.Tx, id domain.ExecutionID) (Removal, error) {
	removed := 0
	for _, b := range belongings {
		n, err := affected(tx.ExecContext(ctx, `
			delete from `+b.table+` where execution_id = $1 and `+b.key+` in (
				select `+b.key+` from `+b.table+` where execution_id = $1 limit $2)`, text(string(id)), RemovedAtOnce-removed))
		if removed += n; err != nil || removed >= RemovedAtOnce {
			return RemovalPortion, err
		}
	}
	// Events are found by the place where the portion before ended: to look for the first that is left would mean to walk past
	// all that are not, as long as a reader keeps Postgres from forgetting them.
	to := min(r.last, r.removed+int64(RemovedAtOnce-removed))
	n, err := affected(tx.ExecContext(ctx, `delete from events where execution_id = $1 and seq > $2 and seq <= $3`, text(string(id)), r.removed, to))
	if err != nil {
		return RemovalNone, err
	}
	done := RemovalPortion
	statement, args := `update execution_heads set removed_seq = $2 where execution_id = $1`, []any{text(string(id)), to}
	if to == r.last && removed+n < RemovedAtOnce {
		done, statement, args = RemovalComplete, `delete from executions where id = $1`, args[:1]
	}
	_, err = tx.ExecContext(ctx, statement, args...)
	return done, err
}

func affected(result sql.Result, err error) (int, error) {
	if err != nil {
		return 0, err
	}
	n, err := result.RowsAffected()
	return int(n), err
}
