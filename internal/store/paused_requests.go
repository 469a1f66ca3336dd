package store

import (
	"context"

	"signoff/internal/domain"
)

// PausedRequests returns the requests of the paused calls of an execution. It asks for no tenant: the caller drives the execution.
func (s *Store) PausedRequests(ctx context.Context, id domain.ExecutionID) ([]domain.PausedRequest, error) {
	return selectAll(ctx, s, "read the requests of paused calls", func(row scanner) (paused domain.PausedRequest, err error) {
		return paused, row.Scan(&paused.ToolCallID, &paused.Approval, (*[]byte)(&paused.Repeat))
	}, `select call_id, approval_id, request from paused_requests where execution_id = $1 order by call_id`, text(string(id)))
}

// keepPaused writes the requests of calls that pause. A call has one: that of its newest question.
func (b *batch) keepPaused() error {
	var rows []row
	for i, c := range b.live {
		for _, paused := range c.Paused {
			rows = append(rows, row{i, []any{
				string(c.Execution), text(paused.ToolCallID), b.heads[c.Execution].tenant, text(string(paused.Approval)), []byte(paused.Repeat),
			}})
		}
	}
	return b.insert(`id text, call text, tenant text, approval text, request bytea`, rows, `
		insert into paused_requests (execution_id, call_id, tenant_id, approval_id, request)
		select id, call, tenant, approval, request from v where true
		on conflict (execution_id, call_id) do update set approval_id = excluded.approval_id, request = excluded.request`)
}
