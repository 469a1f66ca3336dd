package anthropic

import (
	"strings"

	"signoff/internal/domain"
	"signoff/internal/llm/provider"
)

// An effort takes the place of the entry's thinking tokens: newer models are sent the level, older ones a budget that stands for it, and none of it is
// no thinking. https://platform.claude.com/docs/en/build-with-claude/effort
// https://platform.claude.com/docs/en/build-with-claude/extended-thinking#how-to-use-extended-thinking

// budgets stand for the levels with models that want a budget. With the text of an answer, the largest fits the model with the shortest answers of those
// that think, Claude Opus 4 with 32,000 tokens.
var budgets = map[domain.Effort]int{"minimal": leastThinking, "low": 2048, "medium": 8192, "high": 16384, "xhigh": 22528, "max": 22528}

// mostOfWindow is which part of a known window thoughts take at most, where a level stands for a budget.
const mostOfWindow = 4

// settingRules are the settings that a model has. There is no seed, and no temperature while a model thinks, or since Claude 4.7:
// https://platform.claude.com/docs/en/about-claude/models/migration-guide
func settingRules(m provider.Model, beside domain.ModelSettings) provider.SettingRules {
	rules := provider.SettingRules{Known: true, Names: []string{domain.SettingEffort, domain.SettingMaxOutputTokens, domain.SettingParallelToolCalls}}
	if !willThink(m, beside) && !sinceClaude(m.Model, 4, 7) {
		rules.Names = append(rules.Names, domain.SettingTemperature)
	}
	switch {
	case alwaysThinks(m.Model):
		rules.Efforts = []domain.Effort{"low", "medium", "high", "xhigh", "max"}
	case sinceClaude(m.Model, 4, 7):
		rules.Efforts = []domain.Effort{"none", "low", "medium", "high", "xhigh", "max"}
	case decidesItself(m.Model):
		rules.Efforts = []domain.Effort{"none", "low", "medium", "high", "max"}
	}
	return rules
}

// alwaysThinks reports whether a model cannot be told not to think: Claude Fable, and since 5.5 all but Haiku.
// https://platform.claude.com/docs/en/build-with-claude/adaptive-thinking
func alwaysThinks(model string) bool {
	model = strings.ToLower(model)
	return strings.Contains(model, "claude-fable") || sinceClaude(model, 5, 5) && !strings.Contains(model, "claude-haiku")
}

// willThink reports whether a model is to think in a request with these settings.
func willThink(m provider.Model, s domain.ModelSettings) bool {
	if decidesItself(m.Model) {
		return s.Effort != domain.EffortNone && (s.Effort != "" || m.ThinkingTokens > 0)
	}
	return budget(m, s) > 0
}

// budget is how many tokens a model that wants a budget thinks at most; 0 = it does not think. A limit of the answer that leaves no room for it wins.
func budget(m provider.Model, s domain.ModelSettings) int {
	tokens := budgetOf(m, s.Effort)
	if most := maxOutput(m, s); tokens >= most {
		tokens = most / 2
	}
	if tokens < leastThinking {
		return 0
	}
	return tokens
}

// budgetOf is the budget that stands for a level. A newer model has none of its own; the entry's says how much longer its answers may become.
func budgetOf(m provider.Model, level domain.Effort) int {
	switch {
	case level == "":
		return m.ThinkingTokens
	case m.ContextWindow > 0:
		return min(budgets[level], m.ContextWindow/mostOfWindow)
	default:
		return budgets[level]
	}
}
