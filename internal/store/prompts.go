package store

import (
	"context"
	"database/sql"

	"signoff/internal/domain"
)

const promptColumns = `p.id, p.execution_id, p.text, p.when_busy, p.by, p.created_us`

// scanPrompt returns nil for a row of an outer join that has none.
func scanPrompt(row scanner) (*domain.QueuedPrompt, error) {
	var (
		id, execution, content, when, by sql.NullString
		created                          sql.NullInt64
	)
	if err := row.Scan(&id, &execution, &content, &when, &by, &created); err != nil || !id.Valid {
		return nil, err
	}
	p := &domain.QueuedPrompt{ID: domain.PromptID(id.String), Execution: domain.ExecutionID(execution.String),
		Text: content.String, WhenBusy: domain.WhenBusy(when.String), Created: timeOf(created.Int64)}
	return p, decode("by", by.String, &p.By)
}

// PromptByKey returns the prompt that was taken in under an idempotency key, also where it has had its turn, and the
// hash of the body that came with it. It asks for no tenant: who calls has read the execution.
func (s *Store) PromptByKey(ctx context.Context, execution domain.ExecutionID, key string) (domain.QueuedPrompt, []byte, error) {
	var bodyHash []byte
	p, err := one(ctx, s.read, func(row scanner) (*domain.QueuedPrompt, error) {
		return scanPrompt(scanFirst{row, &bodyHash})
	}, `select p.body_hash, `+promptColumns+` from prompts p where p.execution_id = $1 and p.idempotency_key = $2`,
		text(string(execution)), text(key))
	if err != nil {
		return domain.QueuedPrompt{}, nil, s.found(err, "idempotency key")
	}
	return *p, bodyHash, nil
}
