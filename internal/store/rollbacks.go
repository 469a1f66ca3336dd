package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"

	"signoff/internal/domain"
)

const rollbackColumns = `tenant_id, execution_id, number, state, request, journal, result, error, created_us, ended_us`

func scanRollback(row scanner) (r domain.Rollback, err error) {
	var (
		request                 string
		journal, result, failed sql.NullString
		created                 int64
		ended                   sql.NullInt64
	)
	if err := row.Scan(&r.Tenant, &r.Execution, &r.Number, &r.State, &request, &journal, &result, &failed, &created, &ended); err != nil {
		return r, err
	}
	if journal.Valid {
		r.Journal = json.RawMessage(journal.String)
	}
	r.Created, r.Ended = timeOf(created), optionalTime(ended)
	var err1, err2 error
	r.Result, err1 = optional[domain.RollbackResult]("result", result)
	r.Error, err2 = optional[domain.Failure]("error", failed)
	return r, errors.Join(decode("request", request, &r.Request), err1, err2)
}

// Rollbacks returns the rollbacks of an execution, in their order. It does not check the tenant: the caller has read the execution.
func (s *Store) Rollbacks(ctx context.Context, id domain.ExecutionID) ([]domain.Rollback, error) {
	return selectAll(ctx, s, "read rollbacks", scanRollback,
		`select `+rollbackColumns+` from rollbacks where execution_id = $1 order by number`, text(string(id)))
}

// NewRollback is the request for a rollback.
type NewRollback struct {
	Execution domain.ExecutionID
	Request   domain.RollbackRequest
	Record    domain.AuditRecord
	Replica   ReplicaID // it does the rollback if the execution has ended
}

// RequestRollback writes a request with its audit record. The driver of a live execution does the rollback. After the end of the execution, the replica of the
// request does it, and the rollback is running at once. If another rollback of the execution is open, the error is domain.CodeBusy.
func (s *Store) RequestRollback(ctx context.Context, tenant domain.TenantID, wanted NewRollback) (made domain.Rollback, err error) {
	request, err := encode(wanted.Request)
	if err != nil {
		return made, err
	}
	err = s.audited(ctx, "request a rollback", tenant, wanted.Record, func(tx *sql.Tx) error {
		ended, err := one(ctx, tx, scanValue[int64], `select ended from execution_heads where execution_id = $1 and tenant_id = $2`+s.dialect.lock,
			text(string(wanted.Execution)), text(string(tenant)))
		if errors.Is(err, sql.ErrNoRows) {
			return notFound("execution")
		}
		if err != nil {
			return err
		}
		state, replica := domain.RollbackRequested, sql.NullString{}
		if ended != 0 {
			state, replica = domain.RollbackRunning, sql.NullString{String: string(wanted.Replica), Valid: true}
		}
		made, err = one(ctx, tx, scanRollback, `
			insert into rollbacks (execution_id, number, tenant_id, state, request, replica, created_us)
			select $1, 1 + coalesce(max(number), 0), $2, $3, $4, $5, now_us() from rollbacks where execution_id = $1
			on conflict do nothing returning `+rollbackColumns,
			text(string(wanted.Execution)), text(string(tenant)), string(state), request, replica)
		if errors.Is(err, sql.ErrNoRows) {
			return domain.Errorf(domain.CodeBusy, "Another rollback of this execution has not ended yet.")
		}
		return err
	})
	return made, err
}

// OpenRollback returns the rollback of an execution that has not ended; nil: there is none. It does not check the tenant: the caller drives the execution.
func (s *Store) OpenRollback(ctx context.Context, id domain.ExecutionID) (*domain.Rollback, error) {
	all, err := selectAll(ctx, s, "read the open rollback", scanRollback,
		`select `+rollbackColumns+` from rollbacks where execution_id = $1 and ended_us is null`, text(string(id)))
	if len(all) == 0 {
		return nil, err
	}
	return &all[0], err
}

// RollbackWriter identifies the writer of a rollback: the driver of an execution by its epoch, or a replica after the end of the execution.
type RollbackWriter struct {
	Tenant    domain.TenantID
	Execution domain.ExecutionID
	Number    int
	Epoch     int64
	Replica   ReplicaID
}

// lock locks the row that proves that the writer still does the rollback.
func (w RollbackWriter) lock(ctx context.Context, s *Store, tx *sql.Tx) error {
	if w.Epoch > 0 {
		return s.lockDriven(ctx, tx, w.Tenant, w.Execution, w.Epoch)
	}
	_, err := one(ctx, tx, scanValue[int64], `select number from rollbacks where execution_id = $1 and number = $2 and replica = $3 and ended_us is null`+s.dialect.lock,
		text(string(w.Execution)), int64(w.Number), text(string(w.Replica)))
	if errors.Is(err, sql.ErrNoRows) {
		return stale("The rollback is done by somebody else, or has ended.")
	}
	return err
}

