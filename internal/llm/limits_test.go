package llm_test

import (
	"net/http"
	"strconv"
	"testing"

	"signoff/internal/domain"
	"signoff/internal/tools/hosttest"
)

// limited is a reply whose vendor tells how many tokens are left of 100.
func limited(status int, left int, body string) reply {
	return answers(status, http.Header{"Content-Type": {"text/event-stream"}, "X-Ratelimit-Limit-Tokens": {"100"}, "X-Ratelimit-Remaining-Tokens": {strconv.Itoa(left)}}, body)
}

// TestRateLimitsAreTold when they have moved, and also with a refusal.
func TestRateLimitsAreTold(t *testing.T) {
	look := events(callsBash(0, "ls"), ends("tool_calls"), done)
	v := &vendor{replies: []reply{
		limited(200, 80, look), limited(200, 77, look), limited(200, 70, look), limited(429, 0, `{"error":{"message":"slow down"}}`),
		limited(200, 90, events(says("ok"), ends("stop"), done)),
	}}
	host := &hosttest.Host{Command: prints("a\n")}
	if _, err := ask(t, v, host); err != nil {
		t.Fatal(err)
	}
	var used []float64
	for _, told := range hosttest.Of[domain.RateLimitUpdated](host) {
		if len(told.Limits) != 1 || told.Limits[0].Window != "tokens" || told.Limits[0].UsedPercent == nil || told.Model != "test" {
			t.Fatalf("told %+v", told)
		}
		used = append(used, *told.Limits[0].UsedPercent)
	}
	want(t, "told", string(domain.Encode(used)), "[20,30,100,10]")
	want(t, "the vendor's words", string(hosttest.Of[domain.RateLimitUpdated](host)[0].Update), `{"x-ratelimit-limit-tokens":"100","x-ratelimit-remaining-tokens":"80"}`)
	want(t, "requests told", len(hosttest.Of[domain.ModelRequested](host)), 5)
}
