package approvals_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"signoff/internal/approvals"
	"signoff/internal/domain"
)

// isolation is an isolation that keeps commands from everything but what it lists, with the reason.
type isolation map[string]string

func (isolation) Reaches(dir string, write bool) []string {
	if write {
		return []string{dir}
	}
	return []string{dir, "/usr", "/etc/passwd"}
}

func (w isolation) Keeps(_ context.Context, dir string, denied domain.Denied) error {
	if why := w[denied.Path]; why != "" && dir != "" {
		return errors.New(why)
	}
	return nil
}

// TestWhatCannotBeKeptAsks: a deny rule holds for what a command does, not for what its line shows. Where the isolation cannot see to that, the
// command asks; where it can, the line alone is judged.
func TestWhatCannotBeKeptAsks(t *testing.T) {
	const allow, ask, deny = domain.Allow, domain.Ask, domain.Deny
	isolated := isolation{"/srv/gone": "it is gone"}
	path := func(path string) domain.Matcher { return domain.Matcher{Path: path} }
	for name, test := range map[string]struct {
		matcher   domain.Matcher
		call      domain.ToolCall
		isolation approvals.Isolation
		want      domain.Verdict
		because   string
	}{
		"a folder that is kept":              {path("/srv/secret/**"), running("python3 x.py"), isolated, allow, ""},
		"a folder that is not":               {path("/srv/gone/**"), running("python3 x.py"), isolated, ask, "because it is gone."},
		"a file that is not":                 {path("/srv/gone"), running("ls"), isolated, ask, "because it is gone."},
		"what the line shows is denied":      {path("/srv/gone/**"), running("echo x > gone/y"), isolated, deny, ""},
		"no isolation":                       {path("/srv/secret/**"), running("ls"), nil, ask, "because nothing isolates it."},
		"no isolation, anywhere":             {path("/nowhere/**"), running("ls"), nil, ask, "because nothing isolates it."},
		"no command":                         {path("/srv/gone/**"), reading, nil, allow, ""},
		"a pattern in the workspace":         {path("/srv/*/key"), running("ls"), isolated, ask, "because the path is a pattern."},
		"a pattern of everything":            {path("/**/.env"), running("ls"), isolated, ask, "because the path is a pattern."},
		"a pattern above":                    {path("/s*"), running("ls"), isolated, ask, "because the path is a pattern."},
		"a pattern that is above only":       {path("/?tc"), running("ls"), isolated, allow, ""},
		"a class of letters":                 {path("/srv/[ab]"), running("ls"), isolated, ask, "because the path is a pattern."},
		"a pattern elsewhere":                {path("/home/*/key"), running("ls"), isolated, allow, ""},
		"a pattern of the system":            {path("/usr/*/key"), running("ls"), isolated, ask, "because the path is a pattern."},
		"one that is denied to writers":      {domain.Matcher{Class: domain.ClassWrite, Path: "/usr/*/key"}, running("ls"), isolated, allow, ""},
		"a file of the system":               {path("/etc/pass*"), running("ls"), isolated, ask, "because the path is a pattern."},
		"a name with a star":                 {path(`/srv/gon\e/**`), running("ls"), isolated, ask, "because it is gone."},
		"a class that is not known by lines": {domain.Matcher{Class: domain.ClassWrite, Path: "/srv/gone/**"}, running("python3 x.py"), isolated, ask, "because it is gone."},
		"reading":                            {domain.Matcher{Class: domain.ClassRead, Path: "/srv/gone/**"}, running("python3 x.py"), isolated, ask, "because it is gone."},
		"another class":                      {domain.Matcher{Class: domain.ClassDelegate, Path: "/srv/gone/**"}, running("python3 x.py"), isolated, allow, ""},
		"the network, and none is granted":   {domain.Matcher{Class: domain.ClassNetwork, Path: "/srv/gone/**"}, running("ls"), isolated, allow, ""},
		"the network":                        {domain.Matcher{Class: domain.ClassNetwork, Path: "/srv/gone/**"}, withHosts(running("ls"), "x.example"), isolated, ask, "because it is gone."},
		"a host":                             {domain.Matcher{Host: "x.example", Path: "/srv/gone/**"}, withHosts(running("ls"), "x.example"), isolated, ask, "because it is gone."},
		"another host":                       {domain.Matcher{Host: "y.example", Path: "/srv/gone/**"}, withHosts(running("ls"), "x.example"), isolated, allow, ""},
		"the tool":                           {domain.Matcher{Tool: "bash", Path: "/srv/gone/**"}, running("ls"), isolated, ask, "because it is gone."},
		"another tool":                       {domain.Matcher{Tool: "write", Path: "/srv/gone/**"}, running("ls"), isolated, allow, ""},
		"another agent":                      {domain.Matcher{Agent: "claude", Path: "/srv/gone/**"}, running("ls"), isolated, allow, ""},
		"the command":                        {domain.Matcher{Command: "ls *", Path: "/srv/secret/**"}, running("ls"), isolated, ask, "because the rule is about particular commands."},
		"another command":                    {domain.Matcher{Command: "rm *", Path: "/srv/secret/**"}, running("ls"), isolated, allow, ""},
		"exactly this call":                  {domain.Matcher{ArgumentsHash: hashed, Path: "/srv/secret/**"}, running("ls"), isolated, ask, "because the rule is about particular commands."},
		"no path":                            {domain.Matcher{Command: "rm *"}, running("ls"), nil, allow, ""},
	} {
		policy, err := approvals.NewPolicy(requested(may(allow, allow, allow), trusting, inSrv))
		if err != nil {
			t.Fatal(err)
		}
		policy.Rules, policy.Isolation = []domain.PermissionRule{rule(deny, test.matcher)}, test.isolation
		got := policy.Judge(t.Context(), test.call, hashed, now)
		if got.Verdict != test.want || !strings.HasSuffix(got.Reason, test.because) || test.want != allow && got.RuleID != "deny-rule" {
			t.Errorf("%s: %s by %q, want %s: %s", name, got.Verdict, got.RuleID, test.want, got.Reason)
		}
		traced(t, got)
		if policy.Rules[0].Effect = ask; test.want == ask && policy.Judge(t.Context(), test.call, hashed, now).Verdict != allow {
			t.Errorf("%s: a rule that asks is about what a call shows", name)
		}
	}
}

