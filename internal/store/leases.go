package store

import (
	"context"
	"database/sql"
	"strconv"
	"time"

	"signoff/internal/domain"
	"signoff/internal/failpoint"
)

// Acquired is an execution that a replica may drive from now on.
type Acquired struct {
	Execution     domain.Execution
	Epoch         int64
	ForeignWrites int64 // as it stood then, see [Park]
}

// neverText is [never] for a statement.
var neverText = strconv.Itoa(never)

// Heartbeat keeps a replica alive for ttl, by the clock of the database. A replica must count its own ttl from before
// the call, and stop its executions when it is over. On Postgres it has its own connection: behind a burst of commits on all others, a
// renewal would come too late, and the replica would lose its executions.
func (s *Store) Heartbeat(ctx context.Context, replica ReplicaID, ttl time.Duration) error {
	failpoint.Hit(failpoint.BeforeRenewal)
	if s.lease != nil {
		s = s.lease
	}
	_, err := s.exec(ctx, "renew the lease", `
		insert into replicas (id, lease_until_us, started_us, understands) values ($1, now_us() + $2, now_us(), `+strconv.Itoa(domain.Understands)+`)
		on conflict (id) do update set lease_until_us = excluded.lease_until_us, understands = excluded.understands`, text(string(replica)), ttl.Microseconds())
	failpoint.Hit(failpoint.AfterRenewal)
	return err
}

// released holds for the head h of a live execution that nobody drives and that can continue: it is not parked, or its wake time has
// come. The time is read once: Postgres would hold each of a hundred thousand parked rows against a clock that may have moved on.
const released = `h.ended = 0 and h.owner is null and h.wake_us <= (select now_us())`

// orphaned holds for the head h of a live execution whose driver's lease is over. `owner > ”` means not null, and SQLite
// finds it in an index.
const orphaned = `h.ended = 0 and h.owner > '' and not exists (
	select 1 from replicas r where r.id = h.owner and r.lease_until_us > now_us())`

// Acquire gives replica up to limit executions that nobody drives, each under a new epoch, so that the previous driver cannot write
// any more. Two callers never get the same one. A replica without a valid lease gets nothing: others would acquire its executions at
// once. An execution that requires more than the binary of the replica understands stays where it is, by a trigger: so it does for older binaries,
// which do not ask. Released executions come before orphaned ones. Only an orphaned one counts as a recovery, and nobody gets it before its delay
// is over: see [Config]. The replica leaves the executions of but to others.
func (s *Store) Acquire(ctx context.Context, replica ReplicaID, limit int, but ...domain.ExecutionID) ([]Acquired, error) {
	if err := s.setAside(ctx, replica); err != nil {
		return nil, err
	}
	return s.acquire(ctx, replica, released+` and h.execution_id not in (select id from v)`, asIndexed, limit, nil, but...)
}

// setAsideBatch bounds the heads that one transaction sets aside: on SQLite all other writers wait for it.
const setAsideBatch = 1000

// setAside takes executions from drivers whose lease is over and counts a recovery for each. Nobody drives them until their delay is over. The delay is a
// row, so it survives the replica that has set it, and any write to the execution ends it.
func (s *Store) setAside(ctx context.Context, replica ReplicaID) error {
	const found = `select h.execution_id, h.recoveries from execution_heads h where ` + orphaned
	for {
		some, err := selectAll(ctx, s, "look for orphaned executions", scanOrphaned, found+` limit 1`)
		if err != nil || len(some) == 0 {
			return err
		}
		n := 0
		failpoint.Hit(failpoint.BeforeSetAside)
		err = s.transact(ctx, "set orphaned executions aside", func(tx *sql.Tx) error {
			all, err := collect(ctx, tx, scanOrphaned, found+` and exists (select 1 from replicas me where me.id = $1 and me.lease_until_us > now_us())
				order by h.owner limit `+strconv.Itoa(setAsideBatch)+s.dialect.skipLocked, text(string(replica)))
			if n = len(all); err != nil || n == 0 {
				return err
			}
			given := list{columns: columns("id text, recoveries bigint, delay bigint")}
			for _, one := range all {
				given.rows = append(given.rows, []any{one.id, one.recoveries + 1, s.recoveryDelay(int(one.recoveries) + 1).Microseconds()})
			}
			with, args := s.dialect.with(given)
			_, err = tx.ExecContext(ctx, with+`
				update execution_heads as h set owner = null, recoveries = v.recoveries, wake_us = now_us() + v.delay
				from v where h.execution_id = v.id`, args...)
			return err
		})
		failpoint.Hit(failpoint.AfterSetAside)
		if err != nil || n < setAsideBatch {
			return err
		}
	}
}

// orphanedHead is an execution whose driver's lease is over.
type orphanedHead struct {
	id         string
	recoveries int64
}

func scanOrphaned(row scanner) (l orphanedHead, err error) { return l, row.Scan(&l.id, &l.recoveries) }

