package store

import (
	"context"
	"database/sql"

	"signoff/internal/domain"
)

// ClientCalls returns calls of an execution that its client was asked to run, in the order of asking: without ids those that
// still wait, otherwise those with the ids, whatever has become of them. Never all: answers are large, and whoever read them again
// after each would need memory by the square of their number. It asks for no tenant: the caller drives the execution, or has read it.
func (s *Store) ClientCalls(ctx context.Context, execution domain.ExecutionID, ids ...string) ([]domain.ClientCall, error) {
	var where conditions
	where.add(`execution_id = $%d`, text(string(execution)))
	if len(ids) == 0 {
		where.add(`state = 'waiting'`)
	}
	in(&where, `call_id`, ids)
	return selectAll(ctx, s, "read the client's calls", scanClientCall, `
		select execution_id, call_id, tool, arguments, state, asked_us, expires_us, answer from client_calls
		where `+where.String()+` order by n`, where.args...)
}

func scanClientCall(row scanner) (domain.ClientCall, error) {
	var (
		c         domain.ClientCall
		arguments string
		asked     int64
		expires   sql.NullInt64
		answer    sql.NullString
	)
	err := row.Scan(&c.Execution, &c.ToolCallID, &c.Tool, &arguments, &c.State, &asked, &expires, &answer)
	if err != nil {
		return c, err
	}
	c.Arguments, c.Asked, c.Expires = rawJSON(arguments), timeOf(asked), optionalTime(expires)
	c.Answer, err = optional[domain.ClientAnswer]("answer", answer)
	return c, err
}
