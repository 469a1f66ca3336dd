package store

import (
	"context"
	"database/sql"

	"signoff/internal/domain"
)

const promptColumns = `p.id, p.execution_id, p.text, p.when_busy, p.by, p.created_us, p.edit_generation,
	p.edit_document, p.options, p.parts`

// scanPrompt returns nil for a row of an outer join that has none.
func scanPrompt(row scanner) (*domain.QueuedPrompt, error) {
	var (
		id, execution, content, when, by sql.NullString
		created, edited                  sql.NullInt64
		document, options, parts         sql.NullString
	)
	if err := row.Scan(&id, &execution, &content, &when, &by, &created, &edited, &document, &options, &parts); err != nil || !id.Valid {
		return nil, err
	}
	p := &domain.QueuedPrompt{ID: domain.PromptID(id.String), Execution: domain.ExecutionID(execution.String),
		Text: content.String, WhenBusy: domain.WhenBusy(when.String), Created: timeOf(created.Int64)}
	if edited.Valid {
		p.Edit = &domain.Edit{Generation: int(edited.Int64)}
		var err error
		if p.Edit.Document, err = optional[domain.Document]("edit_document", document); err != nil {
			return nil, err
		}
	}
	if err := decodeOptional("options", options, &p.Options); err != nil {
		return nil, err
	}
	if err := decodeOptional("parts", parts, &p.Parts); err != nil {
		return nil, err
	}
	return p, decode("by", by.String, &p.By)
}

// EditedDocument returns the document of the newest edit that has had its turn and brought one; nil: there is none. It asks for
// no tenant: the caller drives the execution.
func (s *Store) EditedDocument(ctx context.Context, execution domain.ExecutionID) (*domain.Document, error) {
	return selectFirst(ctx, s, "read the edited document", func(row scanner) (*domain.Document, error) {
		var document sql.NullString
		if err := row.Scan(&document); err != nil {
			return nil, err
		}
		return optional[domain.Document]("edit_document", document)
	}, `select edit_document from prompts where execution_id = $1 and edit_document is not null and state = 'started'
		order by turn desc limit 1`, text(string(execution)))
}

// recentEvents is how many of the newest events of an execution are searched for the options of its agent. Each session of the agent sends them
// again.
const recentEvents = 100_000

// AgentOptions returns the newest options that the agent of an execution offers; nil: it offered none, or long ago. It asks for no tenant: the caller has read the execution.
func (s *Store) AgentOptions(ctx context.Context, execution domain.ExecutionID) ([]domain.AgentOption, error) {
	updated, err := selectFirst(ctx, s, "read the options of the agent", func(row scanner) (updated domain.AgentOptionsUpdated, err error) {
		var data string
		if err := row.Scan(&data); err != nil {
			return updated, err
		}
		return updated, decode("data", data, &updated)
	}, `select data from events where execution_id = $1 and type = $2
		and seq > (select last_seq from execution_heads where execution_id = $1) - $3 order by seq desc limit 1`,
		text(string(execution)), string(domain.AgentOptionsType), int64(recentEvents))
	return updated.Options, err
}

// PromptByKey returns the prompt that was taken in under an idempotency key, also where it has had its turn, and the
// hash of the body that came with it. It asks for no tenant: the caller has read the execution.
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
