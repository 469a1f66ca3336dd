package approvals_test

import (
	"strings"
	"testing"
	"time"

	"signoff/internal/approvals"
	"signoff/internal/domain"
)

// held is what a rule makes of a call that nothing else would hold back: everything is granted, and safe mode is off.
func held(t *testing.T, call domain.ToolCall, r domain.PermissionRule, changes ...func(*domain.Request)) approvals.Judgement {
	t.Helper()
	all := []func(*domain.Request){may(domain.Allow, domain.Allow, domain.Allow), trusting, inSrv}
	policy, err := approvals.NewPolicy(requested(append(all, changes...)...))
	if err != nil {
		t.Fatal(err)
	}
	policy.Rules, policy.Isolation = []domain.PermissionRule{r}, isolation{}
	got := policy.Judge(t.Context(), call, hashed, now)
	if got.Verdict != domain.Allow && (got.Step != 3 || got.Decider == nil || got.Decider.ID != r.ID || got.RuleID != r.ID) {
		t.Errorf("step %d, rule %q, decider %+v", got.Step, got.RuleID, got.Decider)
	}
	traced(t, got)
	return got
}

// TestRulesSeeEveryReading: who denies a command has not denied one way to write it.
func TestRulesSeeEveryReading(t *testing.T) {
	const allow, ask, deny = domain.Allow, domain.Ask, domain.Deny
	for _, test := range []struct {
		pattern, line string
		want          domain.Verdict
	}{
		{"rm *", "rm", deny}, {"rm *", "/bin/rm x", deny}, {"/bin/rm *", "rm x", deny}, {"rm *", "busybox rm x", deny}, {"rm *", "command rm x", deny},
		{"rm *", "x=rm; $x -rf src", deny}, {"rm *", `eval "r""m -rf src"`, deny}, {"rm *", "ls | xargs rm", deny}, {"rm *", "ssh host rm x", deny},
		{"rm *", "$(echo rm) -rf src", ask}, {"rm *", "/bin/r? -rf src", ask}, {"rm *", `rm -rf "src`, deny}, {"rm *", `l"s`, ask},
		{"rm -rf *", "rm -f -rf x", ask}, {"rm", "rm x", allow}, {"rm *", "grep -r rm src", allow}, {"rm *", "ls rm", allow}, {"rm *", "ls -l", allow},
		{"sudo *", "sudo ls", deny}, {"sh *", "sh -c 'ls'", deny}, {"xargs *", "ls | xargs echo", deny}, {"env *", "env A=b ls", deny},
		{"timeout *", "timeout 5 ls", deny}, {"nohup *", "nohup ls", deny}, {"find *", "find . -exec cat {} +", deny},
		{"git push *", "git -C /x push origin", ask}, {"git push *", "git -c a.b=c push", ask}, {"git push *", "git log push", allow}, {"kubectl delete *", "kubectl -n x get pods", allow},
	} {
		if got := held(t, running(test.line), rule(deny, domain.Matcher{Command: test.pattern})); got.Verdict != test.want {
			t.Errorf("%q denied, and %q: %s, want %s: %s", test.pattern, test.line, got.Verdict, test.want, got.Reason)
		}
		want := ask
		if test.want == allow {
			want = allow
		}
		if got := held(t, running(test.line), rule(ask, domain.Matcher{Command: test.pattern})); got.Verdict != want {
			t.Errorf("%q asked about, and %q: %s, want %s", test.pattern, test.line, got.Verdict, want)
		}
	}
	untold := domain.ToolCall{Tool: "execute", Class: domain.ClassExecute}
	if got := held(t, untold, rule(deny, domain.Matcher{Command: "rm *"}), external); got.Verdict != ask {
		t.Errorf("a command that is not told: %s", got.Verdict)
	}
	if got := held(t, reading, rule(deny, domain.Matcher{Command: "rm *"}), external); got.Verdict != allow {
		t.Errorf("what is no command: %s", got.Verdict)
	}
}

