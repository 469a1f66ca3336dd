package checkpoints

import (
	"context"

	"signoff/internal/domain"
)

// Prune removes the checkpoints of executions for which keep says false, see [checkpoint.Store.Prune].
func (s *Service) Prune(ctx context.Context, keep func(context.Context, domain.ExecutionID) (bool, error)) error {
	if s.store == nil {
		return nil
	}
	return s.store.Prune(ctx, func(ctx context.Context, series string) (bool, error) { return keep(ctx, domain.ExecutionID(series)) })
}
