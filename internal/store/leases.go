package store

import (
	"context"
	"database/sql"
	"time"

	"signoff/internal/domain"
)

// Claimed is an execution that a replica may drive from now on.
type Claimed struct {
	Execution domain.Execution
	Epoch     int64
}

// Heartbeat keeps a replica alive for ttl, by the clock of the database. A replica must count its own ttl from before
// the call, and stop what it drives when that is over.
func (s *Store) Heartbeat(ctx context.Context, replica ReplicaID, ttl time.Duration) error {
	_, err := s.exec(ctx, "renew the lease", `
		insert into replicas (id, lease_until_us, started_us) values ($1, now_us() + $2, now_us())
		on conflict (id) do update set lease_until_us = excluded.lease_until_us`, text(string(replica)), ttl.Microseconds())
	return err
}

// abandoned holds for the head h of a live execution that no living replica drives.
const abandoned = `h.ended = 0 and (h.owner is null or not exists (
	select 1 from replicas r where r.id = h.owner and r.lease_until_us > now_us()))`

// Claim gives replica up to limit abandoned executions, each under a new epoch, so that whoever drove it before cannot
// write any more. Two callers never get the same. A replica without a valid lease gets nothing: it would be robbed at
// once.
func (s *Store) Claim(ctx context.Context, replica ReplicaID, limit int) ([]Claimed, error) {
	var claimed []Claimed
	err := s.transact(ctx, "claim executions", func(tx *sql.Tx) error {
		// The condition is repeated outside of the subselect. Postgres chooses the candidates from a snapshot, and asks
		// the outer condition again of a row that another claimer has changed since.
		won, err := collect(ctx, tx, scanText, `
			update execution_heads as h set owner = $1, epoch = h.epoch + 1, recoveries = h.recoveries + 1
			where h.execution_id in (
				select h.execution_id from execution_heads h where `+abandoned+`
				order by h.execution_id limit $2`+s.dialect.skipLocked+`)
			and `+abandoned+`
			and exists (select 1 from replicas me where me.id = $1 and me.lease_until_us > now_us())
			returning execution_id`, text(string(replica)), limit)
		if err != nil || len(won) == 0 {
			return err
		}
		claimed, err = s.claimed(ctx, tx, won)
		return err
	})
	return claimed, err
}

func (s *Store) claimed(ctx context.Context, tx *sql.Tx, ids []string) ([]Claimed, error) {
	won := list{columns: columns("id text")}
	for _, id := range ids {
		won.rows = append(won.rows, []any{id})
	}
	with, args := s.dialect.with(won)
	return collect(ctx, tx, scanClaimed,
		with+` select h.epoch, `+executionColumns+executionTables+`join v on v.id = e.id order by e.created_us, e.id`, args...)
}

func scanClaimed(row scanner) (c Claimed, err error) {
	c.Execution, err = scanExecution(scanFirst{row, &c.Epoch})
	return c, err
}

// Owned returns all that a replica may drive. After a [Store.Claim] or a creation whose outcome stayed unknown it tells
// what came of it: an execution that its owner does not know of would wait as long as the owner lives.
func (s *Store) Owned(ctx context.Context, replica ReplicaID) ([]Claimed, error) {
	owned, err := collect(ctx, s.read, scanClaimed, `select h.epoch, `+executionColumns+executionTables+
		`where h.ended = 0 and h.owner = $1 order by e.created_us, e.id`, text(string(replica)))
	if err != nil {
		return nil, s.failed("read what a replica drives", err)
	}
	return owned, nil
}

// oneLess takes back that the claim was counted: what is let go in good order has not failed.
const oneLess = `case when recoveries > 0 then recoveries - 1 else 0 end`

// Release ends a replica in good order: what it drives is anybody's at once.
func (s *Store) Release(ctx context.Context, replica ReplicaID) error {
	return s.transact(ctx, "release the lease", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `
			update execution_heads set owner = null, recoveries = `+oneLess+` where owner = $1 and execution_id in (
				select execution_id from execution_heads where ended = 0 and owner = $1
				order by execution_id`+s.dialect.lock+`)`, text(string(replica)))
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `delete from replicas where id = $1`, text(string(replica)))
		return err
	})
}

// ReleaseExecution lets go of one execution, where the claim under epoch still stands.
func (s *Store) ReleaseExecution(ctx context.Context, id domain.ExecutionID, epoch int64) error {
	changed, err := s.exec(ctx, "release an execution", `
		update execution_heads set owner = null, recoveries = `+oneLess+` where execution_id = $1 and epoch = $2`, text(string(id)), epoch)
	if err == nil && changed == 0 {
		return stale("The execution is driven by somebody else, or gone.")
	}
	return err
}

// ForgetReplicas ends the leases of all replicas. It is for a server that has just started on a SQLite file, where
// [Store.LockServer] proves that no other lives: so it need not wait for the lease of its predecessor, who was killed.
// On a shared database it does nothing.
func (s *Store) ForgetReplicas(ctx context.Context) error {
	if s.Shared() {
		return nil
	}
	_, err := s.exec(ctx, "forget dead replicas", `delete from replicas`)
	return err
}