// TestDenied: what is handed to the isolation is what the rules deny at the moment in which the command begins.
func TestDenied(t *testing.T) {
	const deny = domain.Deny
	isolated := isolation{"/srv/gone": "it is gone"}
	over, soon := now.Add(-time.Second), now.Add(time.Minute)
	of := func(matchers ...domain.Matcher) (all []domain.PermissionRule) {
		for _, m := range matchers {
			all = append(all, rule(deny, m))
		}
		return all
	}
	ended, lasting := rule(deny, domain.Matcher{Path: "/srv/a"}), rule(deny, domain.Matcher{Path: "/srv/b"})
	ended.Expires, lasting.Expires = &over, &soon
	hidden := func(path string) domain.Denied { return domain.Denied{Path: path, Hidden: true} }
	for name, test := range map[string]struct {
		rules   []domain.PermissionRule
		command domain.Command
		want    []domain.Denied
		refused bool
	}{
		"none":                     {nil, domain.Command{}, nil, false},
		"files and folders":        {of(domain.Matcher{Path: "/srv/a"}, domain.Matcher{Path: "/srv/b/**"}), domain.Command{}, []domain.Denied{hidden("/srv/a"), hidden("/srv/b")}, false},
		"for writers":              {of(domain.Matcher{Class: domain.ClassWrite, Path: "/srv/a"}), domain.Command{}, []domain.Denied{{Path: "/srv/a"}}, false},
		"for readers and commands": {of(domain.Matcher{Class: domain.ClassRead, Path: "/srv/a"}, domain.Matcher{Class: domain.ClassExecute, Path: "/srv/b"}), domain.Command{}, []domain.Denied{hidden("/srv/a"), hidden("/srv/b")}, false},
		"everything":               {of(domain.Matcher{Class: domain.ClassWrite, Path: "/**"}), domain.Command{}, []domain.Denied{{Path: "/"}}, false},
		"escaped":                  {of(domain.Matcher{Path: `/srv/\*/\[x\]/**`}), domain.Command{}, []domain.Denied{hidden("/srv/*/[x]")}, false},
		"rules that ask or allow":  {[]domain.PermissionRule{rule(domain.Ask, domain.Matcher{Path: "/srv/a"}), rule(domain.Allow, domain.Matcher{Path: "/srv/b"})}, domain.Command{}, nil, false},
		"rules that are over":      {[]domain.PermissionRule{ended, lasting}, domain.Command{}, []domain.Denied{hidden("/srv/b")}, false},
		"the tool":                 {of(domain.Matcher{Tool: "bash", Path: "/srv/a"}, domain.Matcher{Tool: "write", Path: "/srv/b"}), domain.Command{Tool: "bash"}, []domain.Denied{hidden("/srv/a")}, false},
		"a tool that is not told":  {of(domain.Matcher{Tool: "bash", Path: "/srv/a"}, domain.Matcher{Tool: "write", Path: "/srv/b"}), domain.Command{}, []domain.Denied{hidden("/srv/a"), hidden("/srv/b")}, false},
		"the network":              {of(domain.Matcher{Class: domain.ClassNetwork, Path: "/srv/a"}, domain.Matcher{Host: "x.example", Path: "/srv/b"}), domain.Command{Hosts: []string{"x.example"}}, []domain.Denied{hidden("/srv/a"), hidden("/srv/b")}, false},
		"no network":               {of(domain.Matcher{Class: domain.ClassNetwork, Path: "/srv/a"}, domain.Matcher{Host: "x.example", Path: "/srv/b"}), domain.Command{}, nil, false},
		"particular commands":      {of(domain.Matcher{Command: "ls *", Path: "/srv/a"}, domain.Matcher{ArgumentsHash: hashed, Path: "/srv/a"}), domain.Command{}, nil, false},
		"a pattern elsewhere":      {of(domain.Matcher{Path: "/home/*/x"}), domain.Command{}, nil, false},
		"a pattern":                {of(domain.Matcher{Path: "/srv/*/x"}), domain.Command{}, nil, true},
		"what cannot be kept":      {of(domain.Matcher{Path: "/srv/gone"}), domain.Command{}, nil, true},
		"after a yes":              {of(domain.Matcher{Path: "/srv/gone"}, domain.Matcher{Path: "/srv/*/x"}, domain.Matcher{Path: "/srv/a"}), domain.Command{Approved: true}, []domain.Denied{hidden("/srv/a")}, false},
	} {
		policy, err := approvals.NewPolicy(requested(inSrv))
		if err != nil {
			t.Fatal(err)
		}
		policy.Rules, policy.Isolation = test.rules, isolated
		test.command.Dir = "/srv"
		got, err := policy.Denied(t.Context(), test.command, now)
		if !reflect.DeepEqual(got, test.want) || (domain.CodeOf(err) == domain.CodePolicyDenied) != test.refused || (err != nil) != test.refused {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	written, err := approvals.NewPolicy(requested(func(r *domain.Request) {
		r.Rules = []domain.RequestRule{{Effect: deny, Matcher: domain.Matcher{Path: "/srv/a"}}}
	}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := written.Denied(t.Context(), domain.Command{Dir: "/srv"}, now); domain.CodeOf(err) != domain.CodePolicyDenied {
		t.Errorf("without isolation: %v", err)
	}
}
