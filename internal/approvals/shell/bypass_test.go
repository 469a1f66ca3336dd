package shell

import (
	"bufio"
	"os"
	"strconv"
	"strings"
	"testing"

	"signoff/internal/domain"
)

// lines reads a table: a line each, without empty ones and # headings. A line in Go's quotes is unquoted, so that it can
// hold what no line can.
func lines(t testing.TB, name string) []string {
	t.Helper()
	file, err := os.Open("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var all []string
	seen := map[string]bool{}
	for scanner := bufio.NewScanner(file); scanner.Scan(); {
		line := scanner.Text()
		if line == "" || strings.HasPrefix(line, "# ") {
			continue
		}
		if unquoted, err := strconv.Unquote(line); err == nil && strings.HasPrefix(line, `"`) {
			line = unquoted
		}
		if seen[line] {
			t.Errorf("%s has this line twice: %s", name, line)
		}
		seen[line] = true
		all = append(all, line)
	}
	return all
}

// seeded are the rules that everybody starts from, as they are documented.
func seeded(byDefault domain.Verdict) domain.BashPolicy {
	return domain.BashPolicy{
		DefaultBehavior: byDefault,
		DenyBehavior:    domain.DenyHITL,
		Rules: []domain.BashRule{
			{Name: "allow-read-commands", Pattern: `^(cat|head|tail|grep|find|ls)\b`, Action: domain.Allow},
			{Name: "deny-destructive", Pattern: `^(rm|chmod|chown|mkfs)\b`, Action: domain.Deny},
		},
	}
}

func compiled(t testing.TB, p domain.BashPolicy) *Policy {
	t.Helper()
	policy, err := Compile(p)
	if err != nil {
		t.Fatal(err)
	}
	return policy
}

func TestBypass(t *testing.T) {
	attempts := lines(t, "bypass.txt")
	if len(attempts) < 300 {
		t.Fatalf("there are %d attempts; the table promises 300", len(attempts))
	}
	policies := map[string]domain.BashPolicy{
		"seed, default deny":  seeded(domain.Deny),
		"seed, default allow": seeded(domain.Allow),
		"example":             Example,
	}
	for name, p := range policies {
		policy := compiled(t, p)
		allowed := 0
		for _, line := range attempts {
			script := Parse(t.Context(), line)
			verdict := policy.Judge(t.Context(), script, line)
			if verdict.Action == domain.Allow && len(script.Writes) == 0 {
				allowed++
				t.Errorf("%s: allowed: %q\n%+v", name, line, verdict.Findings)
			}
		}
		t.Logf("%s: %d attempts, %d allowed", name, len(attempts), allowed)
	}
}
