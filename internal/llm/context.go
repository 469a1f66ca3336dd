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
	if t.refuseSchema(ctx, err) {
		got, said, err = t.attempts(ctx)
	}
	if got, said, err = t.withoutState(ctx, got, said, err); err == nil {
		return got, said, nil
	}
	var tried []string
	if domain.CodeOf(err) == domain.CodeContextOverflow {
		done, failed := t.summarize(ctx, reasonOverflow, t.fullAt())
		if failed != nil {
			return provider.Answer{}, nil, failed
		}
		if done {
			tried = append(tried, "with a summary")
			got, said, err = t.attempts(ctx)
		}
	}
	for _, remedy := range []struct {
		apply func() domain.ContextCompacted
		name  string
	}{
		{func() domain.ContextCompacted { return t.agent.conversation.shorten(reasonOverflow, math.MinInt64) },
			"without its older tool results"},
		{func() domain.ContextCompacted {
			return t.agent.conversation.trim(reasonOverflow, t.fullAt())
		}, "with the tool results of the last round shortened"},
	} {
		if domain.CodeOf(err) != domain.CodeContextOverflow {
			return got, said, err
		}
		done := remedy.apply()
		if done.Results == 0 {
			continue
		}
		if err := t.tellCompacted(ctx, done); err != nil {
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
	conversation, limit := &t.agent.conversation, t.fullAt()
	conversation.asked, conversation.most = t.agent.models.asked().model.Name, t.agent.models.asked().mostOfResult()
	_, conversation.reads = t.agent.tools.lookup(toolRead)
	if limit == 0 || conversation.estimate(conversation.view()) <= limit {
		return nil
	}
	if _, err := t.summarize(ctx, reasonNearLimit, limit); err != nil || conversation.estimate(conversation.view()) <= limit {
		return err
	}
	done := conversation.shorten(reasonNearLimit, limit*roomy/100)
	if done.Results == 0 {
		return nil
	}
	return t.tellCompacted(ctx, done)
}

// fullAt is how many tokens a request to the model whose turn it is may have before room is made; 0 = unknown.
func (t *turn) fullAt() int64 { return t.agent.models.asked().fullAt(t.agent.execution.Request.Source) }

func (t *turn) tellCompacted(ctx context.Context, done domain.ContextCompacted) error {
	done.Turn = t.number
	return t.host.Emit(ctx, done)
}

// counted is what an answer keeps of the tokens up to and with it; nil where the provider has not told them.
func (t *turn) counted(contextUsed *int64) *domain.TokenCount {
	if contextUsed == nil {
		return nil
	}
	return &domain.TokenCount{
		Model: t.agent.models.asked().model.Name, Tokens: *contextUsed, Compactions: len(t.agent.conversation.compacted),
	}
}
