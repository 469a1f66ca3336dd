package http

import (
	"context"
	"time"

	"signoff/api"
	"signoff/internal/domain"
	"signoff/internal/http/stream"
)

// retryTail is how far from the end of a log the request is told of that is waited for: little else happens meanwhile.
const retryTail = 20

// goesOnByItself tells whether an execution waits for nobody but the server.
func goesOnByItself(e api.Execution) bool {
	switch e.Status {
	case domain.StatusPendingToolApproval, domain.StatusIdle, domain.StatusInterrupted:
		return false
	}
	return e.EndedAt == nil && len(e.PendingToolCalls) == 0
}

// nextAttempt is what the server goes on with by itself, and when: a request to the model that failed, or the execution, after its driver was
// lost. It is nil where nothing like that is waited for. Lists, which would have to read a log for each, leave it out.
func (s *Server) nextAttempt(ctx context.Context, execution domain.Execution) (*api.NextAttempt, error) {
	retry, err := s.retryAt(ctx, execution)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	recovery := execution.RecoversAt
	switch {
	case recovery != nil && recovery.After(now) && recovery.After(retry): // the request is repeated when it is recovered, and not before
		return &api.NextAttempt{Reason: api.NextAttemptReasonRecovery, At: api.Time(*recovery)}, nil
	case retry.After(now):
		return &api.NextAttempt{Reason: api.NextAttemptReasonModel, At: api.Time(retry)}, nil
	default:
		return nil, nil
	}
}

// retryAt is when a request to the model is repeated, as the end of the log tells; zero where none is waited for.
func (s *Server) retryAt(ctx context.Context, execution domain.Execution) (time.Time, error) {
	if execution.Status != domain.StatusWaiting {
		return time.Time{}, nil
	}
	tail, err := s.reader.EventPage(ctx, execution.ID, max(0, execution.LastSeq-retryTail), retryTail, stream.MaxPage)
	if err != nil {
		return time.Time{}, err
	}
	return domain.RetryAt(tail), nil
}
