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

// askerLeft notes that the asker of a question has left. What the question asked for stays open until the agent says
// what became of it.
func (pm *permissions) askerLeft(gone *ask) {
	for _, c := range pm.calls.open {
		if c.ask == gone {
			c.ask = nil
		}
	}
}

// obsolete is the call whose open question loses its sense with what the agent says next.
func (pm *permissions) obsolete(i item) *call {
	if p, ended := i.payload.(domain.ToolCallCompleted); ended {
		if c := pm.calls.open[p.ToolCallID]; c != nil && c.approval != nil {
			return c
		}
		return nil
	}
	if i.withdrawn == nil {
		return nil
	}
	for _, c := range pm.calls.open {
		if c.ask == i.withdrawn && c.approval != nil {
			return c
		}
	}
	return nil
}

// withdraw ends an open question, unless a decision was faster: that is acted on then. Where the turn is over nobody is
// left who could act on it, and nothing starts any more.
func (pm *permissions) withdraw(c *call) error {
	change := pm.recorder.begin()
	change.retract(*c.approval)
	err := pm.recorder.commit(change)
	if err == nil {
		c.approval = nil
		pm.dismissAsker(c)
		return nil
	}
	if domain.CodeOf(err) != domain.CodeStale || errors.Is(err, store.ErrCommitUnknown) {
		return err
	}
	if pm.turn.stopped() || pm.turn.result != nil {
		if !pm.dropDecided() {
			return err
		}
		pm.dismissAsker(c)
		return nil
	}
	decided, readErr := pm.decisionsAtLast()
	if readErr != nil {
		return readErr
	}
	if c.approval != nil {
		return err // it was not a decision that refused the change
	}
	return pm.recorder.commit(decided)
}

// decisionsAtLast reads the decisions, and again while the database is away: what hangs on them cannot wait for a bell.
func (pm *permissions) decisionsAtLast() (*changeSet, error) {
	for {
		decided, err := pm.readDecisions()
		if err == nil {
			return decided, nil
		}
		slog.Warn("cannot read, trying again", "execution", pm.execution.ID, "error", err)
		select {
		case <-time.After(readPause):
		case <-pm.claim.lease.Done():
			return nil, err
		}
	}
}

// withdrawAll ends all open questions.
func (pm *permissions) withdrawAll() error {
	for _, id := range slices.Sorted(maps.Keys(pm.calls.open)) {
		if c := pm.calls.open[id]; c != nil && c.approval != nil {
			if err := pm.withdraw(c); err != nil {
				return err
			}
		}
	}
	return nil
}

func (pm *permissions) dismissAsker(c *call) {
	if c.ask != nil {
		c.ask.reply <- nobody
		c.ask = nil
	}
}
