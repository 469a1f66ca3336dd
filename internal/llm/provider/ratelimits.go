package provider

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"signoff/internal/domain"
)

// RateLimits are the limits that a vendor tells in the headers of a response.
type RateLimits struct {
	Limits  []domain.RateLimit
	Headers json.RawMessage // as the vendor sent them; nil: it told none
}

// WithRateLimits returns a context for one request of a [Client]. If the vendor tells its limits in the headers of the response, take gets them before
// Stream returns, also where the response is a refusal.
func WithRateLimits(ctx context.Context, take func(RateLimits)) context.Context {
	return context.WithValue(ctx, limitsKey{}, take)
}

type limitsKey struct{}

// reportLimits gives the limits of a response to whoever asked for them.
func reportLimits(ctx context.Context, header http.Header) {
	take, asked := ctx.Value(limitsKey{}).(func(RateLimits))
	if !asked {
		return
	}
	if found := readRateLimits(header, time.Now()); found.Headers != nil {
		take(found)
	}
}

// limitHeader is what one header says of a limit.
type limitHeader struct {
	what  string // is limited: requests, input-tokens; empty for the only limit of a vendor
	field string // limit, remaining, reset
}

// splitLimitHeader reads the names of OpenAI's headers, which many vendors have (x-ratelimit-remaining-tokens), and of Anthropic's
// (anthropic-ratelimit-input-tokens-remaining): https://platform.openai.com/docs/guides/rate-limits#rate-limits-in-headers,
// https://platform.claude.com/docs/en/api/rate-limits#response-headers.
func splitLimitHeader(name string) (limitHeader, bool) {
	name = strings.ToLower(name)
	if rest, is := strings.CutPrefix(name, "anthropic-ratelimit-"); is {
		if at := strings.LastIndexByte(rest, '-'); at > 0 {
			return limitHeader{rest[:at], rest[at+1:]}, true
		}
		return limitHeader{}, false
	}
	rest, is := strings.CutPrefix(name, "x-ratelimit-")
	field, what, _ := strings.Cut(rest, "-")
	return limitHeader{what, field}, is
}

// readRateLimits reads the limits of a response, in the order of their names.
func readRateLimits(header http.Header, now time.Time) (found RateLimits) {
	raw, fields := map[string]string{}, map[string]map[string]string{}
	for _, name := range sortedNames(header) {
		told, is := splitLimitHeader(name)
		value := header.Get(name)
		if !is || len(name)+len(value) > 200 || len(raw) == 4*domain.MaxRateLimits {
			continue
		}
		raw[strings.ToLower(name)] = value
		if fields[told.what] == nil {
			fields[told.what] = map[string]string{}
		}
		fields[told.what][told.field] = value
	}
	if len(raw) == 0 {
		return found
	}
	found.Headers = domain.Encode(raw)
	for what, told := range fields {
		limit := domain.RateLimit{UsedPercent: usedOf(told), ResetsAt: resetOf(told["reset"], now), Window: cmp.Or(camelCase(what), "requests")}
		if (limit.UsedPercent != nil || limit.ResetsAt != nil) && len(limit.Window) <= domain.MaxRateLimitWindow {
			found.Limits = append(found.Limits, limit)
		}
	}
	slices.SortFunc(found.Limits, func(a, b domain.RateLimit) int { return strings.Compare(a.Window, b.Window) })
	found.Limits = found.Limits[:min(len(found.Limits), domain.MaxRateLimits)]
	return found
}

func sortedNames(header http.Header) []string {
	names := make([]string, 0, len(header))
	for name := range header {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// usedOf is how much of a limit is used up. Anthropic tells the limits of a subscription as a part of 1.
func usedOf(told map[string]string) *float64 {
	if part, err := strconv.ParseFloat(told["utilization"], 64); err == nil {
		return domain.UsedPercent(100 * part)
	}
	limit, err := strconv.ParseFloat(told["limit"], 64)
	if err != nil || limit <= 0 {
		return nil
	}
	remaining, err := strconv.ParseFloat(told["remaining"], 64)
	if err != nil {
		return nil
	}
	return domain.UsedPercent(100 * (1 - min(remaining, limit)/limit))
}

// resetOf reads a time (Anthropic), a duration (OpenAI: 6m0s), or a number.
func resetOf(value string, now time.Time) *time.Time {
	if at, err := time.Parse(time.RFC3339, value); err == nil {
		return domain.ResetTime(at, now)
	}
	if number, err := strconv.ParseFloat(value, 64); err == nil {
		return domain.ResetAt(number, now)
	}
	if wait, err := time.ParseDuration(value); err == nil && wait >= 0 {
		return domain.ResetTime(now.Add(wait), now)
	}
	return nil
}

// camelCase writes input-tokens as inputTokens.
func camelCase(name string) string {
	words := strings.Split(name, "-")
	for i, word := range words {
		if i > 0 && word != "" {
			words[i] = strings.ToUpper(word[:1]) + word[1:]
		}
	}
	return strings.Join(words, "")
}
