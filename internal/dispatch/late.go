package dispatch

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"signoff/internal/domain"
	"signoff/internal/sessions"
	"signoff/internal/store"
)

// A creation is answered within two seconds, also if the database hangs. A creation that still waits for the database then is
// withdrawn. One that the database has begun to write cannot be withdrawn: it may come through after the answer, and must not
// become an execution that runs and that nobody knows of.

var errMayCreate = domain.Errorf(domain.CodeUnavailable, "The database takes too long, and has not said yet whether it was created. "+
	"Send the request again in a moment: with the same Idempotency-Key you get the one execution. "+
	"Without such a key, one that comes through now is cancelled before it begins.")

// isLate tells whether ctx has ended because the database took too long, and not because the client is gone: a client that leaves
// cancels nothing.
func isLate(ctx context.Context) bool { return errors.Is(context.Cause(ctx), domain.ErrNotCreated) }

// underWay is the error of a creation that is being written.
func underWay(ctx context.Context) error {
	if isLate(ctx) {
		return errMayCreate
	}
	return context.Cause(ctx)
}

// createdLate drives or discards a session whose creation came through, or failed, after the answer.
func (m *Manager) createdLate(ctx context.Context, s *sessions.Session, key *store.Idempotency, err error) {
	if err != nil {
		m.discard(s)
		m.notCreatedLate(ctx, s.Execution(), key, err)
		return
	}
	if isLate(ctx) && key == nil {
		s.Cancel(retraction())
	}
	m.drive(s)
}

// queuedLate is createdLate for an execution that waits for room.
func (m *Manager) queuedLate(ctx context.Context, execution domain.Execution, key *store.Idempotency, err error) {
	if err != nil {
		m.notCreatedLate(ctx, execution, key, err)
		return
	}
	if isLate(ctx) && key == nil {
		m.retract(execution)
	}
	m.Enqueued()
}

func (m *Manager) notCreatedLate(ctx context.Context, execution domain.Execution, key *store.Idempotency, err error) {
	slog.Warn("an execution was not created after its request had been answered", "execution", execution.ID, "error", err)
	if !errors.Is(err, store.ErrCommitUnknown) {
		return
	}
	m.suspectUnknown()
	if isLate(ctx) && key == nil {
		m.retract(execution)
	}
}

// retraction is the request to cancel an execution that nobody knows of.
func retraction() *store.CancelRequest {
	return &store.CancelRequest{Reason: "Its request was answered with 503 before the database had created it.", By: domain.Actor{Name: "server"}}
}

// retryPause is how long a cancellation waits for a database that is away.
const retryPause = 250 * time.Millisecond

// retract cancels an execution that this server does not drive, if it is there. It tries again while the database is away.
func (m *Manager) retract(execution domain.Execution) {
	for {
		_, err := m.log.Commit(context.Background(), store.Change{Execution: execution.ID, Cancel: retraction()})
		if err == nil || domain.CodeOf(err) != domain.CodeStorage {
			return // also if it is not there
		}
		slog.Warn("cannot cancel an execution that was created too late, trying again", "execution", execution.ID, "error", err)
		select {
		case <-time.After(retryPause):
		case <-m.draining:
			return
		}
	}
}
