package llm

import (
	"math"
	"slices"

	"signoff/internal/domain"
	"signoff/internal/llm/provider"
)

// worthTelling is by how many percent a limit has to move before it is told again: most responses tell a little more, and a log with an event for
// each of them would be half of limits.
const worthTelling = 5

// limits are what was told last of the rate limits of each model.
type limits map[string][]domain.RateLimit

// news is the event for the limits that a response told, unless the last one told nearly the same.
func (l *limits) news(model string, heard provider.RateLimits) []domain.Payload {
	if heard.Headers == nil || len(heard.Limits) == 0 && len((*l)[model]) == 0 || slices.EqualFunc((*l)[model], heard.Limits, nearly) {
		return nil
	}
	if *l == nil {
		*l = limits{}
	}
	(*l)[model] = heard.Limits
	return []domain.Payload{domain.RateLimitUpdated{Model: model, Limits: heard.Limits, Update: heard.Headers}}
}

// nearly reports whether two reports of a limit say nearly the same. Where nothing is left they do not, however little that was.
func nearly(a, b domain.RateLimit) bool {
	if a.Window != b.Window || (a.UsedPercent == nil) != (b.UsedPercent == nil) {
		return false
	}
	return a.UsedPercent == nil || math.Abs(*a.UsedPercent-*b.UsedPercent) < worthTelling && (*a.UsedPercent >= 100) == (*b.UsedPercent >= 100)
}
