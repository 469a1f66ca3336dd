package acp

import (
	"encoding/json"
	"testing"
	"time"

	"signoff/internal/acp/wire"
	"signoff/internal/domain"
)

// TestLimitsHaveOneForm: the vendors' reports are as Codex's app server and the SDK of Claude Code write them.
func TestLimitsHaveOneForm(t *testing.T) {
	now := time.Date(2026, 7, 1, 8, 0, 0, 0, time.UTC)
	for report, wanted := range map[string]string{
		`{"rateLimits":{"primary":{"usedPercent":12.34,"windowDurationMins":300,"resetsAt":1782900000},"secondary":{"usedPercent":80,"windowDurationMins":10080},"planType":"plus"}}`: `[{"usedPercent":12.3,"resetsAt":"2026-07-01T10:00:00Z","window":"5h"},{"usedPercent":80,"resetsAt":null,"window":"7d"}]`,
		`{"primary":{"used_percent":3,"window_minutes":90,"resets_in_seconds":60},"secondary":null}`:                                                                                  `[{"usedPercent":3,"resetsAt":"2026-07-01T08:01:00Z","window":"90m"}]`,
		`{"type":"rate_limit_event","rate_limit_info":{"status":"allowed","resetsAt":1782900000,"rateLimitType":"five_hour","utilization":0.5}}`:                                      `[{"usedPercent":50,"resetsAt":"2026-07-01T10:00:00Z","window":"5h"}]`,
		`{"rate_limit_info":{"status":"allowed","resetsAt":1782900000,"rateLimitType":"overage"}}`:                                                                                    `[{"usedPercent":null,"resetsAt":"2026-07-01T10:00:00Z","window":"overage"}]`,
		`{"rateLimits":{"daily":{"usedPercent":"much"},"weekly":{"resetsAt":1782900000}}}`:                                                                                            `null`,
		`[1]`: `null`,
	} {
		if got := string(domain.Encode(readLimits(wire.ReadObject(json.RawMessage(report)), now))); got != wanted {
			t.Errorf("%s\nis   %s\nwant %s", report, got, wanted)
		}
	}
	many := wire.Object{}
	for i := range 100 {
		many[string(rune('a'+i%26))+string(rune('a'+i/26))] = json.RawMessage(`{"usedPercent":1}`)
	}
	if n := len(readLimits(many, now)); n != domain.MaxRateLimits {
		t.Errorf("%d limits", n)
	}
}

func TestWhatTellsLimits(t *testing.T) {
	for method, params := range map[string]string{
		"codex/rateLimits": `{}`, "account/rateLimits/updated": `{}`, "_claude/rate_limit_event": `{}`, "vendor/x": `{"rateLimits":{}}`, "_claude/sdkMessage": `{"rate_limit_info":{}}`,
	} {
		if !tellsLimits(method, wire.ReadObject(json.RawMessage(params))) {
			t.Errorf("%s %s does not", method, params)
		}
	}
	if tellsLimits("codex/tokenUsage", wire.Object{}) {
		t.Error("tokens are no limits")
	}
}
