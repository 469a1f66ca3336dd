package sessions

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"signoff/internal/domain"
	"signoff/internal/store"
)

// attempt commits a change that may be refused, because somebody else was faster: then the session is as it was before, and looks again.
// Nothing else is committed while it is drafted.
func (s *Session) attempt(drafted func() *draft) error {
	before := s.progress.Clone()
	err := s.commit(drafted())
	if err != nil {
		*s.progress = *before
	}
	return err
}

// tellHeld writes what is held where nothing else follows it: half an answer, of a turn that the next driver goes on with.
func (s *Session) tellHeld() error {
	d := s.held
	if d == nil {
		return nil
	}
	s.held = nil
	return s.commit(d)
}

// commit writes a draft and answers those who wait for it. What the agent said last goes with the end of the turn: both
// came in the same moment, and are one commit. While the database is away it tries again: the agent goes
// on into the inbox meanwhile. It gives up where the lease is lost, where the change is refused, and where nobody can
// tell whether it was written.
func (s *Session) commit(d *draft) error {
	if d.empty() { // nothing to write, but perhaps somebody to answer
		d.answer()
		return nil
	}
	if s.held != nil {
		d = d.after(s.held)
	}
	change := d.change(s)
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, 2*time.Second) {
		d.passBefore()
		outcome, err := s.deps.log.Commit(s.claim.lease, change)
		if err == nil {
			s.length = max(s.length, outcome.LastSeq)
		}
		if err == nil && s.claim.lease.Err() != nil {
			return context.Cause(s.claim.lease) // it is written, but nothing may start under it any more
		}
		if err == nil {
			s.held = nil
			d.passAfter()
			if s.deps.committed != nil {
				s.deps.committed(s.execution.ID, outcome.LastSeq, s.progress)
			}
			d.answer()
			return nil
		}
		if domain.CodeOf(err) != domain.CodeStorage || errors.Is(err, store.ErrCommitUnknown) {
			return err
		}
		slog.Warn("cannot write, trying again", "execution", s.execution.ID, "error", err)
		select {
		case <-time.After(wait):
		case <-s.claim.lease.Done():
			return err
		}
	}
}

// abandon ends the session without a further write. Whoever claims the execution next goes on from the log.
func (s *Session) abandon(why error) state {
	slog.Warn("session abandoned", "execution", s.execution.ID, "epoch", s.claim.epoch, "why", why)
	s.claim.released = true
	return nil
}

// reading is the context of a query: it ends with the lease, since what comes later is nobody's business here.
func (s *Session) reading() (context.Context, context.CancelFunc) {
	return context.WithTimeout(s.claim.lease, readTimeout)
}

// readTimeout gives a query up that the database does not answer.
const readTimeout = 10 * time.Second

// heed reads what others want of the execution. A wish is a row, so it is not lost with a process, and rows are read only
// when somebody has written since all was last read.
func (s *Session) heed() error {
	if s.control.watcher.ForeignWrites() == s.control.seen {
		return nil
	}
	return s.reread()
}

func (s *Session) reread() error {
	ctx, cancel := s.reading()
	defer cancel()
	wishes, err := s.deps.store.ControlRequests(ctx, s.execution.ID)
	if err == nil {
		s.control.requests = wishes
	}
	return err
}
