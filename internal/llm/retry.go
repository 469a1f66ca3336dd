package llm

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"signoff/internal/domain"
	"signoff/internal/llm/provider"
)

const (
	firstWait  = time.Second
	usualWait  = 40 * time.Second // that the waits grow to; with the jitter, up to a minute
	costlyWait = 4 * time.Minute  // that they grow to where answers break off: somebody pays for each
	mostJitter = time.Minute
)

// retries counts the attempts of one request to one model, those of an earlier process included.
type retries struct {
	patience time.Duration // counted from the first failure
	attempt  int           // the newest one, from 1
	until    time.Time     // no attempt begins later; zero: none has failed
	once     bool          // what may be repeated only once was repeated
}

// retries begins a request to the model whose turn it is, or goes on with the one that the log tells of: when that is to be repeated
// is decided already, and is waited for here.
func (t *turn) retries(ctx context.Context) (*retries, error) {
	r := &retries{patience: t.patience(), attempt: 1}
	earlier := t.retrying
	if t.retrying = nil; earlier == nil {
		return r, nil
	}
	r.attempt, r.until = earlier.Attempt+1, earlier.Until
	t.attempt = earlier.Attempt
	return r, waitUntil(ctx, earlier.At)
}

// patience is for how long a request is repeated. Where another model may be asked, nobody waits long for this one.
func (t *turn) patience() time.Duration {
	patience := t.agent.retry
	if len(t.agent.lost)+1 < len(t.agent.candidates) {
		patience = min(patience, t.agent.patience)
	}
	return max(patience, 0)
}

// next is when the request is repeated; false: not at all.
func (r *retries) next(now time.Time, trouble *provider.Failure) (time.Time, bool) {
	if trouble.Once {
		again := !r.once
		r.once = true
		return now.Add(pause(r.attempt, usualWait)), again
	}
	if r.until.IsZero() {
		r.until = now.Add(r.patience)
	}
	left := r.until.Sub(now)
	if !trouble.Retry || left <= 0 || trouble.After > left {
		return time.Time{}, false
	}
	if trouble.After > 0 {
		return now.Add(min(obeyed(trouble.After, r.attempt), left)), true // the jitter does not lead past the end
	}
	most := usualWait
	if trouble.Shown.Code == domain.CodeModelStreamBroken {
		most = costlyWait
	}
	return now.Add(min(pause(r.attempt, most), left)), true
}

// over is the failure of a request that is not repeated any more. Where the provider asks for a longer wait than there is time for, it says so.
func (r *retries) over(trouble *provider.Failure) *provider.Failure {
	if !trouble.Retry || trouble.After <= r.patience {
		return trouble
	}
	told := *trouble
	told.Shown = domain.Errorf(trouble.Shown.Code, "%s It asks to be left alone for %s.", trouble.Shown.Message, trouble.After.Round(time.Second)).With(trouble.Shown)
	return &told
}

// pause is the wait after so many attempts. It doubles from one second on. The sessions that a provider has turned away together should
// not all come back together, so chance has a part in it.
func pause(attempts int, most time.Duration) time.Duration {
	wait := most
	if doublings := attempts - 1; doublings < 10 {
		wait = min(firstWait<<doublings, most)
	}
	return wait/2 + rand.N(wait)
}

// obeyed is the wait that a provider asks for. One that asks for an instant, again and again, is asked ever more rarely.
func obeyed(after time.Duration, attempts int) time.Duration {
	return max(after+rand.N(min(after/10, mostJitter)+time.Millisecond), pause(attempts, usualWait)/4)
}

// wait announces when the next attempt begins, then waits for it.
func (t *turn) wait(ctx context.Context, r *retries, at time.Time, trouble *provider.Failure) error {
	at = at.UTC().Truncate(time.Microsecond) // as it is read again
	err := t.host.Emit(ctx, domain.ModelRetrying{
		Model:   t.agent.asked().model.Name,
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

func waitUntil(ctx context.Context, at time.Time) error {
	timer := time.NewTimer(time.Until(at))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// takeUp goes on with a request that an earlier process has made. Its model is asked again, and not those that were given up before it.
func (t *turn) takeUp(retrying *domain.Retrying) {
	if retrying == nil {
		return
	}
	asked := slices.IndexFunc(t.agent.candidates, func(c *candidate) bool { return c.model.Name == retrying.Model })
	if asked < 0 || asked < len(t.agent.lost) { // the registry has changed, or it failed in the log of an older server
		return
	}
	for _, before := range t.agent.candidates[len(t.agent.lost):asked] {
		why := domain.Errorf(domain.CodeModelFailed, "Model %q was given up in an earlier turn.", before.model.Name)
		for _, switched := range retrying.Switched {
			if switched.From == before.model.Name {
				why = domain.Errorf(switched.Code, "%s", switched.Message)
			}
		}
		t.agent.lost = append(t.agent.lost, lost{name: before.model.Name, why: why})
	}
	t.retrying = retrying
}
