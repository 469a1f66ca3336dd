package sessions

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"signoff/internal/domain"
	"signoff/internal/store"
)

// attempt commits a change that may be refused because somebody else was faster. Then the session is as it was before, and looks
// again. Nothing else is committed meanwhile.
func (r *recorder) attempt(prepare func() *changeSet) error {
	before := r.progress.Clone()
	err := r.commit(prepare())
	if err != nil {
		*r.progress = *before
	}
	return err
}

// writeHeld writes the held change if no other change follows: half an answer, in a turn that the next driver continues.
func (r *recorder) writeHeld() error {
	held := r.held
	if held == nil {
		return nil
	}
	r.held = nil
	return r.commit(held)
}

// commit writes a change set and then answers the agents that wait for it. The last words of the agent go with the end of the
// turn: both came in the same moment, and are one commit. While the database is away it tries again, and the agent goes on into
// the inbox. It fails if the lease is lost, if the change is refused, and if nobody can tell whether it was written.
func (r *recorder) commit(change *changeSet) error {
	if change.empty() { // nothing to write, but perhaps an agent to answer
		change.answer()
		return nil
	}
	if r.held != nil {
		change = change.after(r.held)
	}
	transaction := change.transaction()
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, 2*time.Second) {
		change.passBefore()
		outcome, err := r.engine.log.Commit(r.claim.lease, transaction)
		if err == nil {
			r.length = max(r.length, outcome.LastSeq)
		}
		if err == nil && r.claim.lease.Err() != nil {
			return context.Cause(r.claim.lease) // it is written, but nothing may start under this lease
		}
		if err == nil {
			r.held = nil
			change.passAfter()
			if r.engine.committed != nil {
				r.engine.committed(r.execution.ID, outcome.LastSeq, r.progress)
			}
			change.answer()
			return nil
		}
		if domain.CodeOf(err) != domain.CodeStorage || errors.Is(err, store.ErrCommitUnknown) {
			return err
		}
		slog.Warn("cannot write, trying again", "execution", r.execution.ID, "error", err)
		select {
		case <-time.After(wait):
		case <-r.claim.lease.Done():
			return err
		}
	}
}

// abandon ends the session without a further write. The next driver continues from the log.
func (s *Session) abandon(why error) state {
	slog.Warn("session abandoned", "execution", s.execution.ID, "epoch", s.claim.epoch, "why", why)
	s.exit = exitReleased
	return nil
}

// commitEnd commits the end of a question. If the question had ended otherwise, or the database is away, the next reading shows
// it.
func (r *recorder) commitEnd(transaction store.Change) error {
	_, err := r.engine.log.Commit(r.claim.lease, transaction)
	code := domain.CodeOf(err)
	if err != nil && (errors.Is(err, store.ErrCommitUnknown) || (code != domain.CodeStale && code != domain.CodeStorage)) {
		return err
	}
	return nil
}

// clockSkew is how long the session waits if its clock is ahead of the database's. The database's clock decides.
const clockSkew = 200 * time.Millisecond
