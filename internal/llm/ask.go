package llm

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/cenkalti/backoff/v5"

	"signoff/internal/domain"
)

const (
	maxAttempts = 5
	firstWait   = time.Second
	longestWait = 60 * time.Second // also where the provider asks for more
)

// attempts gets one whole answer of the current model, in as many attempts as that needs and may take. Each attempt
// speaks in a message of its own, so that an interrupted one stays readable and is never continued by another answer's
// text. What the provider failed at for good is a [*failure].
//
// An answer of nothing, neither text nor a call, is asked for once more: it is most often a hiccup of the server. When the
// same comes again it is taken for what it says. A model that has done its work by tools may have nothing to add, and an
// execution that has done its work must not fail for that.
func (t *turn) attempts(ctx context.Context) (answer, *message, error) {
	asked := t.agent.asked()
	question := request{system: t.system.Value(), messages: t.view(), tools: t.agent.tools.definitions}
	waits := newWaits()
	once := true // what may be repeated once has not been
	for attempt := 1; ; attempt++ {
		t.attempt++
		said := newMessage(ctx, t.host, t.newMessageID())
		got, err := asked.provider.Stream(ctx, question, said)
		if err == nil && once && attempt < maxAttempts && got.empty(said) {
			err = emptyAnswer(asked.name)
		}
		if err == nil {
			return got, said, said.complete()
		}
		trouble, err := t.judge(ctx, said, err)
		if err != nil {
			return answer{}, nil, err
		}
		if err := t.countBroken(ctx, got.usage); err != nil {
			return answer{}, nil, err
		}
		t.agent.logger.WarnContext(ctx, "model request failed", "executionId", t.agent.task.id,
			"model", asked.name, "attempt", attempt, "error", trouble.shown)
		if !trouble.retry || trouble.once && !once || attempt == maxAttempts {
			return answer{}, nil, trouble
		}
		once = once && !trouble.once
		if err := t.wait(ctx, attempt, trouble, waits.NextBackOff()); err != nil {
			return answer{}, nil, err
		}
	}
}

// empty tells whether an answer that came to its end says nothing and asks for nothing. Thoughts are for the model itself.
func (a answer) empty(said *message) bool {
	return a.finish == finishStop && len(a.calls) == 0 && !said.speaking
}

func emptyAnswer(model string) *failure {
	return &failure{retry: true, once: true, shown: domain.Errorf(domain.CodeModelFailed, "The answer of model %q was empty.", model)}
}

// judge tells a failure of the provider, after closing what it had said, from the end of everything.
func (t *turn) judge(ctx context.Context, said *message, err error) (*failure, error) {
	if ended := ctx.Err(); ended != nil {
		return nil, ended
	}
	if over := said.interrupt(); over != nil { // the host takes nothing any more, which may be what err is about
		return nil, over
	}
	return failureOf(err), nil
}

// wait announces the wait, then waits. The provider's own wish goes before ours; the sessions that it has turned away
// together should not all come back together, so there is chance in both.
func (t *turn) wait(ctx context.Context, attempt int, trouble *failure, delay time.Duration) error {
	if trouble.after > 0 {
		delay = trouble.after + rand.N(trouble.after/10+time.Millisecond)
	}
	delay = min(delay, longestWait)
	err := t.host.Emit(ctx, domain.ModelRetrying{
		Attempt:     attempt,
		MaxAttempts: maxAttempts,
		DelayMs:     delay.Milliseconds(),
		Code:        trouble.shown.Code,
		Message:     trouble.shown.Message,
	})
	if err != nil {
		return err
	}
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func newWaits() *backoff.ExponentialBackOff {
	return &backoff.ExponentialBackOff{
		InitialInterval:     firstWait,
		RandomizationFactor: 0.5,
		Multiplier:          2,
		MaxInterval:         longestWait / 2, // with the chance, below the longest
	}
}
