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
	Action      string             `query:"action"`
	numbered
}

// listAudit shows a page of the tenant's chain, the oldest first.
func (s *Server) listAudit(ctx context.Context, request listAudit) (responder, error) {
	tenant, limit := who(ctx).Tenant, request.Limit
	entries, err := s.reader.Audit(ctx, tenant, store.AuditFilter{
		Execution: request.ExecutionID, Action: request.Action, After: request.start(), Limit: limit + 1,
	})
	if err != nil {
		return nil, err
	}
	response := api.AuditPage{Items: []api.AuditEntry{}}
	if response.Head.Seq, response.Head.Hash, err = s.reader.AuditHead(ctx, tenant); err != nil {
		return nil, err
	}
	if len(entries) > limit {
		entries = entries[:limit]
		response.NextCursor = new(strconv.FormatInt(entries[limit-1].Seq, 10))
	}
	for _, entry := range entries {
		shown, err := toAuditEntry(entry)
		if err != nil {
			return nil, err
		}
		response.Items = append(response.Items, shown)
	}
	return okJSON(response), nil
}

func toAuditEntry(e domain.AuditEntry) (api.AuditEntry, error) {
	record, err := e.Decoded()
	if err != nil {
		return api.AuditEntry{}, err
	}
	return api.AuditEntry{
		Seq: e.Seq, Time: api.Time(e.Time), Action: record.Action, ExecutionId: textOrNull(string(record.Execution)),
		Record: e.Record, Previous: e.Previous, Hash: e.Hash,
	}, nil
}
