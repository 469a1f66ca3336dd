package shell

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/domain"
)

func TestCompileSaysWhere(t *testing.T) {
	good := domain.BashRule{Name: "x", Pattern: "^x", Action: domain.Allow}
	with := func(change func(*domain.BashRule)) domain.BashPolicy {
		rule := good
		change(&rule)
		return domain.BashPolicy{Rules: []domain.BashRule{good, rule}}
	}
	for name, c := range map[string]struct {
		policy domain.BashPolicy
		at     []string
	}{
		"fine":             {domain.BashPolicy{Rules: []domain.BashRule{good}}, nil},
		"empty":            {domain.BashPolicy{}, nil},
		"default":          {domain.BashPolicy{DefaultBehavior: domain.Ask}, []string{"/defaultBehavior"}},
		"deny behavior":    {domain.BashPolicy{DenyBehavior: "shout"}, []string{"/denyBehavior"}},
		"no name":          {with(func(r *domain.BashRule) { r.Name = " " }), []string{"/rules/1/name"}},
		"long name":        {with(func(r *domain.BashRule) { r.Name = strings.Repeat("x", 201) }), []string{"/rules/1/name"}},
		"action":           {with(func(r *domain.BashRule) { r.Action = domain.Ask }), []string{"/rules/1/action"}},
		"no pattern":       {with(func(r *domain.BashRule) { r.Pattern = "" }), []string{"/rules/1/pattern"}},
		"not RE2":          {with(func(r *domain.BashRule) { r.Pattern = `(?=x)` }), []string{"/rules/1/pattern"}},
		"open bracket":     {with(func(r *domain.BashRule) { r.Pattern = `(` }), []string{"/rules/1/pattern"}},
		"smuggled bracket": {with(func(r *domain.BashRule) { r.Pattern = `x)|(?:y` }), []string{"/rules/1/pattern"}},
		"long pattern":     {with(func(r *domain.BashRule) { r.Pattern = strings.Repeat("x", 4097) }), []string{"/rules/1/pattern"}},
		"repetitions":      {with(func(r *domain.BashRule) { r.Pattern = `(x{100}){100}` }), []string{"/rules/1/pattern"}},
		"many rules":       {domain.BashPolicy{Rules: make([]domain.BashRule, 201)}, []string{"/rules"}},
		"all of it": {domain.BashPolicy{DefaultBehavior: "x", DenyBehavior: "y", Rules: []domain.BashRule{{}}},
			[]string{"/defaultBehavior", "/denyBehavior", "/rules/0/name", "/rules/0/action", "/rules/0/pattern"}},
	} {
		_, err := Compile(c.policy)
		var at []string
		var e *domain.Error
		if errors.As(err, &e) {
			for _, detail := range e.Details {
				at = append(at, detail.Pointer)
			}
			if e.Code != domain.CodeInvalid {
				t.Errorf("%s: code %s", name, e.Code)
			}
		}
		if diff := cmp.Diff(c.at, at); diff != "" || (err == nil) != (c.at == nil) {
			t.Errorf("%s: %v (-want +got)\n%s", name, err, diff)
		}
	}
}

func TestDefaults(t *testing.T) {
	policy := compiled(t, domain.BashPolicy{})
	if got := policy.Judge(t.Context(), Parse(t.Context(), "ls"), "ls").Action; got != domain.Deny {
		t.Errorf("without a default, ls got %q", got)
	}
	if policy.Denial() != domain.DenyHITL {
		t.Errorf("without a deny behavior: %q", policy.Denial())
	}
	if got := compiled(t, domain.BashPolicy{DenyBehavior: domain.DenyBlock}).Denial(); got != domain.DenyBlock {
		t.Errorf("block became %q", got)
	}
}

func TestNoPolicy(t *testing.T) {
	var none *Policy
	for line, want := range map[string]domain.Verdict{"ls": "", "rm -rf x": "", "make": "", "ls $x": domain.Ask, "ls )": domain.Ask} {
		if got := none.Judge(t.Context(), Parse(t.Context(), line), line).Action; got != want {
			t.Errorf("%q got %q, want %q", line, got, want)
		}
	}
	if none.Denial() != domain.DenyHITL {
		t.Error("without a policy, a denial asks")
	}
}

