package sessions

import (
	"errors"
	"maps"
	"slices"
	"time"

	"signoff/internal/approvals"
	"signoff/internal/domain"
	"signoff/internal/store"
)

// How a rule answers a question that is already open.

// applyNewRules answers the open questions that a new rule covers: a person who says always to one of five equal calls does not
// want to answer for the other four. Each answer is a change of its own, so that a person who is faster wins; the answers are then
// read like any other decision.
func (pm *permissions) applyNewRules() error {
	if err := pm.rules.read(); err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(pm.calls.open)) {
		c := pm.calls.open[id]
		if c.approval == nil || c.ask == nil || !c.approval.Kind.AnswerableByRule() {
			continue
		}
		if err := pm.rules.readPin(c); err != nil {
			return err
		}
		if slices.Equal(c.judgedBy, pm.rules.basis(c)) {
			continue
		}
		judgement, judged := pm.rules.judgeByPolicy(c, c.approval.ArgumentsHash)
		if !judged {
			continue // the session is notified when it is
		}
		if c.outcomeUnknown() {
			judgement = approvals.Repeated(judgement, c.retryDecision())
		}
		if judgement.By != approvals.ByRule || judgement.Verdict == domain.Ask {
			continue
		}
		if err := pm.answerByRule(c, judgement); err != nil {
			return err
		}
	}
	return nil
}

// answerByRule writes the decision of a rule, in the name of its author.
func (pm *permissions) answerByRule(c *call, judgement approvals.Judgement) error {
	rule := judgement.Decider
	if rule.Scope == "" {
		return nil // a rule of the request: it existed when the question was asked, and has no author
	}
	if judgement.Verdict == domain.Allow && !c.ask.allowable() {
		return nil // the agent offers no option that allows
	}
	resolution, event := approvals.AnswerByRule(*c.approval, *rule)
	change := store.Change{
		Execution: pm.execution.ID, Epoch: pm.claim.epoch, Resolve: []store.Resolution{resolution},
		Events: []domain.Event{pm.recorder.event(event)}, Hits: []string{rule.ID},
	}
	ctx, cancel := pm.claim.reading()
	defer cancel()
	_, err := pm.engine.log.Commit(ctx, change)
	if domain.CodeOf(err) == domain.CodeStale && !errors.Is(err, store.ErrCommitUnknown) {
		return nil // a person was faster, or the question has expired
	}
	return err
}

// newerRules tells whether a rule or a pin was made after a question was asked. The rule, or an older one, may answer the question, but only an agent that
// asks again can tell what the call would do. The times come from the clocks of two replicas, so ten minutes are added. If that is
// too much, an agent is opened in vain; if it were too little, a person would be asked although their rule answers.
func (pm *permissions) newerRules() (bool, error) {
	if err := pm.rules.read(); err != nil {
		return false, err
	}
	for _, c := range pm.calls.open {
		if c.approval == nil || !c.approval.Kind.AnswerableByRule() {
			continue
		}
		if err := pm.rules.readPin(c); err != nil {
			return false, err
		}
		since := c.approval.Requested.Add(-clocksApart)
		newer := func(rule domain.PermissionRule) bool { return rule.Created.After(since) }
		if c.pin != nil && c.pin.Last.After(since) || slices.ContainsFunc(pm.rules.policy.Rules, newer) {
			return true, nil
		}
	}
	return false, nil
}

// clocksApart is how much the clocks of two replicas may differ.
const clocksApart = 10 * time.Minute
