package domain

import (
	"math"
	"time"
)

// RateLimit is one rate limit, in the form that the limits of all vendors have here.
type RateLimit struct {
	UsedPercent *float64   `json:"usedPercent"` // nil: unknown
	ResetsAt    *time.Time `json:"resetsAt"`    // nil: unknown
	// Window is what is limited (requests, tokens, inputTokens, outputTokens), or for how long (5h, 7d), else the vendor's own word.
	Window string `json:"window"`
}

// The bounds of what is read of a vendor's report.
const (
	MaxRateLimits        = 16
	MaxRateLimitWindow   = 64 // bytes
	MaxRateLimitRawBytes = 8 << 10
)

// latestReset is how far ahead a reset may lie. A time beyond it is another figure.
const latestReset = 400 * 24 * time.Hour

// UsedPercent is a percentage with one decimal, or nil where it cannot be one. A limit may be exceeded.
func UsedPercent(percent float64) *float64 {
	if math.IsNaN(percent) || percent < 0 || percent > 1000 {
		return nil
	}
	return new(math.Round(percent*10) / 10)
}

// ResetAt is the time that a vendor tells as a number: seconds or milliseconds since 1970, or seconds from now on; nil where it is none of them.
func ResetAt(number float64, now time.Time) *time.Time {
	switch {
	case math.IsNaN(number) || number < 0 || number > 1e15:
		return nil
	case number > 1e12:
		return ResetTime(time.UnixMilli(int64(number)), now)
	case number > 1e9:
		return ResetTime(time.Unix(int64(number), 0), now)
	default:
		return ResetTime(now.Add(time.Duration(number*float64(time.Second))), now)
	}
}

// ResetTime is a time to the second, as a limit has it; nil where no limit is reset then.
func ResetTime(at, now time.Time) *time.Time {
	if at.Before(now.Add(-latestReset)) || at.After(now.Add(latestReset)) {
		return nil
	}
	return new(at.UTC().Truncate(time.Second))
}
