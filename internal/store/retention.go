package store

import (
	"context"
	"time"

	"signoff/internal/domain"
)

// retainMicros is how long a request says that its execution is kept. A child is kept as long as its root: it says that it is kept for ever, which a
// server of an older version understands, too.
func retainMicros(request domain.Request) any {
	if request.Parent != nil {
		return int64(0)
	}
	if request.RetentionDays == nil {
		return nil
	}
	return (time.Duration(*request.RetentionDays) * 24 * time.Hour).Microseconds()
}

// Expired returns up to limit executions of all tenants whose retention is over: that of their request, or else keep after their end; 0 is for ever.
// Deleted ones and children are not among them. The end and the retention of an ended execution do not change, so a caller may delete them afterwards.
func (s *Store) Expired(ctx context.Context, keep time.Duration, limit int) ([]domain.Execution, error) {
	expired, err := s.expired(ctx, `e.retain_us > 0 and e.ended_us is not null and e.ended_us + e.retain_us <= now_us()
		order by e.ended_us + e.retain_us limit $1`, limit)
	if err != nil || keep <= 0 || len(expired) == limit {
		return expired, err
	}
	byDefault, err := s.expired(ctx, `e.retain_us is null and e.ended_us is not null and e.ended_us <= now_us() - $2
		order by e.ended_us limit $1`, limit-len(expired), keep.Microseconds())
	return append(expired, byDefault...), err
}

func (s *Store) expired(ctx context.Context, where string, args ...any) ([]domain.Execution, error) {
	return selectAll(ctx, s, "read what is not to be kept any longer", scanExecution, `select `+executionColumns+executionTables+`where `+kept+` and `+where, args...)
}
