package store

import (
	"context"

	"signoff/internal/domain"
)

// DebugPage reads the raw messages of an execution from behind number after on: at most limit of them, and it ends
// before the one that would bring them over maxBytes, but is not empty where there is one. Numbers have no hole but
// before the oldest that is kept. It asks for no tenant: the caller has read the execution.
func (s *Store) DebugPage(
	ctx context.Context, id domain.ExecutionID, after int64, limit, maxBytes int,
) ([]domain.DebugMessage, error) {
	if limit <= 0 {
		return nil, nil
	}
	scan := func(row scanner) (m domain.DebugMessage, err error) {
		var us int64
		err = row.Scan(&m.N, &us, &m.Direction, &m.Message, &m.Bytes)
		m.Time = timeOf(us)
		return m, err
	}
	return selectBounded(ctx, s, "read raw messages", scan, func(m domain.DebugMessage) int { return len(m.Message) }, maxBytes, `
		select n, time_us, direction, message, bytes from debug_messages
		where execution_id = $1 and n > $2 order by n limit $3`, text(string(id)), after, limit)
}
