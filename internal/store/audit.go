package store

import (
	"context"
	"database/sql"
	"encoding/json"

	"signoff/internal/domain"
)

// AuditFilter chooses from the audit of a tenant. Zero values choose all.
type AuditFilter struct {
	Execution domain.ExecutionID
	Root      domain.ExecutionID // entries about it, and about all executions below it
	Action    string
	After     int64 // the seq of the last entry that is known
	Limit     int   // 0: as many as a page of other lists has
}

const auditColumns = `tenant_id, seq, time_us, action, execution_id, root_id, record, previous, hash`

func scanAudit(row scanner) (domain.AuditEntry, error) {
	var (
		e         domain.AuditEntry
		us        int64
		execution sql.NullString
		root      sql.NullString
		// The record is read as it is stored, byte for byte: its hash is over that.
		record []byte
	)
	err := row.Scan(&e.Tenant, &e.Seq, &us, &e.Action, &execution, &root, &record, &e.Previous, &e.Hash)
	e.Time, e.Execution, e.Root, e.Record = timeOf(us), domain.ExecutionID(execution.String), domain.ExecutionID(root.String), json.RawMessage(record)
	return e, err
}

// Audit reads the chain of a tenant from behind seq filter.After on.
func (s *Store) Audit(ctx context.Context, tenant domain.TenantID, filter AuditFilter) ([]domain.AuditEntry, error) {
	var where conditions
	where.add(`tenant_id = $%d and seq > $%d`, text(string(tenant)), filter.After)
	if filter.Execution != "" {
		where.add(`execution_id = $%d`, text(string(filter.Execution)))
	}
	if filter.Root != "" {
		where.add(`(execution_id = $%[1]d or root_id = $%[1]d)`, text(string(filter.Root)))
	}
	if filter.Action != "" {
		where.add(`action = $%d`, text(filter.Action))
	}
	limit := filter.Limit
	if limit <= 0 {
		limit = defaultLimit
	}
	where.add(`true order by seq limit $%d`, limit)
	return selectAll(ctx, s, "read the audit", scanAudit, `select `+auditColumns+` from audit where `+where.String(), where.args...)
}

// AuditHead returns the seq and the hash of the last entry of a tenant's chain; 0 and nothing where there is none. It is
// stored apart from the entries, so it also reveals that somebody removed entries from the end.
func (s *Store) AuditHead(ctx context.Context, tenant domain.TenantID) (seq int64, hash string, err error) {
	head, err := selectFirst(ctx, s, "read the head of the audit", func(row scanner) (head domain.AuditEntry, err error) {
		return head, row.Scan(&head.Seq, &head.Hash)
	}, `select seq, hash from audit_heads where tenant_id = $1`, text(string(tenant)))
	return head.Seq, head.Hash, err
}

// AuditTenants returns all tenants with an audit, also with the rest of one: entries without a head, or a head without entries.
func (s *Store) AuditTenants(ctx context.Context) ([]domain.TenantID, error) {
	return selectAll(ctx, s, "read whose audits there are", scanValue[domain.TenantID], `select tenant_id from audit_heads union select tenant_id from audit order by tenant_id`)
}

// AppendAudit appends records that belong to no [Change].
func (s *Store) AppendAudit(ctx context.Context, tenant domain.TenantID, records ...domain.AuditRecord) error {
	return s.transact(ctx, "append to the audit", func(tx *sql.Tx) error {
		return s.appendAudit(ctx, tx, tenant, records...)
	})
}

// audited does something and appends the audit record, both or neither.
func (s *Store) audited(ctx context.Context, doing string, tenant domain.TenantID, record domain.AuditRecord, do func(tx *sql.Tx) error) error {
	return s.transact(ctx, doing, func(tx *sql.Tx) error {
		if err := do(tx); err != nil {
			return err
		}
		return s.appendAudit(ctx, tx, tenant, record)
	})
}
