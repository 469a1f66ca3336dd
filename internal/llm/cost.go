package llm

import (
	"cmp"
	"slices"

	"signoff/internal/domain"
)

// account keeps the bills of an execution and of its turn.
type account struct {
	total bill
	turn  *bill // nil where a restart came between
}

// begin goes on with the bill of an execution that may have been opened before. Where there were answers and no figures, those
// answers cost something that nobody knows.
func (a *account) begin(prompt domain.Prompt) {
	before := prompt.Turn > 1 || prompt.Rounds > 0
	answered := slices.ContainsFunc(prompt.History, func(m domain.Message) bool { return m.Role == domain.RoleAssistant })
	a.total.begun = a.total.begun || a.total.usage != domain.Usage{} || before && answered
	a.turn = nil
	if prompt.Rounds == 0 {
		a.turn = &bill{}
	}
}

// count adds an answer's usage to the bills, and returns the event for it, and the tokens of the conversation up to and with the answer,
// nil where they are unknown. A provider that reports nothing leaves nothing to report,
// unless it is that the cost is not known any more.
func (a *account) count(of *candidate, messageID string, used domain.Usage) (told []domain.Payload, contextUsed *int64) {
	costKnown, silent := a.total.usage.Cost != nil, used == domain.Usage{}
	if !silent {
		used = of.completed(used)
	}
	update := a.charge(of, used)
	update.MessageID = messageID
	if silent && !costKnown {
		return nil, nil
	}
	return []domain.Payload{update}, used.ContextUsed
}

// countBroken adds what the provider has told of an answer that did not come to its end: it was read and written all the
// same. Anthropic tells the input with its first event, and a budget that took such answers for free would be spent many
// times over by a connection that keeps breaking. Nobody goes on from such an answer, so it says nothing of the context.
func (a *account) countBroken(of *candidate, used domain.Usage) []domain.Payload {
	if used == (domain.Usage{}) {
		return nil
	}
	used = of.completed(used)
	used.ContextUsed = nil
	return []domain.Payload{a.charge(of, used)}
}

// countAside adds the usage of an answer that is no part of the conversation, such as a summary. It says nothing of the context. One that is
// whole and has no figures takes the cost of the sum away.
func (a *account) countAside(of *candidate, used domain.Usage, whole bool) []domain.Payload {
	if used == (domain.Usage{}) && (!whole || a.total.usage.Cost == nil) {
		return nil
	}
	used = of.completed(used)
	used.ContextUsed = nil
	return []domain.Payload{a.charge(of, used)}
}

func (a *account) charge(of *candidate, used domain.Usage) domain.UsageUpdated {
	a.total.add(used)
	told := domain.UsageUpdated{Usage: a.total.usage, Request: &used, Model: of.model.Name}
	if a.turn != nil {
		a.turn.add(used)
		usage := a.turn.usage
		told.Turn = &usage
	}
	return told
}

// completed adds what follows from the figures of a request.
func (c *candidate) completed(used domain.Usage) domain.Usage {
	if used.InputTokens != nil && used.OutputTokens != nil { // the next request has before it all that went in, and what came out
		used.ContextUsed = new(*used.InputTokens + *used.OutputTokens)
	} else {
		used.ContextUsed = nil
	}
	if window := int64(c.model.ContextWindow); window > 0 {
		used.ContextSize = &window
	}
	used.Cost = c.cost(used)
	return used
}

// cost is what a request cost; nil where that cannot be said.
//
// Input tokens are all that the model read, those of its cache included, and output tokens all that it wrote, thoughts
// included, whatever the vendor's own way to count is: see [provider.Answer]. So the cached ones are taken
// out before the rest is charged. A cache figure that is missing counts as none: who charges for a cache reports it.
//
// The cache may have prices of its own. Where the registry does not say them, they follow from that of the input, by the
// provider's factors. No vendor takes more for reading from a cache than for reading afresh, so where there is no factor the price of input stands, and
// the cost is at most too high. What writing costs there nobody can say: such a request has no known cost.
func (c *candidate) cost(used domain.Usage) *float64 {
	if used.InputTokens == nil || used.OutputTokens == nil {
		return nil
	}
	read, written := orZero(used.CacheReadTokens), orZero(used.CacheWriteTokens)
	fresh := *used.InputTokens - read - written
	if fresh < 0 { // the figures contradict each other
		return nil
	}
	readPrice, writePrice := c.cachePrices()
	total := 0.0
	for _, part := range []struct {
		tokens int64
		price  *float64
	}{
		{fresh, c.model.InputCostPer1m},
		{read, readPrice},
		{written, writePrice},
		{*used.OutputTokens, c.model.OutputCostPer1m},
	} {
		if part.tokens == 0 {
			continue
		}
		if part.price == nil {
			return nil
		}
		total += float64(part.tokens) * *part.price
	}
	total /= 1e6
	return &total
}

// cachePrices are those of tokens read from a cache, and written to it.
func (c *candidate) cachePrices() (read, write *float64) {
	read, write = c.model.CacheReadCostPer1m, c.model.CacheWriteCostPer1m
	input := c.model.InputCostPer1m
	if input == nil {
		return read, write
	}
	read = cmp.Or(read, new(*input*cmp.Or(c.provider.CacheRead, 1)))
	if factor := c.provider.CacheWrite; factor > 0 {
		write = cmp.Or(write, new(*input*factor))
	}
	return read, write
}

// bill is a sum over requests.
//
// Tokens that are known add up, as [domain.Usage.Add] does it. Money does not: a sum that leaves out a request looks like
// a bill and is a wrong one, and a budget would be kept by it. So from the first request on whose cost is unknown, the
// cost of the whole is unknown.
//
// Of an answer that broke off, the bill has what the provider had told by then, at its price: the input, mostly, and
// hardly any output. Where it had told nothing, the answer is not in the bill and takes no cost away: nobody reports what
// the vendor charges for it. Each of them stands in the log, as a retry, a switch or a failure.
type bill struct {
	usage domain.Usage
	begun bool // there was a request
}

func (b *bill) add(request domain.Usage) {
	unknown := request.Cost == nil || (b.begun && b.usage.Cost == nil)
	b.usage, b.begun = b.usage.Add(request), true
	if unknown {
		b.usage.Cost = nil
	}
}

func orZero(tokens *int64) int64 {
	if tokens == nil {
		return 0
	}
	return *tokens
}
