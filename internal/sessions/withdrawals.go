package sessions

import (
	"errors"
	"log/slog"
	"maps"
	"slices"
	"time"

	"signoff/internal/domain"
	"signoff/internal/store"
)

// How an open question ends that nobody needs answered any more.

// unasked notes that the asker of a question has left. What the question asked for stays open until the agent says
// what became of it.
func (s *Session) unasked(gone *ask) {
	for _, c := range s.calls.open {
		if c.ask == gone {
			c.ask = nil
		}
	}
}

// moot is the call whose open question loses its sense with what the agent says next.
func (s *Session) moot(i item) *call {
	if p, ended := i.payload.(domain.ToolCallCompleted); ended {
		if c := s.calls.open[p.ToolCallID]; c != nil && c.approval != nil {
			return c
		}
		return nil
	}
	if i.withdrawn == nil {
		return nil
	}
	for _, c := range s.calls.open {
		if c.ask == i.withdrawn && c.approval != nil {
			return c
		}
	}
	return nil
}

// withdraw ends an open question, unless a decision was faster: that is acted on then. Where the turn is over nobody is
// left who could act on it, and nothing starts any more.
func (s *Session) withdraw(c *call) error {
	change := s.recorder.begin()
	change.retract(*c.approval)
	err := s.recorder.commit(change)
	if err == nil {
		c.approval = nil
		s.dismissAsker(c)
		return nil
	}
	if domain.CodeOf(err) != domain.CodeStale || errors.Is(err, store.ErrCommitUnknown) {
		return err
	}
	if s.turn.stopped() || s.turn.result != nil {
		if !s.dropDecided() {
			return err
		}
		s.dismissAsker(c)
		return nil
	}
	decided, readErr := s.decisionsAtLast()
	if readErr != nil {
		return readErr
	}
	if c.approval != nil {
		return err // it was not a decision that refused the change
	}
	return s.recorder.commit(decided)
}

// decisionsAtLast reads the decisions, and again while the database is away: what hangs on them cannot wait for a bell.
func (s *Session) decisionsAtLast() (*changeSet, error) {
	for {
		decided, err := s.decisions()
		if err == nil {
			return decided, nil
		}
		slog.Warn("cannot read, trying again", "execution", s.execution.ID, "error", err)
		select {
		case <-time.After(readPause):
		case <-s.claim.lease.Done():
			return nil, err
		}
	}
}

// withdrawAll ends all open questions.
func (s *Session) withdrawAll() error {
	for _, id := range slices.Sorted(maps.Keys(s.calls.open)) {
		if c := s.calls.open[id]; c != nil && c.approval != nil {
			if err := s.withdraw(c); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *Session) dismissAsker(c *call) {
	if c.ask != nil {
		c.ask.reply <- nobody
		c.ask = nil
	}
}
