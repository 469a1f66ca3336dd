package llm

import (
	"context"

	"signoff/internal/domain"
	"signoff/internal/llm/provider"
)

// usualAnswer is the estimated length of an answer, in tokens, of a model without a known limit.
const usualAnswer = 4096

// reserve reserves the maximum usage of a request with that many tokens from the budget that the execution shares with others.
func (t *turn) reserve(ctx context.Context, input int64, settings domain.ModelSettings) (domain.Reservation, error) {
	return t.host.Reserve(ctx, t.agent.models.asked().estimate(input, settings))
}

// estimate is the maximum usage of a request with that many tokens.
func (c *candidate) estimate(input int64, settings domain.ModelSettings) domain.Estimate {
	output := int64(c.reserved(settings))
	if output == 0 {
		output = usualAnswer
	}
	if window := int64(c.model.ContextWindow); window > 0 {
		output = min(output, max(window-input, 1))
	}
	return domain.Estimate{Tokens: input + output, Cost: c.cost(domain.Usage{InputTokens: &input, OutputTokens: &output})}
}

// settle ends a reservation with the usage that the model has reported.
func (t *turn) settle(reserved domain.Reservation, answer provider.Answer, err error) {
	reserved.Settle(t.agent.models.asked().completed(answer.Usage), err == nil)
}
