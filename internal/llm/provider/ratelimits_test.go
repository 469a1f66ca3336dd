package provider

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"signoff/internal/domain"
)

func TestRateLimitsOfHeaders(t *testing.T) {
	now := time.Date(2026, 7, 1, 8, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		headers string
		wanted  string
	}{
		"OpenAI": {
			"x-ratelimit-limit-requests: 60|x-ratelimit-remaining-requests: 45|x-ratelimit-reset-requests: 1m30s|x-ratelimit-limit-tokens: 1000|x-ratelimit-remaining-tokens: 1|x-ratelimit-reset-tokens: 6ms",
			`[{"usedPercent":25,"resetsAt":"2026-07-01T08:01:30Z","window":"requests"},{"usedPercent":99.9,"resetsAt":"2026-07-01T08:00:00Z","window":"tokens"}]`,
		},
		"Anthropic": {
			"anthropic-ratelimit-requests-limit: 50|anthropic-ratelimit-requests-remaining: 50|anthropic-ratelimit-requests-reset: 2026-07-01T08:00:10Z|anthropic-ratelimit-input-tokens-limit: 1000|anthropic-ratelimit-input-tokens-remaining: 0",
			`[{"usedPercent":100,"resetsAt":null,"window":"inputTokens"},{"usedPercent":0,"resetsAt":"2026-07-01T08:00:10Z","window":"requests"}]`,
		},
		"a subscription of Anthropic": {
			"anthropic-ratelimit-unified-5h-utilization: 0.42|anthropic-ratelimit-unified-5h-reset: 1782900000|anthropic-ratelimit-unified-status: allowed",
			`[{"usedPercent":42,"resetsAt":"2026-07-01T10:00:00Z","window":"unified5h"}]`,
		},
		"OpenRouter": {
			"X-RateLimit-Limit: 20|X-RateLimit-Remaining: 5|X-RateLimit-Reset: 1782900000000", `[{"usedPercent":75,"resetsAt":"2026-07-01T10:00:00Z","window":"requests"}]`,
		},
		"nonsense": {"x-ratelimit-limit-tokens: many|x-ratelimit-reset-tokens: soon|anthropic-ratelimit: 3|x-ratelimit-limit-a: -1|x-ratelimit-remaining-a: 3", `null`},
		"none":     {"content-type: text/event-stream", `null`},
	} {
		header := http.Header{}
		for _, line := range strings.Split(c.headers, "|") {
			name, value, _ := strings.Cut(line, ": ")
			header.Set(name, value)
		}
		found := readRateLimits(header, now)
		if got := string(domain.Encode(found.Limits)); got != c.wanted {
			t.Errorf("%s: %s\nwant %s", name, got, c.wanted)
		}
		if told := found.Headers != nil; told == (name == "none") {
			t.Errorf("%s: the headers are %s", name, found.Headers)
		}
	}
}

func TestRateLimitsAreBounded(t *testing.T) {
	header := http.Header{}
	for i := range 1000 {
		header.Set(fmt.Sprint("x-ratelimit-limit-", i), "2")
		header.Set(fmt.Sprint("x-ratelimit-remaining-", i), "1")
	}
	header.Set("x-ratelimit-limit-long", strings.Repeat("9", 10_000))
	found := readRateLimits(header, time.Now())
	if len(found.Limits) > domain.MaxRateLimits || len(found.Headers) > domain.MaxRateLimitRawBytes {
		t.Errorf("%d limits, %d bytes", len(found.Limits), len(found.Headers))
	}
}
