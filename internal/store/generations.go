package store

import (
	"context"
	"database/sql"

	"signoff/internal/domain"
)

// Generations returns all generations of an execution, by number. One of another tenant has none.
func (s *Store) Generations(ctx context.Context, tenant domain.TenantID, execution domain.ExecutionID) ([]domain.Generation, error) {
	return selectAll(ctx, s, "read generations", func(row scanner) (domain.Generation, error) {
		var blocks string
		g, err := scanGenerationHead(scanFirst{row, &blocks})
		g.Blocks = rawJSON(blocks)
		return g, err
	}, `
		select blocks, `+generationColumns+` from generations
		where execution_id = $1 and tenant_id = $2 order by number`, text(string(execution)), text(string(tenant)))
}

// NewestGeneration returns the generation of an execution with the highest number, without its blocks; nil where there is none.
// It is for those who show many executions, or one often: they would read all blocks to leave them out.
func (s *Store) NewestGeneration(ctx context.Context, tenant domain.TenantID, execution domain.ExecutionID) (*domain.Generation, error) {
	return selectFirst(ctx, s, "read the newest generation", func(row scanner) (*domain.Generation, error) {
		newest, err := scanGenerationHead(row)
		return &newest, err
	}, `select `+generationColumns+` from generations
		where execution_id = $1 and tenant_id = $2 order by number desc limit 1`, text(string(execution)), text(string(tenant)))
}

const generationColumns = `execution_id, number, state, turn, call_id, document_revision, created_us, decided_us, by`

// scanGenerationHead reads all but the blocks.
func scanGenerationHead(row scanner) (domain.Generation, error) {
	var (
		g       domain.Generation
		created int64
		decided sql.NullInt64
		by      sql.NullString
	)
	err := row.Scan(&g.Execution, &g.Number, &g.State, &g.Turn, &g.ToolCallID, &g.DocumentRevision, &created, &decided, &by)
	if err != nil {
		return g, err
	}
	g.Created, g.Decided = timeOf(created), optionalTime(decided)
	g.By, err = optional[domain.Actor]("by", by)
	return g, err
}
