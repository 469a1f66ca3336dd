package store

import (
	"context"
	"database/sql"
	"errors"

	"signoff/internal/domain"
)

const memoryColumns = `scope, content, revision, updated_us, by`

func scanMemory(row scanner) (domain.Memory, error) {
	var (
		m       domain.Memory
		updated int64
		by      string
	)
	if err := row.Scan(&m.Scope, &m.Content, &m.Revision, &updated, &by); err != nil {
		return m, err
	}
	m.Updated = timeOf(updated)
	return m, decode("by", by, &m.By)
}

// Memory returns the notes of a scope. Where nothing was ever written they are empty, of revision 0.
func (s *Store) Memory(ctx context.Context, tenant domain.TenantID, scope domain.MemoryScope) (domain.Memory, error) {
	m, err := selectFirst(ctx, s, "read memory", scanMemory, `select `+memoryColumns+` from memory where tenant_id = $1 and scope = $2`,
		text(string(tenant)), text(string(scope)))
	m.Scope = scope
	return m, err
}

// MemorySave replaces the notes of a scope.
type MemorySave struct {
	Scope    domain.MemoryScope
	Revision int64 // that was read, and is still stored
	Content  string
	By       domain.Actor
	Record   domain.AuditRecord

	// Execution is set where an agent writes, with the Epoch of the claim under which it runs. Without it, somebody writes
	// from outside.
	Execution domain.ExecutionID
	Epoch     int64
}

// SaveMemory replaces notes and appends the audit record. Of two who have read the same revision, the second gets a conflict: it
// would have wiped out what the first wrote. Under an epoch that does not hold any more the answer is domain.CodeStale:
// a driver that froze, and lost its lease without knowing, would otherwise note down what its successor does anew.
func (s *Store) SaveMemory(ctx context.Context, tenant domain.TenantID, save MemorySave) (saved domain.Memory, err error) {
	content := text(save.Content)
	if len(content) > domain.MaxMemoryBytes {
		return saved, domain.Errorf(domain.CodeInvalid, "The notes are %d bytes long; at most %d are kept.",
			len(content), domain.MaxMemoryBytes)
	}
	by, err := encode(save.By)
	if err != nil {
		return saved, err
	}
	err = s.audited(ctx, "save memory", tenant, save.Record, func(tx *sql.Tx) error {
		if save.Execution != "" {
			if err := s.lockDriven(ctx, tx, tenant, save.Execution, save.Epoch); err != nil {
				return err
			}
		}
		replace := `update memory set content = $3, revision = revision + 1, updated_us = now_us(), by = $4
			where tenant_id = $1 and scope = $2 and revision = $5 returning ` + memoryColumns
		if save.Revision == 0 {
			replace = `insert into memory (tenant_id, scope, content, revision, updated_us, by)
				values ($1, $2, $3, $5 + 1, now_us(), $4) on conflict do nothing returning ` + memoryColumns
		}
		saved, err = one(ctx, tx, scanMemory, replace,
			text(string(tenant)), text(string(save.Scope)), content, by, save.Revision)
		if errors.Is(err, sql.ErrNoRows) {
			return domain.Errorf(domain.CodeConflict, "The notes have changed since they were read: read them again.")
		}
		return err
	})
	return saved, err
}
