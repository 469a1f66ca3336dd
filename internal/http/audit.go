package http

import (
	"context"
	"strconv"

	"signoff/api"
	"signoff/internal/domain"
	"signoff/internal/store"
)

type listAudit struct {
	ExecutionID domain.ExecutionID `query:"executionId"`
	Root        domain.ExecutionID `query:"root"`
	Action      string             `query:"action"`
	numbered
}

// listAudit returns a page of the tenant's chain, oldest first.
func (s *Server) listAudit(ctx context.Context, request listAudit) (responder, error) {
	tenant, limit := principalOf(ctx).Tenant, request.Limit
	entries, err := s.reader.Audit(ctx, tenant, store.AuditFilter{
		Execution: request.ExecutionID, Root: request.Root, Action: request.Action, After: request.start(), Limit: limit + 1,
	})
	if err != nil {
		return nil, err
	}
	var response api.AuditPage
	if response.Head.Seq, response.Head.Hash, err = s.reader.AuditHead(ctx, tenant); err != nil {
		return nil, err
	}
	if len(entries) > limit {
		entries = entries[:limit]
		response.NextCursor = new(strconv.FormatInt(entries[limit-1].Seq, 10))
	}
	response.Items, err = toAuditEntries(entries)
	return okJSON(response), err
}

// toAuditEntries takes action and execution from the record, which the hash covers, and not from the columns beside it.
func toAuditEntries(entries []domain.AuditEntry) ([]api.AuditEntry, error) {
	out := make([]api.AuditEntry, len(entries))
	for i, e := range entries {
		record, err := e.Decoded()
		if err != nil {
			return nil, err
		}
		out[i] = api.AuditEntry{
			Seq: e.Seq, Time: api.Time(e.Time), Action: record.Action, ExecutionId: textOrNull(string(record.Execution)),
			Record: e.Record, Previous: e.Previous, Hash: e.Hash,
		}
	}
	return out, nil
}
