package sessions

import (
	"errors"
	"maps"
	"slices"

	"signoff/internal/approvals"
	"signoff/internal/domain"
	"signoff/internal/store"
)

// answerByRules answers the open questions that a rule covers by now: somebody who says always to one of five equal
// calls does not want to be asked about the other four. Each is a change of its own, so that a person who is
// faster wins, like everywhere; what became of them is then read like any other decision.
func (s *Session) answerByRules() error {
	if err := s.readRules(); err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(s.calls.open)) {
		c := s.calls.open[id]
		if c.approval == nil || c.ask == nil || !c.answerable() || slices.Equal(c.judgedBy, ids(s.rules.policy.Rules)) {
			continue
		}
		judgement, judged := s.judgeByPolicy(c, c.approval.ArgumentsHash)
		if !judged {
			continue // the session is woken when it is
		}
		if c.lost() {
			judgement = approvals.Repeated(judgement, c.wished())
		}
		if judgement.By != approvals.ByRule || judgement.Verdict == domain.Ask {
			continue
		}
		if err := s.answerByRule(c, judgement); err != nil {
			return err
		}
	}
	return nil
}

// answerByRule writes the decision of a rule, in the name of who made it.
func (s *Session) answerByRule(c *call, judgement approvals.Judgement) error {
	rule := judgement.Decider
	if rule.Scope == "" {
		return nil // a rule of the request: it was there when the question was asked, and nobody is its author
	}
	if judgement.Verdict == domain.Allow && !c.ask.allowable() {
		return nil // the agent offers no option that would say so
	}
	resolution, event := approvals.AnswerByRule(*c.approval, *rule)
	change := store.Change{
		Execution: s.execution.ID, Epoch: s.claim.epoch, Resolve: []store.Resolution{resolution},
		Events: []domain.Event{s.recorder.event(event)}, Hits: []string{rule.ID},
	}
	ctx, cancel := s.claim.reading()
	defer cancel()
	_, err := s.engine.log.Commit(ctx, change)
	if domain.CodeOf(err) == domain.CodeStale && !errors.Is(err, store.ErrCommitUnknown) {
		return nil // a person was faster, or its time is over
	}
	return err
}
