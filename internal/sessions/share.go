package sessions

import (
	"context"
	"sync"

	"signoff/internal/domain"
)

// An external agent asks its models itself, and reports its usage at any time. So its turn reserves a portion of the shared budget before the agent is
// prompted, and another one whenever the agent reports that it has used more. If nothing is left, the agent is stopped.

// share is the reservation of a turn of an external agent, and the usage that the agent has reported.
type share struct {
	portion domain.Estimate // is reserved at a time
	before  domain.Usage    // of the execution when the turn was prompted

	mu      sync.Mutex
	usage   domain.Usage  // of the execution
	updated chan struct{} // full while there is an unread report
}

func newShare(portion domain.Estimate, before domain.Usage) *share {
	return &share{portion: portion, before: before, usage: before, updated: make(chan struct{}, 1)}
}

// report takes a report of the agent. It never waits.
func (s *share) report(usage domain.Usage) {
	s.mu.Lock()
	s.usage = usage.AtLeast(s.usage)
	s.mu.Unlock()
	notify(s.updated)
}

// used is the usage of the turn so far.
func (s *share) used() domain.Usage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.usage.Since(s.before)
}

// promptWithShare prompts the agent under a share of the budget. If the budget is spent, that is the error, and the agent's own result is dropped.
func (h *host) promptWithShare(ctx context.Context, prompt func(context.Context) (domain.StopReason, error)) (domain.StopReason, error) {
	if h.share == nil {
		return prompt(ctx)
	}
	reserved, err := h.ledger.Reserve(ctx, h.holder, h.share.portion)
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

// extendShare reserves another portion whenever the agent has used up its reservation, until the turn is over. It returns the error of the budget.
func (h *host) extendShare(ctx context.Context, reserved domain.Reservation) error {
	for portions := 1.0; ; {
		select {
		case <-h.share.updated:
		case <-ctx.Done():
			return nil
		}
		for used := h.share.used(); usesUp(used, h.share.portion, portions); portions++ {
			if err := reserved.Extend(ctx, h.share.portion); err != nil {
				return err
			}
		}
	}
}

// usesUp tells whether a usage uses up that number of portions.
func usesUp(used domain.Usage, portion domain.Estimate, portions float64) bool {
	tokens := used.Tokens()
	return portion.Tokens > 0 && tokens != nil && float64(*tokens) >= portions*float64(portion.Tokens) ||
		*portion.Cost > 0 && used.Cost != nil && *used.Cost >= portions**portion.Cost
}