// AcquireNow is [Store.Acquire] for given executions, which a client waits for.
func (s *Store) AcquireNow(ctx context.Context, replica ReplicaID, ids []domain.ExecutionID) ([]Acquired, error) {
	which := `(` + released + ` or ` + orphaned + `) and h.execution_id in (select id from v)`
	return s.acquire(ctx, replica, which, asKeyed, len(ids), nil, ids...)
}

// inQueue is the queue: nth is the place of an execution among those of its tree. The trees of a tenant take turns, and a root without children is a tree
// of its own.
const inQueue = `
	select h.execution_id, h.tenant_id, h.queued_us, row_number() over (
		partition by h.tenant_id, coalesce(c.root_id, h.execution_id) order by h.queued_us, h.execution_id) as nth
	from execution_heads h left join children c on c.execution_id = h.execution_id where h.queued_us is not null`

// AcquireQueued gives replica up to limit queued executions: of the tenant with the fewest live ones first, and of each tenant one of each tree in turn, the
// oldest first. live counts the executions of each tenant on this replica; no tenant gets more than each. So a tenant or a tree with a long queue delays
// nobody else, even if there is room for only one at a time. The reading does not check that queued executions live and have no driver: they always do, and SQLite would search
// all undriven ones for it.
func (s *Store) AcquireQueued(
	ctx context.Context, replica ReplicaID, limit, each int, live map[domain.TenantID]int,
) ([]Acquired, error) {
	has := list{columns: columns("tenant text, live bigint"), rows: [][]any{{"", int64(0)}}}
	for tenant, n := range live {
		has.rows = append(has.rows, []any{text(string(tenant)), int64(n)})
	}
	with, args := s.dialect.with(has)
	next, err := selectAll(ctx, s, "read the queue", scanValue[domain.ExecutionID], with+`
		select execution_id from (
			select q.execution_id, q.queued_us, coalesce(v.live, 0) +
				row_number() over (partition by q.tenant_id order by q.nth, q.queued_us, q.execution_id) as turn
			from (`+inQueue+`) q left join v on v.tenant = q.tenant_id) waiting
		where turn <= `+strconv.Itoa(each)+`
		order by turn, queued_us, execution_id limit `+strconv.Itoa(limit), args...)
	if err != nil || len(next) == 0 {
		return nil, err
	}
	which := `h.ended = 0 and h.owner is null and h.queued_us is not null and h.execution_id in (select id from v)`
	return s.acquire(ctx, replica, which, asKeyed, limit, s.passTurns, next...)
}

// passTurns moves the waiting executions of trees that have had their turn to the end of the queue. It skips locked rows, because waiting for them could
// deadlock.
func (s *Store) passTurns(ctx context.Context, tx *sql.Tx, won []string) error {
	given := list{columns: columns("id text")}
	for _, id := range won {
		given.rows = append(given.rows, []any{id})
	}
	with, args := s.dialect.with(given)
	_, err := tx.ExecContext(ctx, with+`
		update execution_heads set queued_us = (select now_us()) where execution_id in (
			select h.execution_id from execution_heads h where h.queued_us is not null and h.execution_id in (
				select c.execution_id from children c join children w on w.root_id = c.root_id join v on v.id = w.execution_id)
			order by h.execution_id`+s.dialect.skipLocked+`)`, args...)
	return err
}

// The order in which acquire chooses. Without ids it is that of the index execution_heads_due: for any other order Postgres, which estimates that a
// third of all rows is due, walks a hundred thousand parked rows until it has found its limit.
const (
	asIndexed = `h.owner, h.wake_us`
	asKeyed   = `h.execution_id`
)

// acquire makes replica the owner of up to limit heads for which the condition holds. The statement has the condition twice: Postgres chooses from a
// snapshot, and checks the outer condition again for a row that another replica has changed since. It materializes the choice: a plan that chooses
// for each row would take more than the limit. also, if it is not nil, is done in the same transaction with what was acquired.
func (s *Store) acquire(
	ctx context.Context, replica ReplicaID, which, order string, limit int, also func(context.Context, *sql.Tx, []string) error, ids ...domain.ExecutionID,
) (claimed []Acquired, err error) {
	given := list{columns: columns("id text, me text"), rows: [][]any{{"", text(string(replica))}}}
	for _, id := range ids {
		given.rows = append(given.rows, []any{text(string(id)), text(string(replica))})
	}
	with, args := s.dialect.with(given)
	failpoint.Hit(failpoint.BeforeAcquire)
	err = s.transact(ctx, "acquire executions", func(tx *sql.Tx) error {
		won, err := collect(ctx, tx, scanValue[string], with+`, chosen as materialized (
				select h.execution_id from execution_heads h where `+which+`
				order by `+order+` limit `+strconv.Itoa(limit)+s.dialect.skipLocked+`)
			update execution_heads as h set
				owner = (select min(me) from v), epoch = h.epoch + 1, wake_us = 0, queued_us = null,
				recoveries = case when h.owner is null then h.recoveries else h.recoveries + 1 end
			where h.execution_id in (select execution_id from chosen)
			and `+which+`
			and exists (select 1 from replicas me where me.id = (select min(me) from v) and me.lease_until_us > now_us())
			returning execution_id`, args...)
		if err != nil || len(won) == 0 {
			return err
		}
		if claimed, err = s.acquired(ctx, tx, won); err == nil && also != nil {
			err = also(ctx, tx, won)
		}
		return err
	})
	failpoint.Hit(failpoint.AfterAcquire)
	return claimed, err
}

