package llm

import (
	"context"
	"math"
	"strings"

	"signoff/internal/domain"
	"signoff/internal/llm/provider"
)

// The reasons of a [domain.ContextCompacted].
const (
	reasonNearLimit = "nearLimit"
	reasonOverflow  = "overflow"
)

// askModel asks the current model. Where the conversation turns out to be too long for it all the same, it is cut down
// and asked for once more: without its older results, and when that is not enough, or there are none, with the last
// round's results shortened as well. One large result would otherwise end the execution for good.
func (t *turn) askModel(ctx context.Context) (provider.Answer, *message, error) {
	if err := t.makeRoom(ctx); err != nil {
		return provider.Answer{}, nil, err
	}
	got, said, err := t.attempts(ctx)
	if refused, err := t.refuseState(ctx, err); err != nil {
		return provider.Answer{}, nil, err
	} else if refused {
		return t.attempts(ctx)
	}
	var tried []string
	for _, remedy := range []struct {
		apply func() cut
		name  string
	}{
		{func() cut { return t.agent.conversation.shorten(math.MinInt64) }, "without its older tool results"},
		{func() cut { return t.agent.conversation.trim(t.agent.models.asked().fullAt()) }, "with the tool results of the last round shortened"},
	} {
		if domain.CodeOf(err) != domain.CodeContextOverflow {
			return got, said, err
		}
		lost := remedy.apply()
		if lost.results == 0 {
			continue
		}
		if err := t.tellCompacted(ctx, reasonOverflow, lost); err != nil {
			return provider.Answer{}, nil, err
		}
		tried = append(tried, remedy.name)
		got, said, err = t.attempts(ctx)
	}
	if domain.CodeOf(err) == domain.CodeContextOverflow {
		also := "there is no tool result that could be shortened" // what was tried, so that nobody tries it again by hand
		if len(tried) > 0 {
			also = "also " + strings.Join(tried, " and ")
		}
		err = &provider.Error{Shown: domain.Errorf(domain.CodeContextOverflow,
			"The conversation is longer than model %q can read; %s.", t.agent.models.asked().model.Name, also).With(err)}
	}
	return got, said, err
}

// makeRoom cuts old results where the next request comes near the limit of the model. Where the limit is unknown, the
// provider's refusal tells it.
func (t *turn) makeRoom(ctx context.Context) error {
	conversation, limit := &t.agent.conversation, t.agent.models.asked().fullAt()
	if limit == 0 || conversation.estimate(conversation.view()) <= limit {
		return nil
	}
	lost := conversation.shorten(limit * roomy / 100)
	if lost.results == 0 {
		return nil
	}
	return t.tellCompacted(ctx, reasonNearLimit, lost)
}

func (t *turn) tellCompacted(ctx context.Context, reason string, lost cut) error {
	return t.host.Emit(ctx, domain.ContextCompacted{
		Turn: t.number, Reason: reason, Results: lost.results, Before: lost.before, After: lost.after,
	})
}
