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
	m, err := one(ctx, s.read, scanMemory, `select `+memoryColumns+` from memory where tenant_id = $1 and scope = $2`,
		text(string(tenant)), text(string(scope)))
	if errors.Is(err, sql.ErrNoRows) {
		return domain.Memory{Scope: scope}, nil
	}
	if err != nil {
		return domain.Memory{}, s.failed("read memory", err)
	}
	return m, nil
}

// SaveMemory replaces the notes of a scope, where revision is still the one that is stored, and tells the audit. Of two
// who have read the same, the second gets a conflict: it would have wiped out what the first wrote.
func (s *Store) SaveMemory(ctx context.Context, tenant domain.TenantID, scope domain.MemoryScope, revision int64, content string,
	by domain.Actor, record domain.AuditRecord) (saved domain.Memory, err error) {
	content = text(content)
	if len(content) > domain.MaxMemoryBytes {
		return saved, domain.Errorf(domain.CodeInvalid, "The notes are %d bytes long; at most %d are kept.",
			len(content), domain.MaxMemoryBytes)
	}
	who, err := encode(by)
	if err != nil {
		return saved, err
	}
	statement := `update memory set content = $3, revision = revision + 1, updated_us = now_us(), by = $4
		where tenant_id = $1 and scope = $2 and revision = $5 returning ` + memoryColumns
	if revision == 0 {
		statement = `insert into memory (tenant_id, scope, content, revision, updated_us, by)
			values ($1, $2, $3, $5 + 1, now_us(), $4) on conflict do nothing returning ` + memoryColumns
	}
	err = s.audited(ctx, "save memory", tenant, record, func(tx *sql.Tx) error {
		saved, err = one(ctx, tx, scanMemory, statement, text(string(tenant)), text(string(scope)), content, who, revision)
		if errors.Is(err, sql.ErrNoRows) {
			return domain.Errorf(domain.CodeConflict, "The notes have changed since they were read: read them again.")
		}
		return err
	})
	return saved, err
}
