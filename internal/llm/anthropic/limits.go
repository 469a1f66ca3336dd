package anthropic

import (
	"signoff/internal/domain"
	"signoff/internal/llm/provider"
)

// defaultMaxOutput is what every model of Anthropic that is still served can write.
const defaultMaxOutput = 8192

// leastThinking is Anthropic's own limit: it refuses every request with less.
const leastThinking = 1024

// maxOutput is how many tokens an answer may have, the thinking included. The vendor wants to be told, and keeps them free in the window.
func maxOutput(m provider.Model) int {
	switch {
	case m.MaxOutputTokens > 0:
		return m.MaxOutputTokens
	case m.ContextWindow > 0: // a prompt has to fit, too
		return m.ThinkingTokens + min(defaultMaxOutput, max(m.ContextWindow/2, 1))
	default:
		return m.ThinkingTokens + defaultMaxOutput
	}
}

// check finds what the vendor would refuse in every request.
func check(m provider.Model) error {
	switch {
	case m.ThinkingTokens > 0 && m.ThinkingTokens < leastThinking:
		return domain.Invalid(m.Pointer("thinkingTokens"), "model %q has %d thinking tokens; at least %d, or none",
			m.Name, m.ThinkingTokens, leastThinking)
	case m.ThinkingTokens >= maxOutput(m):
		return domain.Invalid(m.Pointer("thinkingTokens"), "the thinking tokens of model %q leave none of its %d output tokens",
			m.Name, maxOutput(m))
	case m.ContextWindow > 0 && maxOutput(m) >= m.ContextWindow:
		return domain.Invalid(m.Pointer("maxOutputTokens"), "the %d output tokens of model %q leave none of its window of %d",
			maxOutput(m), m.Name, m.ContextWindow)
	}
	return nil
}
