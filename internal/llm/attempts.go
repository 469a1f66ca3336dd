package llm

import (
	"context"
	"fmt"
	"time"

	"signoff/internal/domain"
	"signoff/internal/llm/provider"
)

// attempts gets one whole answer of the current model, in as many attempts as that needs and its time allows. Each attempt
// speaks in a message of its own, so that an interrupted one stays readable and is never continued by another answer's
// text. What the provider failed at for good is a [*provider.Error].
//
// An answer of nothing, neither text nor a call, is asked for once more: it is most often a hiccup of the server. When the
// same comes again it is taken for what it says. A model that has done its work by tools may have nothing to add, and an
// execution that has done its work must not fail for that.
func (t *turn) attempts(ctx context.Context) (provider.Answer, *message, error) {
	asked := t.agent.models.asked()
	view := t.agent.conversation.view()
	if len(t.agent.tools.definitions) == 0 {
		view = inWords(view)
	}
	question := provider.Request{System: t.system, Tools: t.agent.tools.definitions,
		Schema: t.schema(), Settings: t.settings(), CacheKey: string(t.agent.execution.ID)}
	repeated, err := t.retries(ctx)
	if err != nil {
		return provider.Answer{}, nil, err
	}
	for {
		reserved, err := t.reserve(ctx, t.agent.conversation.estimate(view), question.Settings)
		if err != nil {
			return provider.Answer{}, nil, err
		}
		t.attempt++
		// The numbers are for people who read a log; the random end keeps the id unique when a restart asks for the same round again.
		id := fmt.Sprintf("m%d.%d.%d-%s", t.number, t.rounds+1, t.attempt, randomName(6))
		said := newMessage(ctx, t.host, asked.model.Maker(), id)
		if question.Messages, question.Files, err = withFiles(ctx, t.host, view, asked); err != nil {
			t.settle(reserved, provider.Answer{}, err)
			return provider.Answer{}, nil, err
		}
		got, err := t.send(ctx, question, said, reserved)
		question.Files = nil                                                                // nobody holds them while a retry waits
		empty := got.Finish == provider.FinishStop && len(got.Calls) == 0 && !said.speaking // thoughts are for the model itself
		if err == nil && !repeated.once && empty {
			err = &provider.Error{Retry: true, Once: true,
				Shown: domain.Errorf(domain.CodeModelFailed, "The answer of model %q was empty.", asked.model.Name)}
		}
		if err == nil {
			return got, said, said.err
		}
		trouble, err := judge(ctx, said, err)
		if err != nil {
			return provider.Answer{}, nil, err
		}
		trouble = t.naming(trouble)
		if told := t.agent.account.countBroken(asked, got.Usage); len(told) > 0 {
			if err := t.host.Emit(ctx, told...); err != nil {
				return provider.Answer{}, nil, err
			}
		}
		t.agent.logger.WarnContext(ctx, "model request failed", "executionId", t.agent.execution.ID,
			"model", asked.model.Name, "attempt", repeated.attempt, "error", trouble.Shown)
		at, again := repeated.next(time.Now(), trouble)
		if !again {
			return provider.Answer{}, nil, repeated.over(trouble)
		}
		if err := t.wait(ctx, repeated, at, trouble); err != nil {
			return provider.Answer{}, nil, err
		}
	}
}

// send sends one request to the model whose turn it is, settles its reservation, and reports the request and the rate limits of the response.
func (t *turn) send(ctx context.Context, question provider.Request, said *message, reserved domain.Reservation) (got provider.Answer, err error) {
	defer func() { t.settle(reserved, got, err) }() // also if the client panics
	asked := t.agent.models.asked()
	if err := t.tellRequest(ctx, question, false); err != nil {
		return got, err
	}
	var heard provider.RateLimits
	got, err = asked.client.Stream(provider.WithRateLimits(ctx, func(told provider.RateLimits) { heard = told }), question, said)
	if told := t.agent.limits.news(asked.model.Name, heard); len(told) > 0 && ctx.Err() == nil {
		if failed := t.host.Emit(ctx, told...); failed != nil && err == nil {
			err = failed
		}
	}
	return got, err
}

// tellRequest tells of a request before it is sent.
func (t *turn) tellRequest(ctx context.Context, question provider.Request, summary bool) error {
	return t.host.Emit(ctx, domain.ModelRequested{
		Turn: t.number, Model: t.agent.models.asked().model.Name, Iteration: t.rounds + 1, Messages: len(question.Messages), Tools: len(question.Tools),
		Summary: summary,
	})
}

// judge tells a failure of the provider, after closing what it had said, from the end of everything.
func judge(ctx context.Context, said *message, err error) (*provider.Error, error) {
	if ended := ctx.Err(); ended != nil {
		return nil, ended
	}
	if over := said.interrupt(); over != nil { // the host takes nothing any more, which may be what err is about
		return nil, over
	}
	return provider.ErrorOf(err), nil
}

// retries begins a request to the model whose turn it is, or goes on with the one that the log tells of: when that is to be repeated
// is decided already, and is waited for here.
func (t *turn) retries(ctx context.Context) (*retries, error) {
	patience := t.agent.retry
	if !t.agent.models.last() { // where another model may be asked, nobody waits long for this one
		patience = min(patience, t.agent.patience)
	}
	r := &retries{patience: max(patience, 0), attempt: 1}
	earlier := t.retrying
	if t.retrying = nil; earlier == nil {
		return r, nil
	}
	r.attempt, r.until = earlier.Attempt+1, earlier.Until
	t.attempt = earlier.Attempt
	return r, waitUntil(ctx, earlier.At)
}

// wait announces when the next attempt begins, then waits for it.
func (t *turn) wait(ctx context.Context, r *retries, at time.Time, trouble *provider.Error) error {
	at = at.UTC().Truncate(time.Microsecond) // as it is read again
	err := t.host.Emit(ctx, domain.ModelRetrying{
		Model:   t.agent.models.asked().model.Name,
		Attempt: r.attempt,
		DelayMs: time.Until(at).Milliseconds(),
		At:      at,
		Until:   r.until.UTC().Truncate(time.Microsecond),
		Code:    trouble.Shown.Code,
		Message: trouble.Shown.Message,
	})
	if err != nil {
		return err
	}
	r.attempt++
	return waitUntil(ctx, at)
}