func (s *Store) acquired(ctx context.Context, tx *sql.Tx, ids []string) ([]Acquired, error) {
	won := list{columns: columns("id text")}
	for _, id := range ids {
		won.rows = append(won.rows, []any{id})
	}
	with, args := s.dialect.with(won)
	return collect(ctx, tx, func(row scanner) (a Acquired, err error) {
		a.Execution, err = scanExecution(scanFirst{scanFirst{row, &a.Epoch}, &a.ForeignWrites})
		return a, err
	}, with+` select h.epoch, h.bell, `+executionColumns+executionTables+`join v on v.id = e.id order by e.created_us, e.id`, args...)
}

// Owned returns the executions of a replica with their epochs. It shows what became of a [Store.Acquire] or a creation whose answer was lost: an
// execution whose owner does not know of it would wait as long as the owner lives.
func (s *Store) Owned(ctx context.Context, replica ReplicaID) (map[domain.ExecutionID]int64, error) {
	heads, err := selectAll(ctx, s, "read the executions of a replica", scanHead,
		`select `+headColumns+` from execution_heads h where h.ended = 0 and h.owner = $1`, text(string(replica)))
	owned := make(map[domain.ExecutionID]int64, len(heads))
	for _, head := range heads {
		owned[head.Execution] = head.Epoch
	}
	return owned, err
}

// Release ends the lease of a replica: others may acquire its executions at once.
func (s *Store) Release(ctx context.Context, replica ReplicaID) error {
	failpoint.Hit(failpoint.BeforeRelease)
	return s.transact(ctx, "release the lease", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `
			update execution_heads set owner = null where owner = $1 and execution_id in (
				select execution_id from execution_heads where ended = 0 and owner = $1
				order by execution_id`+s.dialect.lock+`)`, text(string(replica)))
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `delete from replicas where id = $1`, text(string(replica)))
		return err
	})
}

// ReleaseExecution releases one execution, if its epoch still holds. It does not lock a row without an owner: a replica that looks for
// executions skips locked rows.
func (s *Store) ReleaseExecution(ctx context.Context, id domain.ExecutionID, epoch int64) error {
	failpoint.Hit(failpoint.BeforeReleaseExecution)
	changed, err := s.exec(ctx, "release an execution", `
		update execution_heads set owner = null where execution_id = $1 and epoch = $2 and owner is not null`, text(string(id)), epoch)
	failpoint.Hit(failpoint.AfterReleaseExecution)
	if err == nil && changed == 0 {
		return stale("The execution is driven by somebody else, or gone.")
	}
	return err
}

// ForgetReplicas ends the leases of all replicas. A server calls it after its start on a SQLite file, where [Store.LockServer] proves that no other
// server lives: it need not wait for the lease of its killed predecessor. On a shared database it does nothing.
func (s *Store) ForgetReplicas(ctx context.Context) error {
	if s.Shared() {
		return nil
	}
	_, err := s.exec(ctx, "forget dead replicas", `delete from replicas`)
	return err
}

// Waiting counts the queued executions: those of tenant, and of all tenants.
func (s *Store) Waiting(ctx context.Context, tenant domain.TenantID) (own, all int, err error) {
	counts, err := selectFirst(ctx, s, "count queued executions", scanCounts, `
		select count(case when tenant_id = $1 then 1 end), count(*) from execution_heads where queued_us is not null`,
		text(string(tenant)))
	return counts[0], counts[1], err
}

// Undriven counts the queued and the parked executions. It reads all of them, though from an index alone: too slow for each request.
func (s *Store) Undriven(ctx context.Context) (queued, parked int, err error) {
	counts, err := selectFirst(ctx, s, "count undriven executions", scanCounts, `
		select (select count(*) from execution_heads where queued_us is not null),
			(select count(*) from execution_heads where ended = 0 and owner is null and wake_us > (select now_us()))`)
	return counts[0], max(0, counts[1]-counts[0]), err // a queued execution does not wake by itself, either
}

func scanCounts(row scanner) (counts [2]int, err error) {
	return counts, row.Scan(&counts[0], &counts[1])
}

// QueuePosition is the place of an execution in the queue of its tenant: 1 is the next; 0: it is not queued.
func (s *Store) QueuePosition(ctx context.Context, tenant domain.TenantID, id domain.ExecutionID) (int, error) {
	return selectFirst(ctx, s, "read the queue", scanValue[int], `
		select place from (
			select execution_id, row_number() over (order by nth, queued_us, execution_id) as place
			from (`+inQueue+` and h.tenant_id = $1) q) waiting
		where execution_id = $2`,
		text(string(tenant)), text(string(id)))
}
