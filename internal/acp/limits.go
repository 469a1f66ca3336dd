package acp

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"signoff/internal/acp/wire"
	"signoff/internal/domain"
)

// limitsDepth is how deep the limits may lie in a report.
const limitsDepth = 3

// tellsLimits reports whether a notification is about rate limits: codex/rateLimits, account/rateLimits/updated, rate_limit_event.
func tellsLimits(method string, params wire.Object) bool {
	name := strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(method))
	return strings.Contains(name, "ratelimit") || params.Has("rateLimits") || params.Has("rate_limits") || params.Has("rate_limit_info")
}

// readLimits reads the limits of a report, wherever they stand in it. Codex has them by the names of its windows, each with usedPercent,
// windowDurationMins and resetsAt; Claude Code has one with utilization, rateLimitType and resetsAt. All members of both are optional.
func readLimits(report wire.Object, now time.Time) (limits []domain.RateLimit) {
	collectLimits(report, "", limitsDepth, now, &limits)
	return limits
}

func collectLimits(o wire.Object, name string, depth int, now time.Time, limits *[]domain.RateLimit) {
	if limit, is := readLimit(o, name, now); is {
		if len(*limits) < domain.MaxRateLimits {
			*limits = append(*limits, limit)
		}
		return
	}
	if depth == 0 {
		return
	}
	for _, member := range slices.Sorted(maps.Keys(o)) {
		if inner := o.Object(member); inner != nil {
			collectLimits(inner, member, depth-1, now, limits)
		}
	}
}

// readLimit reads an object that is a limit. An object that only has a time may be anything.
func readLimit(o wire.Object, name string, now time.Time) (domain.RateLimit, bool) {
	limit := domain.RateLimit{ResetsAt: resetOf(o, now)}
	percent, fraction := firstNumber(o, "usedPercent", "used_percent"), firstNumber(o, "utilization")
	kind := cmp.Or(o.Text("rateLimitType"), o.Text("rate_limit_type"))
	switch {
	case percent != nil:
		limit.UsedPercent = domain.UsedPercent(*percent)
	case fraction != nil:
		limit.UsedPercent = domain.UsedPercent(*fraction * 100)
	case kind == "" || limit.ResetsAt == nil:
		return limit, false
	}
	limit.Window = wire.Beginning(cmp.Or(durationOf(firstNumber(o, "windowDurationMins", "windowMinutes", "window_minutes")), namedWindows[kind], kind, name),
		domain.MaxRateLimitWindow)
	return limit, true
}

// namedWindows are Claude Code's words for a time.
var namedWindows = map[string]string{"five_hour": "5h", "seven_day": "7d"}

func resetOf(o wire.Object, now time.Time) *time.Time {
	if number := firstNumber(o, "resetsAt", "resets_at", "resetsInSeconds", "resets_in_seconds"); number != nil {
		return domain.ResetAt(*number, now)
	}
	if at, err := time.Parse(time.RFC3339, cmp.Or(o.Text("resetsAt"), o.Text("resets_at"))); err == nil {
		return domain.ResetTime(at, now)
	}
	return nil
}

func firstNumber(o wire.Object, names ...string) *float64 {
	for _, name := range names {
		if number := o.Number(name); number != nil {
			return number
		}
	}
	return nil
}

// durationOf writes 300 minutes as 5h and 10080 as 7d; empty where there are none.
func durationOf(minutes *float64) string {
	if minutes == nil || *minutes < 1 || *minutes > 1<<30 {
		return ""
	}
	switch m := int64(*minutes); {
	case m%(24*60) == 0:
		return strconv.FormatInt(m/(24*60), 10) + "d"
	case m%60 == 0:
		return strconv.FormatInt(m/60, 10) + "h"
	default:
		return strconv.FormatInt(m, 10) + "m"
	}
}

// limitsUpdated is the event for a report of limits.
func (t *translator) limitsUpdated(report wire.Object, params json.RawMessage) domain.RateLimitUpdated {
	return domain.RateLimitUpdated{Turn: t.turn, Limits: readLimits(report, time.Now()), Update: params}
}