// JournalRollback stores the journal of a rollback before it changes the first file.
func (s *Store) JournalRollback(ctx context.Context, w RollbackWriter, journal json.RawMessage) error {
	return s.transact(ctx, "keep the journal of a rollback", func(tx *sql.Tx) error {
		if err := w.lock(ctx, s, tx); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `update rollbacks set state = 'running', journal = coalesce(journal, $3) where execution_id = $1 and number = $2 and ended_us is null`,
			text(string(w.Execution)), int64(w.Number), text(string(journal)))
		return err
	})
}

// RollbackEnd is the end of a rollback.
type RollbackEnd struct {
	Number int
	State  domain.RollbackState
	Result *domain.RollbackResult
	Error  *domain.Failure
}

// EndOfRollback returns the end of a rollback. Its result is kept if the rollback has come as far as the folders.
func EndOfRollback(number int, result domain.RollbackResult, err error) RollbackEnd {
	end := RollbackEnd{Number: number, State: domain.RollbackDone}
	switch {
	case err != nil:
		end.State, end.Error = domain.RollbackFailed, new(domain.FailureOf(err))
	case result.Error != nil:
		end.State, end.Error = domain.RollbackFailed, result.Error
	}
	if result.Folders != nil {
		end.Result = &result
	}
	return end
}

// EndRollback ends a rollback of an execution that has ended, with its audit record. The driver of a live execution uses [Change.EndRollback] instead.
func (s *Store) EndRollback(ctx context.Context, w RollbackWriter, end RollbackEnd, record domain.AuditRecord) error {
	result, err1 := encodeOptional(end.Result)
	failed, err2 := encodeOptional(end.Error)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	return s.audited(ctx, "end a rollback", w.Tenant, record, func(tx *sql.Tx) error {
		if err := w.lock(ctx, s, tx); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `update rollbacks set state = $3, result = $4, error = $5, ended_us = now_us() where execution_id = $1 and number = $2`,
			text(string(w.Execution)), int64(w.Number), string(end.State), result, failed)
		return err
	})
}

// TakeOverRollbacks gives this replica the open rollbacks of ended executions that a dead replica or the last driver of the execution has begun.
func (s *Store) TakeOverRollbacks(ctx context.Context, replica ReplicaID) ([]domain.Rollback, error) {
	const orphanedRollbacks = ` from rollbacks b where b.ended_us is null
		and exists (select 1 from execution_heads h where h.execution_id = b.execution_id and h.ended <> 0)
		and (b.replica is null or b.replica <> $1 and not exists (select 1 from replicas r where r.id = b.replica and r.lease_until_us > now_us()))`
	found, err := selectAll(ctx, s, "look for open rollbacks", scanValue[string], `select b.execution_id`+orphanedRollbacks+` limit 100`, text(string(replica)))
	if err != nil || len(found) == 0 {
		return nil, err
	}
	var all []domain.Rollback
	err = s.transact(ctx, "take rollbacks over", func(tx *sql.Tx) (err error) {
		all, err = collect(ctx, tx, scanRollback, `
			update rollbacks set state = 'running', replica = $1 where ended_us is null and execution_id in (
				select b.execution_id`+orphanedRollbacks+` limit 100) returning `+rollbackColumns, text(string(replica)))
		return err
	})
	return all, err
}

// endRollbacks ends the rollbacks that the drivers of live executions have done. At the end of an execution it also ends a rollback that nobody has begun.
func (b *batch) endRollbacks() error {
	var rows []row
	for i, c := range b.live {
		end := c.EndRollback
		if end == nil {
			continue
		}
		result, err1 := encodeOptional(end.Result)
		failed, err2 := encodeOptional(end.Error)
		if err := errors.Join(err1, err2); err != nil {
			return err
		}
		rows = append(rows, row{i, []any{string(c.Execution), int64(end.Number), string(end.State), result, failed}})
	}
	err := b.insert(`id text, number bigint, state text, result text, error text`, rows, `
		update rollbacks as r set state = v.state, result = v.result, error = v.error, ended_us = now_us()
		from v where r.execution_id = v.id and r.number = v.number and r.ended_us is null`)
	if err != nil {
		return err
	}
	return b.insert(`id text`, b.ending(), `
		update rollbacks as r set state = 'failed', error = '{"code":"executionEnded","message":"The execution ended before the rollback began."}', ended_us = now_us()
		from v where r.execution_id = v.id and r.state = 'requested'`)
}