// TestRulesSeeWhatIsTouched: files have more ways to be touched than to be named.
func TestRulesSeeWhatIsTouched(t *testing.T) {
	const allow, ask, deny = domain.Allow, domain.Ask, domain.Deny
	of := func(class domain.Class, paths ...string) domain.ToolCall {
		return domain.ToolCall{Tool: "x", Class: class, Action: domain.Action{Paths: paths}}
	}
	nowhere := func(r *domain.Request) { r.WorkingDirectory = "" }
	hooks := "/srv/.git/**"
	for name, test := range map[string]struct {
		pattern string
		call    domain.ToolCall
		change  func(*domain.Request)
		want    domain.Verdict
	}{
		"the file":                        {hooks, of(domain.ClassWrite, "/srv/.git/hooks/x"), inSrv, deny},
		"the folder itself":               {hooks, of(domain.ClassWrite, "/srv/.git"), inSrv, deny},
		"a file beside it":                {hooks, of(domain.ClassWrite, "/srv/.gitignore"), inSrv, allow},
		"a way around":                    {hooks, of(domain.ClassWrite, "/srv/a/../.git/x"), inSrv, deny},
		"a redirection":                   {hooks, running("echo x > /srv/.git/hooks/x"), inSrv, deny},
		"a relative one":                  {hooks, running("echo x > .git/hooks/x"), inSrv, deny},
		"a relative one to nobody knows":  {hooks, running("echo x > .git/hooks/x"), nowhere, ask},
		"one behind a cd":                 {hooks, running("cd .git && echo x > config"), inSrv, ask},
		"a name that is not known":        {hooks, running("echo x > ~/a"), inSrv, ask},
		"a line that is not clear":        {hooks, running("$x a"), inSrv, ask},
		"a redirection elsewhere":         {hooks, running("echo x > /tmp/x"), inSrv, allow},
		"removing what is above":          {"/srv/web/key", running("rm -r web"), inSrv, ask},
		"a search of what is above":       {hooks, of(domain.ClassRead, "/srv"), inSrv, ask},
		"a search of everything":          {hooks, of(domain.ClassRead, "/"), inSrv, ask},
		"a search elsewhere":              {hooks, of(domain.ClassRead, "/srv/src"), inSrv, allow},
		"a folder above a pattern":        {"/srv/*/key", of(domain.ClassRead, "/srv/a"), inSrv, ask},
		"a folder beside a pattern":       {"/srv/x*/key", of(domain.ClassRead, "/srv/a"), inSrv, allow},
		"a file above no pattern":         {"/srv/**/key", of(domain.ClassRead, "/srv/a"), inSrv, allow},
		"our command names no file":       {hooks, running("ls"), inSrv, allow},
		"an agent's command names none":   {hooks, running("ls"), external, ask},
		"an agent's writing names none":   {hooks, of(domain.ClassWrite), external, ask},
		"an agent's reading names none":   {hooks, of(domain.ClassRead), external, ask},
		"an agent's fetching names none":  {hooks, fetch, external, allow},
		"an agent's writing names one":    {hooks, of(domain.ClassWrite, "/srv/a"), external, allow},
		"an agent's command writes one":   {hooks, running("echo x > /srv/a"), external, allow},
		"a glob that would take too long": {"/srv/{a,b}", of(domain.ClassWrite, "/srv/c"), inSrv, ask},
		"a path that would take too long": {"/" + strings.Repeat("a", 900), of(domain.ClassWrite, "/"+strings.Repeat("b", 900)), inSrv, ask},
	} {
		if got := held(t, test.call, rule(deny, domain.Matcher{Path: test.pattern}), test.change); got.Verdict != test.want {
			t.Errorf("%s: %s, want %s: %s", name, got.Verdict, test.want, got.Reason)
		}
	}
}

func TestRulesSeeEverySpellingOfAHost(t *testing.T) {
	const allow, ask, deny = domain.Allow, domain.Ask, domain.Deny
	for _, test := range []struct {
		pattern, host string
		want          domain.Verdict
	}{
		{"evil.org", "evil.org", deny}, {"evil.org", "EVIL.org.", deny}, {"evil.org", "a.evil.org", allow}, {"*.evil.org", "a.evil.org", deny},
		{"*.evil.org", "evil.org", deny}, {"*.evil.org", "notevil.org", allow}, {"169.254.169.254", "169.254.169.254.", deny},
		{"169.254.169.254", "::ffff:169.254.169.254", deny}, {"127.0.0.1", "2130706433", ask}, {"evil.org", "evil.org/x", ask},
		{"*", "evil.org/x", deny}, {"evil.org:443", "evil.org", ask}, {"evil.*", "evil.org", ask},
	} {
		if got := held(t, withHosts(fetch, test.host), rule(deny, domain.Matcher{Host: test.pattern})); got.Verdict != test.want {
			t.Errorf("%q denied, and %q: %s, want %s", test.pattern, test.host, got.Verdict, test.want)
		}
	}
	if got := held(t, reading, rule(deny, domain.Matcher{Host: "evil.*"})); got.Verdict != allow {
		t.Errorf("a call without hosts: %s", got.Verdict)
	}
}

// TestCertainGoesBeforePerhaps: a rule that may be about a call does not soften one that is.
func TestCertainGoesBeforePerhaps(t *testing.T) {
	policy, err := approvals.NewPolicy(requested(trusting, func(r *domain.Request) {
		r.Rules = []domain.RequestRule{
			{Effect: domain.Deny, Matcher: domain.Matcher{Command: "git push *"}},
			{Effect: domain.Ask, Matcher: domain.Matcher{Command: "rm *"}},
			{Effect: domain.Deny, Matcher: domain.Matcher{Tool: "bash", Command: "ls *"}},
		}
	}))
	if err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]struct {
		verdict domain.Verdict
		rule    string
	}{
		"ls $x":          {domain.Deny, "policy/rules/2"},
		"rm $x":          {domain.Ask, "policy/rules/1"},
		"date $x":        {domain.Ask, "policy/rules/0"},
		"git -C /x push": {domain.Ask, "policy/rules/0"},
	} {
		got := policy.Judge(t.Context(), running(line), hashed, now)
		if got.Verdict != want.verdict || got.Decider == nil || got.Decider.ID != want.rule || got.Decider.By != (domain.Actor{}) {
			t.Errorf("%s: %s by %+v", line, got.Verdict, got.Decider)
		}
	}
}

