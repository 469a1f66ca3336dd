package sessions

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"signoff/internal/approvals"
	"signoff/internal/domain"
	"signoff/internal/store"
)

// answerByRules answers the open questions that a rule covers by now: somebody who says always to one of five equal
// calls does not want to be asked about the other four. Each is a change of its own, so that a person who is
// faster wins, like everywhere; what became of them is then read like any other decision.
func (s *session) answerByRules() error {
	ctx, cancel := s.reading()
	defer cancel()
	rules, err := s.store.Rules(ctx, s.execution.Tenant, s.execution.ID)
	if err != nil {
		return err
	}
	s.policy.Rules = rules
	for _, id := range slices.Sorted(maps.Keys(s.calls)) {
		c := s.calls[id]
		if c.approval == nil || c.ask == nil || c.approval.Kind == domain.ApprovalQuestion {
			continue
		}
		judgement := s.policy.Judge(c.ToolCall, c.approval.ArgumentsHash, time.Now())
		if judgement.By != approvals.ByRule || judgement.Verdict == domain.Ask {
			continue
		}
		if err := s.answerByRule(ctx, c, judgement); err != nil {
			return err
		}
	}
	return nil
}

// answerByRule writes the decision of a rule, in the name of who made it.
func (s *session) answerByRule(ctx context.Context, c *call, judgement approvals.Judgement) error {
	at := slices.IndexFunc(s.policy.Rules, func(r domain.PermissionRule) bool { return r.ID == judgement.RuleID })
	if judgement.Verdict == domain.Allow && !c.ask.allowable() {
		return nil // the agent offers no option that would say so
	}
	resolution, event := approvals.AnsweredBy(*c.approval, s.policy.Rules[at])
	change := store.Change{
		Execution: s.execution.ID, Epoch: s.epoch, Resolve: []store.Resolution{resolution},
		Events: []domain.Event{s.event(event)}, Hits: []string{judgement.RuleID},
	}
	_, err := s.log.Commit(ctx, change)
	if domain.CodeOf(err) == domain.CodeStale && !errors.Is(err, store.ErrUnknownOutcome) {
		return nil // a person was faster, or its time is over
	}
	return err
}
