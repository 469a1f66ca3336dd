package store

import (
	"context"
	"math"

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
	left, newest := maxBytes, int64(math.MaxInt64)
	within := func(row scanner) (domain.DebugMessage, error) {
		m, err := scanDebug(row)
		if err != nil {
			return m, err
		}
		if m.N <= newest { // the first row, also of a reading that is done again
			left = maxBytes
		} else if len(m.Message) > left {
			return m, errEnough
		}
		newest = m.N
		left -= len(m.Message)
		return m, nil
	}
	messages, err := collect(ctx, s.read, within, `
		select n, time_us, direction, message, bytes from debug_messages
		where execution_id = $1 and n > $2 order by n limit $3`, text(string(id)), after, limit)
	if err != nil {
		return nil, s.failed("read raw messages", err)
	}
	return messages, nil
}

func scanDebug(row scanner) (m domain.DebugMessage, err error) {
	var us int64
	err = row.Scan(&m.N, &us, &m.Direction, &m.Message, &m.Bytes)
	m.Time = timeOf(us)
	return m, err
}