// TestOptionsCoverOneClassOfOneAgent: a yes to an edit is none to a command that an agent calls edit.
func TestOptionsCoverOneClassOfOneAgent(t *testing.T) {
	calls := []domain.ToolCall{editing, reading, fetch, issueTool, running("git log -1"), {Tool: "task", Class: domain.ClassDelegate}, {Tool: "x", Class: domain.ClassOther}}
	for _, call := range calls {
		for _, option := range rememberOptions(t, requested(inSrv, external), call, hashed) {
			policy, err := approvals.NewPolicy(requested(inSrv, external))
			if err != nil {
				t.Fatal(err)
			}
			policy.Rules = []domain.PermissionRule{rule(domain.Allow, option.Matcher)}
			if got := policy.Judge(t.Context(), call, hashed, now); got.Verdict != domain.Allow || got.Decider == nil {
				t.Errorf("%s of %s does not cover its own call: %s", option.PreviewID, call.Tool, got.Reason)
			}
			for _, class := range append(domain.Classes, domain.ClassOther) {
				other := call
				if other.Class = class; class == call.Class {
					continue
				}
				if got := policy.Judge(t.Context(), other, hashed, now); got.By == approvals.ByRule {
					t.Errorf("%s of %s covers it as %s", option.PreviewID, call.Tool, class)
				}
			}
			ours, err := approvals.NewPolicy(requested(inSrv))
			if err != nil {
				t.Fatal(err)
			}
			ours.Rules = policy.Rules
			if got := ours.Judge(t.Context(), call, hashed, now); got.By == approvals.ByRule {
				t.Errorf("%s of %s covers the internal agent", option.PreviewID, call.Tool)
			}
		}
	}
}

// TestTheListOfToolsIsOurs: an external agent brings its own, and may call them what it likes.
func TestTheListOfToolsIsOurs(t *testing.T) {
	if got := held(t, editing, rule(domain.Deny, domain.Matcher{Tool: "none"}), onlyRead, external); got.Verdict != domain.Allow {
		t.Error(got.Reason)
	}
}

// BenchmarkGlob is the worst that was found, about a millisecond a comparison. Each row is as much as the limits let pass.
func BenchmarkGlob(b *testing.B) {
	many := strings.Repeat
	for name, test := range map[string][2]string{
		"one long name":   {"/*" + many("a", 60) + "b", "/" + many("a", 4095)},
		"many folders":    {"/**/" + many("a/", 29) + "b", "/" + many("a/", 2047) + "a"},
		"a class":         {"/*[" + many("b", 58) + "]z", "/" + many("a", 4095)},
		"long and long":   {"/*" + many("a", 500) + "b", "/" + many("a", 510)},
		"stars in groups": {"/" + many("**/*a", 4) + many("a", 36) + "z", "/" + many("aaaa/", 800) + "b"},
		"escapes":         {"/*" + many("\\a", 29) + "b", "/" + many("a", 4095)},
	} {
		b.Run(name, func(b *testing.B) {
			policy, err := approvals.NewPolicy(requested())
			if err != nil {
				b.Fatal(err)
			}
			policy.Rules = []domain.PermissionRule{rule(domain.Allow, domain.Matcher{Path: test[0]})}
			call := domain.ToolCall{Tool: "x", Class: domain.ClassWrite, Action: domain.Action{Paths: []string{test[1]}}}
			for b.Loop() {
				policy.Judge(b.Context(), call, hashed, now)
			}
		})
	}
}

// FuzzMatchers: a rule that is older than the checks, and a call that is hostile, must not be able to stop the server.
func FuzzMatchers(f *testing.F) {
	f.Add("/srv/{a,b}/**", "rm *", "*.evil.org", "/srv/a/x", "rm -rf x", "evil.org")
	f.Add(" *", " *", "*.", "", "git -C", ".")
	f.Add("/[/]/*", "*", "*", "//", "-", "*")
	f.Fuzz(func(t *testing.T, path, command, host, isPath, isCommand, isHost string) {
		call := domain.ToolCall{Tool: "x", Class: domain.ClassExecute, Action: domain.Action{Paths: []string{isPath}, Command: isCommand, Hosts: []string{isHost}}}
		for _, effect := range []domain.Verdict{domain.Allow, domain.Deny} {
			for _, m := range []domain.Matcher{{Path: path}, {Command: command}, {Host: host}, {Path: path, Command: command, Host: host}} {
				policy, _ := approvals.NewPolicy(requested())
				policy.Rules = []domain.PermissionRule{rule(effect, m)}
				policy.Judge(t.Context(), call, hashed, time.Time{})
			}
		}
	})
}