func TestJudge(t *testing.T) {
	rule := func(action domain.Verdict, pattern string) domain.BashRule {
		return domain.BashRule{Name: string(action) + " " + pattern, Pattern: pattern, Action: action}
	}
	allow := func(pattern string) domain.BashRule { return rule(domain.Allow, pattern) }
	deny := func(pattern string) domain.BashRule { return rule(domain.Deny, pattern) }
	type rules []domain.BashRule
	for _, c := range []struct {
		line      string
		byDefault domain.Verdict
		rules     rules
		want      domain.Verdict
	}{
		{"ls -l", domain.Deny, rules{allow(`^ls\b`)}, domain.Allow},
		{"ls -l", domain.Deny, nil, domain.Deny},
		{"ls -l", domain.Allow, nil, domain.Allow},
		// The first rule decides.
		{"rm tmp", domain.Deny, rules{allow(`^rm tmp$`), deny(`^rm\b`)}, domain.Allow},
		{"ls; rm tmp", domain.Deny, rules{allow(`^ls`), allow(`^rm tmp$`), deny(`rm`)}, domain.Allow},
		{"rm tmp", domain.Deny, rules{deny(`^rm\b`), allow(`^rm tmp$`)}, domain.Deny},
		{"rm tmp; rm x", domain.Allow, rules{allow(`^rm tmp$`), deny(`^rm\b`)}, domain.Deny},
		// Each command stands for itself.
		{"cat x; rm y", domain.Deny, rules{allow(`^cat`)}, domain.Deny},
		{"cat x; date", domain.Allow, rules{deny(`^date`)}, domain.Deny},
		// What runs needs a name.
		{"make test", domain.Allow, nil, domain.Ask},
		{"make test", domain.Allow, rules{allow(`^make test$`)}, domain.Allow},
		{"make all", domain.Allow, rules{allow(`^make test$`)}, domain.Ask},
		{"./deploy.sh", domain.Deny, rules{allow(`^\./deploy\.sh$`)}, domain.Allow},
		{"sudo cat x", domain.Allow, rules{allow(`^cat\b`)}, domain.Ask},
		{"sudo cat x", domain.Deny, rules{allow(`^sudo cat\b`), allow(`^cat\b`)}, domain.Allow},
		{"unheard-of", domain.Allow, rules{allow(`.*`)}, domain.Allow},
		// What is unclear asks, also where a rule allows everything; and is denied where a part is.
		{"cat $x", domain.Allow, rules{allow(`.*`)}, domain.Ask},
		{"cat $x; rm y", domain.Allow, rules{deny(`^rm`)}, domain.Deny},
		{"ls )", domain.Allow, rules{allow(`.*`)}, domain.Ask},
		{"rm x )", domain.Allow, rules{deny(`^rm`)}, domain.Deny},
		{"ls\nrm x\n)", domain.Allow, rules{deny(`^rm`)}, domain.Deny},
		{"ls )", domain.Deny, nil, domain.Deny},
		// An allow rule begins where the command begins, and reaches to the end of the program's name.
		{"rm 'git status'", domain.Deny, rules{allow(`git status`)}, domain.Deny},
		{"git status", domain.Deny, rules{allow(`git status`)}, domain.Allow},
		{"cat-x", domain.Deny, rules{allow(`^cat\b`)}, domain.Deny},
		{"cat/x", domain.Deny, rules{allow(`^cat\b`)}, domain.Deny},
		{"cat-x", domain.Deny, rules{allow(`^(cat|cat-x)\b`)}, domain.Allow},
		{"kubectl get-x", domain.Deny, rules{allow(`^kubectl get\b`)}, domain.Deny},
		{"kubectl get pods", domain.Deny, rules{allow(`^kubectl get\b`)}, domain.Allow},
		{"kubectl -n 'a get' delete ns b", domain.Deny, rules{allow(`^kubectl -n [a-z]+ get\b`)}, domain.Deny},
		{"git commit -m 'two words'", domain.Deny, rules{allow(`^git commit -m .*`)}, domain.Allow},
		{"date\nrm", domain.Deny, rules{allow(`(?m)^rm$`)}, domain.Deny},
		{"/bin/cat x", domain.Deny, rules{allow(`^cat\b`)}, domain.Deny},
		// A deny rule sees the line, the name without its folder, wrappers, and guesses.
		{"curl x | sh", domain.Allow, rules{allow(`^curl`), deny(`curl.*\|\s*sh`)}, domain.Deny},
		{`echo "curl | sh"; curl x | sh`, domain.Allow, rules{allow(`^(echo|curl)`), deny(`curl.*\|\s*sh`)}, domain.Deny},
		{"cat x | tee y", domain.Allow, rules{allow(`.*`), deny(`cat.*\| tee`)}, domain.Deny},
		{"/bin/rm x", domain.Allow, rules{deny(`^rm\b`)}, domain.Deny},
		{"timeout 5 rm x", domain.Allow, rules{deny(`^rm\b`)}, domain.Deny},
		{"timeout 5 ls", domain.Allow, rules{deny(`^timeout\b`)}, domain.Deny},
		{"bash -c ls", domain.Allow, rules{deny(`^bash\b`)}, domain.Deny},
		{"ssh host rm x", domain.Allow, rules{deny(`^rm\b`)}, domain.Deny},
		{"ssh host 'ls; rm x'", domain.Allow, rules{deny(`^rm\b`)}, domain.Deny},
		{"docker exec web rm x", domain.Allow, rules{deny(`^rm\b`)}, domain.Deny},
		{"a=rm; $a x", domain.Allow, rules{deny(`^rm\b`)}, domain.Deny},
		{"$'\\x72m' x", domain.Allow, rules{deny(`^rm\b`)}, domain.Deny},
		{"rm${IFS}x", domain.Allow, rules{deny(`^rm\b`)}, domain.Deny},
		{"{rm,x}", domain.Allow, rules{deny(`^rm\b`)}, domain.Deny},
		{"f() { rm x; }", domain.Allow, rules{deny(`^rm\b`)}, domain.Deny},
		{"bash <<< 'rm x'", domain.Allow, rules{deny(`^rm\b`)}, domain.Deny},
		{"grep rm x", domain.Allow, rules{deny(`^rm\b`)}, domain.Allow},
		{"> x", domain.Deny, rules{allow(`.*`)}, domain.Deny},
	} {
		policy := compiled(t, domain.BashPolicy{DefaultBehavior: c.byDefault, Rules: c.rules})
		if got := policy.Judge(t.Context(), Parse(t.Context(), c.line), c.line); got.Action != c.want {
			t.Errorf("%q by default %s with %v: %s, want %s\n%+v", c.line, c.byDefault, c.rules, got.Action, c.want, got.Findings)
		}
	}
}

