package webhooks

import (
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"
)

// schedule holds the waits after the first, second, … attempt, about 28 hours in all.
var schedule = []time.Duration{
	5 * time.Second, 30 * time.Second, 2 * time.Minute, 10 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 4 * time.Hour, 8 * time.Hour, 12 * time.Hour,
}

// maxRetryAfter bounds the Retry-After of a target.
const maxRetryAfter = time.Hour

// next returns the wait after attempt n of a delivery, with up to a fifth of jitter; false: it was the last attempt. A longer Retry-After of
// the target counts. A shorter one does not: the attempts of a day would be used up in a minute.
func next(n int, retryAfter time.Duration) (time.Duration, bool) {
	if n > len(schedule) {
		return 0, false
	}
	wait := schedule[max(n, 1)-1]
	wait += rand.N(wait / 5)
	return max(wait, min(retryAfter, maxRetryAfter)), true
}

// retryAfter reads the header in either of its forms; 0 if it is missing.
func retryAfter(header http.Header, now time.Time) time.Duration {
	text := header.Get("Retry-After")
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(at.Sub(now), 0)
	}
	return 0
}
