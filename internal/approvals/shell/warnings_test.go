package shell

import (
	"slices"
	"strings"
	"testing"

	"signoff/internal/domain"
)

// TestWarnings: a rule whose arguments are not judged says so, and no other.
func TestWarnings(t *testing.T) {
	for pattern, want := range map[string]string{
		`^npm test\b`:                   "“npm test” as well, also those that make it run or write something else, such as --script-shell",
		`^(npm|yarn) (test|run lint)\b`: "such as --script-shell",
		`^make( |$)`:                    "--eval",
		`^unheard-of`:                   "“unheard-of”",
		`^kubectl exec\b`:               "“kubectl exec”",
		`^npm\s+test`:                   "“npm test” as well, also those that make it run or write something else, such as --script-shell",
		`^npm (run )?test`:              "“npm run test” as well",
		`^npm [a-z]+`:                   "“npm test” as well, also those that make it run or write something else, such as --script-shell",
		`^npm( .*)?$`:                   "“npm test” as well",
		`^npm.*test`:                    "--script-shell",
		`^n.m test`:                     "“npm test” as well, also those that make it run or write something else, such as --script-shell",
		`^[a-z]+ test`:                  "such as ",
		`^go test ./...`:                "such as -exec and -toolexec",
		`^go (vet|test) \./\S+`:         "such as -exec and -toolexec",
		`(?i)^npm test`:                 "“npm test” as well, also those that make it run or write something else, such as --script-shell",
		`^npm test [^ ]+$`:              "“npm test --script-shell=./x”",
		`^npm( \S+)* test$`:             "--script-shell=./x test”",
		`^npm test( --?[a-z-]+)*$`:      "--script-shell”",
		`^make \S+$`:                    "“make --eval=./x”",
		`^(ls|cat|df|du|wc|id|tr|nl|od|ps|stat|cut|head|tail|grep|who|w|uname|arch|nproc|free|sort|uniq|tac|rev|fold|fmt|paste|join|comm|cmp|diff|echo|npm test|true|false|seq|tty|type|pwd|date|sum|cksum|env|expr|jq|tsort|column|base64|groups|logname|users|dir|vdir)\b`: "“npm test”",
		`^sudo npm test`:                 "“sudo npm test”",
		`^cat.*`:                         "name begins with “cat”",
		`.*`:                             "every program, with all arguments",
		`^[a-z-]+`:                       "every program, with all arguments",
		`^\w+$`:                          "every program.",
		`^npm\s+test$`:                   "",
		`^npm test( [a-z]+)*$`:           "",
		`^make [a-z]+$`:                  "",
		`^go test( -v)? \./\.\.\.$`:      "",
		`^cat\b.*`:                       "name begins with “cat”",
		`^cat( .*)?$`:                    "",
		`^(?i)ls( -[a-z]+)*\b`:           "",
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

// TestWhatRunsUnseenIsWarnedOf builds patterns of parts that people write, and holds each against lines that run ./x: where the rule
// lets such a line run, there is a warning.
func TestWhatRunsUnseenIsWarnedOf(t *testing.T) {
	lines := []string{"npm test --script-shell=./x", "npm --script-shell ./x test", "npm run test --script-shell=./x", "go test ./... -exec ./x", "make test SHELL=./x", "kubectl test --kubeconfig=./x"}
	allowed := 0
	for _, begin := range []string{`^`, `(?i)`} {
		for _, program := range []string{`npm`, `n.m`, `(npm|go|make)`, `\w+`, `[a-z]{2,7}`, `[^ ]*`, `(?:kube)?[a-z]+`} {
			for _, middle := range []string{` `, `\s+`, `.`, ` (run )?`, `( --?[a-z-]+( \S+)?)* `, `( [^;|&]+)? `} {
				for _, last := range []string{`test`, `t[a-z]*`, `test\b`, `test( |$)`, `test ./...`, `test .*$`, `(test|lint)( \S+)*$`, `test$`, `\S+$`} {
					pattern := begin + program + middle + last
					policy := compiled(t, domain.BashPolicy{Rules: []domain.BashRule{{Name: "one", Pattern: pattern, Action: domain.Allow}}})
					for _, line := range lines {
						if policy.Judge(t.Context(), Parse(t.Context(), line), line).Action != domain.Allow {
							continue
						}
						allowed++
						if policy.Warnings() == nil {
							t.Errorf("%s allows %s without a warning", pattern, line)
						}
						break
					}
				}
			}
		}
	}
	if allowed < 500 {
		t.Errorf("this proves little: %d patterns allow such a line", allowed)
	}
}

// TestWarningsTakeBoundedWork: who sends a policy of large patterns must not keep the server busy with what there is to say of them.
func TestWarningsTakeBoundedWork(t *testing.T) {
	rule := domain.BashRule{Name: "large", Pattern: `^(npm|[a-f]+|g|h|i)( (a|b|c|d|e|f|g)(=x?y?z?)?){1,20}$`, Action: domain.Allow}
	policy := compiled(t, domain.BashPolicy{Rules: slices.Repeat([]domain.BashRule{rule}, maxRules)})
	review := review{&matching{Policy: policy, budget: &budget{ctx: t.Context(), limit: maxMatch}}}
	for _, r := range policy.rules {
		review.message(r)
	}
	if !review.over {
		t.Errorf("%d of %d were spent: this proves nothing", review.spent, maxMatch)
	}
	last := policy.Warnings()
	if len(last) == 0 || !strings.Contains(last[len(last)-1].Message, "too large to look at all") {
		t.Errorf("%v", last)
	}
}