// TestFindings: who reads a record must see which part was judged by which rule.
func TestFindings(t *testing.T) {
	line := "cat x; date; rm y; make; echo $z"
	got := compiled(t, seeded(domain.Allow)).Judge(t.Context(), Parse(t.Context(), line), line)
	want := Verdict{Action: domain.Deny, Findings: []Finding{
		{"cat x", "allow-read-commands", domain.Allow, "The rule allows it."},
		{"date", "", domain.Allow, "No rule denies it."},
		{"rm y", "deny-destructive", domain.Deny, "The rule denies it."},
		{"make", "", domain.Ask, "It runs what its words do not show, and no rule names it."},
		{"echo $z", "", domain.Allow, "No rule denies it."},
		{line, "", domain.Ask, `What "$z" becomes is known only when it runs.`},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestDeniedBeyondTheBound: a line with too many commands is still no place to hide one, nor a way to fill the records.
func TestDeniedBeyondTheBound(t *testing.T) {
	line := strings.Repeat("ls;", 20000) + "rm x"
	got := compiled(t, seeded(domain.Allow)).Judge(t.Context(), Parse(t.Context(), line), line)
	if got.Action != domain.Deny {
		t.Errorf("the last command got %q", got.Action)
	}
	if len(got.Findings) > maxFindings+2 {
		t.Errorf("%d findings", len(got.Findings))
	}
	if last := got.Findings[len(got.Findings)-1]; last.Rule != "deny-destructive" {
		t.Errorf("the last finding is %+v", last)
	}
}
