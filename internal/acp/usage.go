package acp

import (
	"signoff/internal/acp/wire"
	"signoff/internal/domain"
)

// account adds up the agent's reports of its usage. There are four kinds of reports, and most agents have one or
// two: with the answer of a turn (for that turn), with a chunk of text (for one answer of the model), by usage_update
// (how full the context is, and the cost so far), and by notifications of their own (the sum so far). The sums are not
// added to each other: they count the same tokens.
type account struct {
	before    domain.Usage // of the execution, when this process began
	continued bool         // the agent's session is older than this process, and so are its sums
	turns     domain.Usage // the sum over the turns
	answers   domain.Usage // the sum over the model's answers
	stated    domain.Usage // the sum that the agent itself states
	now       domain.Usage // context and cost
}

// state takes a usage_update.
func (a *account) state(update wire.Object) {
	used, size, cost := update.Count("used"), update.Count("size"), update.Object("cost").Number("amount")
	if !some(used) && !some(size) && (cost == nil || *cost == 0) {
		return // zeros from an agent that does not know
	}
	a.now = a.now.Add(domain.Usage{ContextUsed: used, ContextSize: size})
	if cost != nil && *cost >= 0 {
		a.now.Cost = cost
	}
}

// total is the usage of the execution.
func (a *account) total() domain.Usage {
	sum, mine := a.before, a.turns
	if mine == (domain.Usage{}) {
		mine = a.answers
	}
	if mine == (domain.Usage{}) {
		mine = a.stated
		if a.continued && mine != (domain.Usage{}) { // it counts what came before too
			sum = domain.Usage{Cost: sum.Cost, ContextUsed: sum.ContextUsed, ContextSize: sum.ContextSize}
		}
	}
	sum = sum.Add(mine)
	now := a.now
	if a.continued && now.Cost != nil {
		sum.Cost = nil
	}
	return sum.Add(now)
}

// statedUsage reads a vendor's notification: its total, wherever that stands.
func statedUsage(params wire.Object) domain.Usage {
	for _, name := range []string{"tokenUsage", "usage", "info"} {
		if inner := params.Object(name); inner != nil {
			params = inner
		}
	}
	usage := domain.Usage{ContextSize: params.Count("modelContextWindow")}
	for _, name := range []string{"total", "totalTokenUsage", "total_token_usage"} {
		if inner := params.Object(name); inner != nil {
			params = inner
		}
	}
	return usage.Add(readUsage(params))
}

// readUsage reads the names that are in use. An object whose numbers are all zero is from an agent that does not know.
func readUsage(o wire.Object) domain.Usage {
	first := func(names ...string) *int64 {
		for _, name := range names {
			if count := o.Count(name); count != nil {
				return count
			}
		}
		return nil
	}
	usage := domain.Usage{
		InputTokens:      first("inputTokens", "input_tokens"),
		OutputTokens:     first("outputTokens", "output_tokens"),
		ReasoningTokens:  first("thoughtTokens", "reasoningTokens", "reasoningOutputTokens", "reasoning_output_tokens"),
		CacheReadTokens:  first("cachedReadTokens", "cacheReadTokens", "cachedInputTokens", "cached_input_tokens"),
		CacheWriteTokens: first("cachedWriteTokens", "cacheWriteTokens"),
		TotalTokens:      first("totalTokens", "total_tokens"),
	}
	known := some(usage.InputTokens) || some(usage.OutputTokens) || some(usage.ReasoningTokens) ||
		some(usage.CacheReadTokens) || some(usage.CacheWriteTokens) || some(usage.TotalTokens)
	if !known {
		return domain.Usage{}
	}
	return usage
}

func some(count *int64) bool { return count != nil && *count > 0 }
