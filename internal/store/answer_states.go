package store

import (
	"context"

	"signoff/internal/domain"
)

// AnswerStates returns the states of the answers of an execution. It asks for no tenant: the caller drives the execution.
func (s *Store) AnswerStates(ctx context.Context, id domain.ExecutionID) ([]domain.AnswerState, error) {
	return selectAll(ctx, s, "read the states of answers", func(row scanner) (state domain.AnswerState, err error) {
		return state, row.Scan(&state.MessageID, (*[]byte)(&state.State))
	}, `select message_id, state from answer_states where execution_id = $1`, text(string(id)))
}

const stateSpec = `message text, state bytea`

func stateValues(state domain.AnswerState) []any {
	return []any{text(state.MessageID), []byte(state.State)}
}

// keepStates inserts the states of answers. An answer has one: the first stands.
func (b *batch) keepStates() error {
	var rows []row
	for i, c := range b.live {
		for _, state := range c.States {
			rows = append(rows, row{i, append([]any{string(c.Execution), b.heads[c.Execution].tenant}, stateValues(state)...)})
		}
	}
	return b.insert(`id text, tenant text, `+stateSpec, rows, `
		insert into answer_states (execution_id, message_id, tenant_id, state)
		select id, message, tenant, state from v where true on conflict do nothing`)
}
