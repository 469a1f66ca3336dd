package webhooks

import (
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"
)

// schedule is how long to wait after the first, second, … attempt: about a day and a night in all.
var schedule = []time.Duration{
	5 * time.Second, 30 * time.Second, 2 * time.Minute, 10 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 4 * time.Hour, 8 * time.Hour, 12 * time.Hour,
}

// maxRetryAfter bounds what a target may ask for.
const maxRetryAfter = time.Hour

// next is how long to wait after attempt n of a delivery, up to a fifth longer so that not all come back at once; false: it was the last. A
// target that wants to be left alone for longer is left alone. One that wants it sooner is not heard: it would use up in a minute
// what is to last for a day.
func next(n int, retryAfter time.Duration) (time.Duration, bool) {
	if n > len(schedule) {
		return 0, false
	}
	wait := schedule[max(n, 1)-1]
	wait += rand.N(wait / 5)
	return max(wait, min(retryAfter, maxRetryAfter)), true
}

// retryAfter reads the header, in either of its forms; 0 where there is none.
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
