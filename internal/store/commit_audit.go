package store

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"signoff/internal/domain"
)

// brokenAudit finds mistakes of the caller.
func brokenAudit(records []domain.AuditRecord) string {
	for _, record := range records {
		switch {
		case record.Action == "":
			return "an audit record has no action"
		case record.Details != nil && !json.Valid(record.Details):
			return "the details of an audit record are not JSON"
		}
	}
	return ""
}

// appendAudit is the last step: by now no change can be refused any more, and who waits for the end of a chain waits for
// a commit and for nothing else.
func (b *batch) appendAudit() error {
	records := map[string][]domain.AuditRecord{}
	for _, c := range b.live {
		tenant := b.heads[c.Execution].tenant
		for _, record := range c.Audit {
			record.Execution = cmp.Or(record.Execution, c.Execution)
			records[tenant] = append(records[tenant], record)
		}
	}
	return b.link(records)
}

// appendAudit is the last step of a transaction that has no batch.
func (s *Store) appendAudit(ctx context.Context, tx *sql.Tx, tenant domain.TenantID, records ...domain.AuditRecord) error {
	if why := brokenAudit(records); why != "" {
		return domain.Errorf(domain.CodeInternal, "What was to be audited is not well formed: %s.", why)
	}
	if len(records) == 0 {
		return nil
	}
	b := &batch{store: s, ctx: ctx, tx: stepwise{ctx, tx}}
	return b.link(map[string][]domain.AuditRecord{text(string(tenant)): records})
}

// link puts records at the ends of their tenants' chains.
func (b *batch) link(records map[string][]domain.AuditRecord) error {
	ends, err := b.takeChains(records)
	if err != nil {
		return err
	}
	var entries, heads []row
	for _, end := range ends {
		for _, record := range records[string(end.Tenant)] {
			if end, err = after(end, record); err != nil {
				return err
			}
			entries = append(entries, row{values: []any{string(end.Tenant), end.Seq, end.Time.UnixMicro(),
				optionalText(string(end.Execution)), optionalText(string(end.Root)), end.Action, string(end.Record), end.Previous, end.Hash}})
		}
		heads = append(heads, row{values: []any{string(end.Tenant), end.Time.UnixMicro(), end.Hash}})
	}
	err = b.insert(`tenant text, seq bigint, time bigint, execution text, root text, action text, record text, previous text, hash text`,
		entries, `
		insert into audit (tenant_id, seq, time_us, execution_id, root_id, action, record, previous, hash)
		select tenant, seq, time, execution, root, action, record, previous, hash from v where true`)
	if err != nil {
		return err
	}
	return b.insert(`tenant text, time bigint, hash text`, heads, `
		update audit_heads set time_us = v.time, hash = v.hash from v where tenant_id = v.tenant`)
}

// takeChains hands out the numbers, as takeHeads does for events: it holds the ends of the chains until the transaction
// ends, in the order of the tenants, and returns the entries that are the last ones so far. Their time is that of the next
// ones: now, but never before theirs, where the clock was set back.
//
// A chain that begins must have no entries: where it has, its head was taken away, and a second chain would begin over
// the first one and make it look as if there had never been another.
func (b *batch) takeChains(records map[string][]domain.AuditRecord) ([]domain.AuditEntry, error) {
	var rows []row
	for _, tenant := range slices.Sorted(maps.Keys(records)) {
		rows = append(rows, row{values: []any{tenant, int64(len(records[tenant]))}})
	}
	return ask(b, `tenant text, entries bigint`, rows, func(row scanner) (end domain.AuditEntry, err error) {
		var (
			last, now int64
			headless  bool
		)
		if err := row.Scan(&end.Tenant, &end.Seq, &end.Hash, &last, &now, &headless); err != nil {
			return end, err
		}
		if headless {
			return end, fmt.Errorf("the audit of tenant %q has entries, but its head is gone: `signoff audit verify` says more", end.Tenant)
		}
		end.Seq -= int64(len(records[string(end.Tenant)]))
		end.Time = timeOf(max(last, now))
		return end, nil
	}, `
		insert into audit_heads (tenant_id, seq, time_us, hash) select tenant, entries, 0, '' from v where true order by tenant
		on conflict (tenant_id) do update set seq = audit_heads.seq + excluded.seq
		returning tenant_id, seq, hash, time_us, now_us(),
			hash = '' and exists (select 1 from audit a where a.tenant_id = audit_heads.tenant_id)`)
}

// after is the entry of record that follows end. What it is looked up by is made fit for the database before it is
// encoded: the record and the columns say the same.
func after(end domain.AuditEntry, record domain.AuditRecord) (domain.AuditEntry, error) {
	record.Action, record.Execution, record.Root = text(record.Action), domain.ExecutionID(text(string(record.Execution))), domain.ExecutionID(text(string(record.Root)))
	encoded, err := encode(record)
	next := domain.AuditEntry{
		Tenant: end.Tenant, Seq: end.Seq + 1, Time: end.Time, Action: record.Action, Execution: record.Execution, Root: record.Root,
		Record: json.RawMessage(encoded), Previous: end.Hash,
	}
	next.Hash = next.Link()
	return next, err
}
