package anthropic

import (
	"cmp"

	"signoff/internal/domain"
	"signoff/internal/llm/provider"
)

// defaultMaxOutput is what every model of Anthropic that is still served can write.
const defaultMaxOutput = 8192

// leastThinking is Anthropic's own limit: it refuses every request with less.
const leastThinking = 1024

// maxOutput is how many tokens an answer may have, the thinking included. The vendor wants to be told, and keeps them free in the window.
func maxOutput(m provider.Model, s domain.ModelSettings) int {
	limit, thinking := cmp.Or(s.MaxOutputTokens, m.MaxOutputTokens), budgetOf(m, s.Effort)
	switch {
	case limit > 0:
		return limit
	case m.ContextWindow > 0: // a prompt has to fit, too
		return thinking + min(defaultMaxOutput, max(m.ContextWindow/2, 1))
	default:
		return thinking + defaultMaxOutput
	}
}

// check finds what the vendor would refuse in every request.
func check(m provider.Model) error {
	most := maxOutput(m, m.Settings())
	switch {
	case m.ThinkingTokens > 0 && m.ThinkingTokens < leastThinking:
		return domain.Invalid(m.Pointer("thinkingTokens"), "model %q has %d thinking tokens; at least %d, or none",
			m.Name, m.ThinkingTokens, leastThinking)
	case m.ThinkingTokens >= maxOutput(m, domain.ModelSettings{}):
		return domain.Invalid(m.Pointer("thinkingTokens"), "the thinking tokens of model %q leave none of its %d output tokens",
			m.Name, maxOutput(m, domain.ModelSettings{}))
	case m.ContextWindow > 0 && most >= m.ContextWindow:
		return domain.Invalid(m.Pointer("maxOutputTokens"), "the %d output tokens of model %q leave none of its window of %d",
			most, m.Name, m.ContextWindow)
	}
	return nil
}
