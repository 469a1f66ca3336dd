package shell

import (
	"strings"
	"testing"

	"signoff/internal/domain"
)

// TestWarnings: a rule whose arguments are not judged says so, and no other.
func TestWarnings(t *testing.T) {
	for pattern, want := range map[string]string{
		`^npm test\b`:                    "“npm test” as well, also those that make it run or write something else, such as --script-shell",
		`^(npm|yarn) (test|run lint)\b`:  "such as --script-shell",
		`^make( |$)`:                     "--eval",
		`^unheard-of`:                    "“unheard-of”",
		`^kubectl exec\b`:                "“kubectl exec”",
		`.*`:                             "every program",
		`^[a-z-]+`:                       "every program",
		`^npm test$`:                     "",
		`^npm test( --silent)?$`:         "",
		`^(ls|cat|grep)\b`:               "",
		`^git (status|log|diff)\b`:       "",
		`^kubectl (get|describe) [a-z]+`: "",
		`^(sort|uniq|cut|tr|sed|awk)\b`:  "",
	} {
		got := compiled(t, domain.BashPolicy{Rules: []domain.BashRule{{Name: "one", Pattern: pattern, Action: domain.Allow}}}).Warnings()
		switch {
		case want == "" && len(got) > 0:
			t.Errorf("%s: %s", pattern, got[0].Message)
		case want != "" && (len(got) != 1 || !strings.Contains(got[0].Message, want)):
			t.Errorf("%s: %v, want %q", pattern, got, want)
		}
		if denied := compiled(t, domain.BashPolicy{Rules: []domain.BashRule{{Name: "one", Pattern: pattern, Action: domain.Deny}}}).Warnings(); denied != nil {
			t.Errorf("%s, denied: %v", pattern, denied)
		}
	}
	for _, warning := range compiled(t, Example).Warnings() {
		t.Errorf("the example: %s", warning.Message)
	}
}
