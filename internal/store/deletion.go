package store

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strconv"

	"signoff/internal/domain"
)

// Delete marks an execution as deleted, for which it needs one short transaction however long the log is. From then on it is gone for
// clients: no read with a tenant finds it, no list and no feed shows it, its idempotency key is free, and only its driver may still write
// to it. One that has not ended is asked to cancel by the actor of record, which goes to the audit. [Store.Remove] removes its rows
// afterwards, portion by portion.
//
// A root is deleted with all executions below it; a child is refused as domain.CodeConflict.
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
	for {
		err := s.transact(ctx, "delete an execution", func(tx *sql.Tx) error {
			left, err := s.lockTree(ctx, tx, tenant, id)
			if err != nil || len(left) == 0 {
				return err
			}
			if err := s.markDeleted(ctx, tx, left, cancel); err != nil {
				return err
			}
			return s.appendAudit(ctx, tx, tenant, record)
		})
		if !errors.Is(err, errTreeGrown) { // at most once for each child
			return err
		}
	}
}

// errTreeGrown: a child was created before its tree was locked, so the transaction starts again with that child.
var errTreeGrown = domain.Errorf(domain.CodeInternal, "the tree has grown")

// lockTree locks the heads of a root and of all executions below it, and returns those that are not deleted. All are locked in one statement, by id as
// in a batch: ids are made by the clocks of several replicas, so that of a child may come before that of its root. Once the root is locked, no child is
// created, see withRoots; a child that was created while the statement waited for that lock is not locked.
func (s *Store) lockTree(ctx context.Context, tx *sql.Tx, tenant domain.TenantID, root domain.ExecutionID) (left []string, err error) {
	if err := s.refuseChild(ctx, tx, tenant, root); err != nil {
		return nil, err
	}
	const below = `select execution_id from children where root_id = $1`
	before, err := collect(ctx, tx, scanValue[string], below, text(string(root)))
	if err != nil {
		return nil, err
	}
	given := list{columns: columns("id text"), rows: [][]any{{text(string(root))}}}
	for _, id := range before {
		given.rows = append(given.rows, []any{id})
	}
	with, args := s.dialect.with(given)
	heads, err := collect(ctx, tx, scanHead, with+`
		select `+headColumns+` from execution_heads h where h.execution_id in (select id from v) and h.tenant_id = $`+strconv.Itoa(len(args)+1)+`
		order by h.execution_id`+s.dialect.lock, append(args, text(string(tenant)))...)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(heads, func(h Head) bool { return h.Execution == root }) {
		return nil, notFound("execution")
	}
	after, err := collect(ctx, tx, scanValue[string], below, text(string(root)))
	if err == nil && slices.ContainsFunc(after, func(id string) bool { return !slices.Contains(before, id) }) {
		err = errTreeGrown
	}
	for _, head := range heads {
		if !head.Deleted {
			left = append(left, string(head.Execution))
		}
	}
	return left, err
}

// refuseChild refuses to delete a child without its root. If a server of an older version has deleted the root alone, the child may be deleted.
func (s *Store) refuseChild(ctx context.Context, tx *sql.Tx, tenant domain.TenantID, id domain.ExecutionID) error {
	roots, err := collect(ctx, tx, scanValue[string], `
		select c.root_id from children c
			join execution_heads h on h.execution_id = c.execution_id join execution_heads r on r.execution_id = c.root_id
		where c.execution_id = $1 and c.tenant_id = $2 and h.deleted_us is null and r.deleted_us is null`, text(string(id)), text(string(tenant)))
	if err == nil && len(roots) > 0 {
		err = domain.Errorf(domain.CodeConflict, "The execution was delegated: it is deleted with its root %s.", roots[0])
	}
	return err
}

// markDeleted marks executions whose heads are locked.
func (s *Store) markDeleted(ctx context.Context, tx *sql.Tx, ids []string, cancel string) error {
	given := list{columns: columns("id text, cancel text")}
	for _, id := range ids {
		given.rows = append(given.rows, []any{id, cancel})
	}
	with, args := s.dialect.with(given)
	for _, statement := range []string{
		`update execution_heads as h set deleted_us = now_us(), bell = h.bell + 1, wake_us = 0, recoveries = 0 from v where h.execution_id = v.id`,
		`update executions as e set cancel = coalesce(e.cancel, v.cancel), updated_us = now_us() from v where e.id = v.id and e.ended_us is null`,
		`delete from idempotency_keys where execution_id in (select id from v)`,
	} {
		if _, err := tx.ExecContext(ctx, with+" "+statement, args...); err != nil {
			return err
		}
	}
	return nil
}

// Deleted is an execution that somebody has deleted, and of which rows are left.
type Deleted struct {
	Execution domain.ExecutionID
	Ended     bool // its rows can be removed; before, its driver is to end it
}

// Deleted returns up to limit executions of all tenants that are deleted and of which rows are left, those that have ended first. A root is not among them
// as long as there are executions below it.
func (s *Store) Deleted(ctx context.Context, limit int) ([]Deleted, error) {
	return selectAll(ctx, s, "read what is deleted", func(row scanner) (d Deleted, err error) { return d, row.Scan(&d.Execution, &d.Ended) }, `
		select execution_id, ended = 1 from execution_heads where deleted_us is not null and `+childless+`
		order by ended desc, deleted_us, execution_id limit $1`, limit)
}

// childless excludes roots that have children: nobody would find the children after their root is removed.
const childless = `not exists (select 1 from children c where c.root_id = execution_heads.execution_id)`

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
	{"viewed_files", "path_hash"},
	{"rollbacks", "number"},
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
// for what is deleted finds it until then. A root goes after all executions below it.
func (s *Store) Remove(ctx context.Context, id domain.ExecutionID) (done Removal, err error) {
	err = s.transact(ctx, "remove a deleted execution", func(tx *sql.Tx) error {
		done = RemovalNone
		head, err := one(ctx, tx, func(row scanner) (h removal, err error) { return h, row.Scan(&h.removed, &h.last) }, `
			select removed_seq, last_seq from execution_heads
			where execution_id = $1 and deleted_us is not null and ended = 1 and `+childless+s.dialect.skipLocked, text(string(id)))
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
		if _, err := tx.ExecContext(ctx, `delete from budget_ledger where account = $1`, text(AccountOfTree(id))); err != nil {
			return RemovalNone, err
		}
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
