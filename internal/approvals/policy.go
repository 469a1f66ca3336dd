package approvals

import "signoff/internal/domain"

// Action is what a tool call would do, in the terms that policy judges.
type Action struct {
	Tool          string
	Class         domain.Class
	ArgumentsHash string
}

// Source says what decided an action.
type Source string

const (
	ByCapability Source = "capability" // the execution's capabilities
	ByRule       Source = "rule"       // a remembered decision
	ByDecision   Source = "decision"   // a person, just now
	ByAgent      Source = "agent"      // an external agent, by itself: it did not ask
)

// Judgement is the verdict of the policy with its reason.
type Judgement struct {
	Verdict domain.Verdict
	By      Source
	RuleID  string // where By is a rule
}

// Judge is the policy. The order is fixed, the first that applies wins:
//
//  1. the capability of the class denies: deny, whatever is remembered;
//  2. a remembered rule covers exactly this: allow;
//  3. the capability allows, and the class is not one that always asks: allow;
//  4. everything else: ask.
func Judge(action Action, capabilities domain.Capabilities, rules []domain.PermissionRule) Judgement {
	granted := capabilities.Of(action.Class)
	if granted != domain.Allow && granted != domain.Ask {
		return Judgement{Verdict: domain.Deny, By: ByCapability}
	}
	for _, rule := range rules {
		if rule.Tool == action.Tool && rule.ArgumentsHash == action.ArgumentsHash && rule.ArgumentsHash != "" {
			return Judgement{Verdict: domain.Allow, By: ByRule, RuleID: rule.ID}
		}
	}
	if granted == domain.Allow && action.Class != domain.ClassExecute && action.Class != domain.ClassOther {
		return Judgement{Verdict: domain.Allow, By: ByCapability}
	}
	return Judgement{Verdict: domain.Ask, By: ByCapability}
}
