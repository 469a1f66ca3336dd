package store

import (
	"context"
	"time"

	"signoff/internal/domain"
)

// ClaimWork gives one replica a lease on a piece of work for ttl, by the clock of the database, or prolongs its lease. false: another replica has the lease.
func (s *Store) ClaimWork(ctx context.Context, work string, by ReplicaID, ttl time.Duration) (bool, error) {
	changed, err := s.exec(ctx, "claim work", `
		insert into work_leases (work, holder, until_us) values ($1, $2, now_us() + $3)
		on conflict (work) do update set holder = excluded.holder, until_us = excluded.until_us
			where work_leases.until_us <= now_us() or work_leases.holder = excluded.holder`,
		text(work), text(string(by)), ttl.Microseconds())
	return changed == 1, err
}

// ReleaseWork ends the lease of a replica.
func (s *Store) ReleaseWork(ctx context.Context, work string, by ReplicaID) error {
	_, err := s.exec(ctx, "release work", `delete from work_leases where work = $1 and holder = $2`, text(work), text(string(by)))
	return err
}

// HasExecution reports whether an execution has a row. A deleted execution has one until all its rows are removed.
func (s *Store) HasExecution(ctx context.Context, id domain.ExecutionID) (bool, error) {
	found, err := selectAll(ctx, s, "look for an execution", scanValue[string], `select id from executions where id = $1`, text(string(id)))
	return len(found) > 0, err
}
