package approvals

import (
	"fmt"
	"strings"

	"signoff/internal/approvals/shell"
	"signoff/internal/domain"
)

// Warnings name the unexpected effects of a rule with this effect and matcher; most rules have none.
func Warnings(effect domain.Verdict, m domain.Matcher) []string {
	if effect == domain.Deny && asksAboutCommands(m) {
		return []string{"The path is a pattern, and commands cannot be kept from what it matches, so those that may reach it ask. " +
			"From a file, and from a folder with all that is in it, such as /srv/secrets/**, commands are kept without a question."}
	}
	if effect == domain.Allow && m.Server != "" && m.ArgumentsHash == "" && (m.Agent == "" || m.Agent == internalAgent) {
		return []string{"It covers the tools that somebody has approved by now, with the definitions that were approved. Tools that are new or change, and the reading of resources and prompts, ask all the same; " +
			"only a rule for all executions that nobody's decision left covers them, where the server's entry says `pin: off`. Of an external agent it covers every call."}
	}
	beginning, open := strings.CutSuffix(m.Command, " *")
	if effect != domain.Allow || !open {
		return nil
	}
	if warning := shell.Covers(beginning); warning != "" {
		return []string{warning}
	}
	return nil
}

// asksAboutCommands reports whether a rule that denies this is about commands, and about more than a mount can keep from them.
func asksAboutCommands(m domain.Matcher) bool {
	if m.Path == "" || m.Command != "" || m.ArgumentsHash != "" || m.Server != "" || m.Tool != "" && m.Tool != "bash" {
		return false
	}
	_, isPlain := plainPath(m.Path)
	return !isPlain && m.Class != domain.ClassMCP && m.Class != domain.ClassDelegate
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
		return all // the creation of the execution reports it
	}
	for _, warning := range policy.Warnings() {
		all = append(all, domain.Detail{Pointer: fmt.Sprintf("/tools/bashPolicy/rules/%d", warning.Rule), Message: warning.Message})
	}
	return all
}
