package sessions

import (
	"context"
	"sync"

	"signoff/internal/domain"
)

// An external agent asks its models itself, and reports its usage when it likes. So its turn reserves a share of the budget that executions share before
// the agent is prompted, and another one whenever the agent reports that it has used more. If nothing is left, the agent is stopped.

// share is the reservation of a turn of an external agent, and the usage that the agent has reported.
type share struct {
	once   domain.Estimate // what is reserved at a time
	before domain.Usage    // of the execution when the turn was prompted

	mu    sync.Mutex
	usage domain.Usage  // of the execution
	news  chan struct{} // full while there is a report that was not looked at
}

func newShare(once domain.Estimate, before domain.Usage) *share {
	return &share{once: once, before: before, usage: before, news: make(chan struct{}, 1)}
}

// report takes a report of the agent. It never waits.
func (s *share) report(usage domain.Usage) {
	s.mu.Lock()
	s.usage = usage.AtLeast(s.usage)
	s.mu.Unlock()
	notify(s.news)
}

// used is what the turn has used so far.
func (s *share) used() domain.Usage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.usage.Since(s.before)
}

// keepShare prompts the agent under a share of the budget. If the budget is spent, that is the error, whatever the agent says of its end.
func (h *host) keepShare(ctx context.Context, prompt func(context.Context) (domain.StopReason, error)) (domain.StopReason, error) {
	if h.share == nil {
		return prompt(ctx)
	}
	reserved, err := h.ledger.Reserve(ctx, h.holder, h.share.once)
	if err != nil {
		return "", err
	}
	ctx, stop := context.WithCancelCause(ctx)
	var refused error
	var watching sync.WaitGroup
	whole := false
	end := sync.OnceFunc(func() {
		stop(errOver)
		watching.Wait()
		reserved.Settle(h.share.used(), whole)
	})
	defer end() // also if the agent panics
	watching.Go(func() {
		if err := h.extendShare(ctx, reserved); ctx.Err() == nil {
			refused = err
			stop(err)
		}
	})
	reason, err := prompt(ctx)
	whole = err == nil
	end()
	if refused != nil {
		return "", refused
	}
	return reason, err
}

// extendShare reserves another share whenever the agent has used up what is reserved, until the turn is over. It returns why the budget has no more.
func (h *host) extendShare(ctx context.Context, reserved domain.Reservation) error {
	for shares := 1.0; ; {
		select {
		case <-h.share.news:
		case <-ctx.Done():
			return nil
		}
		for used := h.share.used(); beyond(used, h.share.once, shares); shares++ {
			if err := reserved.Extend(ctx, h.share.once); err != nil {
				return err
			}
		}
	}
}

// beyond tells whether so many shares are used up.
func beyond(used domain.Usage, once domain.Estimate, shares float64) bool {
	tokens := used.Tokens()
	return once.Tokens > 0 && tokens != nil && float64(*tokens) >= shares*float64(once.Tokens) ||
		*once.Cost > 0 && used.Cost != nil && *used.Cost >= shares**once.Cost
}
