package store

import (
	"context"
	"database/sql"

	"signoff/internal/domain"
)

// Generations returns all generations of an execution, by number. One of another tenant has none.
func (s *Store) Generations(ctx context.Context, tenant domain.TenantID, execution domain.ExecutionID) ([]domain.Generation, error) {
	all, err := collect(ctx, s.read, scanGeneration, `
		select execution_id, number, state, turn, call_id, blocks, document_revision, created_us, decided_us, by from generations
		where execution_id = $1 and tenant_id = $2 order by number`, text(string(execution)), text(string(tenant)))
	if err != nil {
		return nil, s.failed("read generations", err)
	}
	return all, nil
}

func scanGeneration(row scanner) (domain.Generation, error) {
	var (
		g       domain.Generation
		blocks  string
		created int64
		decided sql.NullInt64
		by      sql.NullString
	)
	err := row.Scan(&g.Execution, &g.Number, &g.State, &g.Turn, &g.ToolCallID, &blocks, &g.DocumentRevision, &created, &decided, &by)
	if err != nil {
		return g, err
	}
	g.Blocks, g.Created, g.Decided = rawJSON(blocks), timeOf(created), optionalTime(decided)
	g.By, err = optional[domain.Actor]("by", by)
	return g, err
}
