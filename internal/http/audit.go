package http

import (
	"context"
	"strconv"

	"signoff/api"
	"signoff/internal/domain"
	"signoff/internal/store"
)

// ListAudit shows a page of the tenant's chain, the oldest first.
func (s *Server) ListAudit(ctx context.Context, request api.ListAuditRequestObject) (api.ListAuditResponseObject, error) {
	tenant, limit := who(ctx).Tenant, value(request.Params.Limit, defaultLimit)
	after, err := strconv.ParseInt(value(request.Params.After, "0"), 10, 64)
	if err != nil { // unreachable: the document allows 18 digits
		return nil, domain.Invalid("after", "It is no number.").With(err)
	}
	entries, err := s.reader.Audit(ctx, tenant, store.AuditFilter{
		Execution: domain.ExecutionID(value(request.Params.ExecutionId, "")), Action: value(request.Params.Action, ""),
		After: after, Limit: limit + 1,
	})
	if err != nil {
		return nil, err
	}
	response := api.ListAudit200JSONResponse{Items: []api.AuditEntry{}}
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
	return response, nil
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
