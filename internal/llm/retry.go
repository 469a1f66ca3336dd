package llm

import (
	"context"
	"math/rand/v2"
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

// next is when the request is repeated; false: not at all.
func (r *retries) next(now time.Time, trouble *provider.Error) (time.Time, bool) {
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
	if trouble.After > 0 { // a provider that asks for an instant, again and again, is asked ever more rarely; the jitter does not lead past the end
		after := max(trouble.After+rand.N(min(trouble.After/10, mostJitter)+time.Millisecond), pause(r.attempt, usualWait)/4)
		return now.Add(min(after, left)), true
	}
	most := usualWait
	if trouble.Shown.Code == domain.CodeModelStreamBroken {
		most = costlyWait
	}
	return now.Add(min(pause(r.attempt, most), left)), true
}

// over is the failure of a request that is not repeated any more. Where the provider asks for a longer wait than there is time for, it says so.
func (r *retries) over(trouble *provider.Error) *provider.Error {
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
