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

// How an open question ends that nobody needs answered.

// askerLeft removes an asker that no longer waits. Its call stays open until the agent reports its outcome.
func (pm *permissions) askerLeft(gone *ask) {
	for _, c := range pm.calls.open {
		if c.ask == gone {
			c.ask = nil
		}
	}
}

// obsolete is the call whose open question the next item of the agent makes obsolete; nil if there is none.
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

// withdraw ends an open question, unless a decision was faster: then it acts on the decision. After the end of the turn nobody can
// act on it, and nothing starts.
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
	return pm.commitDecisions(c, err)
}

// commitDecisions acts on the decision that has refused the withdrawal of a call's question. It reads again while the database is
// away, since the agent waits for the decision.
func (pm *permissions) commitDecisions(c *call, refused error) error {
	change := pm.recorder.begin()
	for {
		err := pm.readDecisions(change)
		if err == nil {
			break
		}
		slog.Warn("cannot read, trying again", "execution", pm.execution.ID, "error", err)
		select {
		case <-time.After(readPause):
		case <-pm.claim.lease.Done():
			return err
		}
	}
	if c.approval != nil {
		return refused // the change was not refused because of a decision
	}
	return pm.recorder.commit(change)
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
