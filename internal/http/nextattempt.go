package http

import (
	"context"
	"time"

	"signoff/api"
	"signoff/internal/domain"
	"signoff/internal/http/stream"
)

// retryTail is how many events at the end of a log are searched for the retry that an execution waits for. Few other events happen meanwhile.
const retryTail = 20

// waitsForServer reports whether an execution waits for nobody but the server.
func waitsForServer(e api.Execution) bool {
	switch e.Status {
	case domain.StatusPendingToolApproval, domain.StatusIdle, domain.StatusInterrupted:
		return false
	}
	return e.EndedAt == nil && len(e.PendingToolCalls) == 0
}

// nextAttempt returns when the server continues by itself and with what: a failed request to the model, or the execution after its
// driver was lost. It returns nil if neither is waited for. Lists leave it out, since it costs reading a log for each execution.
func (s *Server) nextAttempt(ctx context.Context, execution domain.Execution) (*api.NextAttempt, error) {
	var retry time.Time
	if execution.Status == domain.StatusWaiting {
		tail, err := s.reader.EventPage(ctx, execution.ID, max(0, execution.LastSeq-retryTail), retryTail, stream.MaxPage)
		if err != nil {
			return nil, err
		}
		retry = domain.RetryAt(tail)
	}
	now := time.Now()
	recovery := execution.RecoversAt
	switch {
	case recovery != nil && recovery.After(now) && recovery.After(retry): // the request is sent again after the recovery, not before
		return &api.NextAttempt{Reason: api.NextAttemptReasonRecovery, At: api.Time(*recovery)}, nil
	case retry.After(now):
		return &api.NextAttempt{Reason: api.NextAttemptReasonModel, At: api.Time(retry)}, nil
	default:
		return nil, nil
	}
}
