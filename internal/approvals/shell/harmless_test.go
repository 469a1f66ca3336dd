package shell

import (
	"testing"

	"signoff/internal/domain"
)

// TestHarmless: a policy that asks for everything teaches people to approve without reading. So most of what operators
// look at every day must run under the documented example.
func TestHarmless(t *testing.T) {
	all := lines(t, "harmless.txt")
	if len(all) < 150 {
		t.Fatalf("there are %d commands; the table promises 150", len(all))
	}
	policy := compiled(t, Example)
	allowed := 0
	for _, line := range all {
		script := Parse(t.Context(), line)
		verdict := policy.Judge(t.Context(), script, line)
		if why := script.Catastrophe(); why != "" {
			t.Errorf("%q is no catastrophe: %s", line, why)
		}
		if verdict.Action == domain.Allow && len(script.Writes) == 0 {
			allowed++
			continue
		}
		t.Logf("not allowed: %q, writes %q, %+v", line, script.Writes, verdict.Findings)
	}
	percent := 100 * float64(allowed) / float64(len(all))
	t.Logf("%d of %d harmless commands are allowed: %.1f %%", allowed, len(all), percent)
	if percent < 95 {
		t.Errorf("%.1f %% are allowed; at least 95 must be", percent)
	}
}
