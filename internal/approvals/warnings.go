package approvals

import (
	"fmt"
	"strings"

	"signoff/internal/approvals/shell"
	"signoff/internal/domain"
)

// Warnings say what a rule with this effect and this matcher covers besides what its author may think of; none for most.
func Warnings(effect domain.Verdict, m domain.Matcher) []string {
	beginning, open := strings.CutSuffix(m.Command, " *")
	if effect != domain.Allow || !open {
		return nil
	}
	if warning := shell.Covers(beginning); warning != "" {
		return []string{warning}
	}
	return nil
}

// RequestWarnings are the warnings about the rules that a request brings along, each with the place of its rule.
func RequestWarnings(request domain.Request) (all []domain.Detail) {
	for i, rule := range request.Rules {
		for _, warning := range Warnings(rule.Effect, rule.Matcher) {
			all = append(all, domain.Detail{Pointer: fmt.Sprintf("/policy/rules/%d", i), Message: warning})
		}
	}
	if request.Tools.BashPolicy == nil {
		return all
	}
	policy, err := shell.Compile(*request.Tools.BashPolicy)
	if err != nil {
		return all // who creates an execution has heard of it already
	}
	for _, warning := range policy.Warnings() {
		all = append(all, domain.Detail{Pointer: fmt.Sprintf("/tools/bashPolicy/rules/%d", warning.Rule), Message: warning.Message})
	}
	return all
}
