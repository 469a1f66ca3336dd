package approvals_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"signoff/internal/approvals"
	"signoff/internal/domain"
)

// below makes a request that of a child, with these ceilings above it.
func below(ceilings ...domain.Ceiling) func(*domain.Request) {
	return func(r *domain.Request) {
		r.Parent = &domain.Parent{}
		for i, c := range ceilings {
			r.Parent.Ancestors = append(r.Parent.Ancestors, domain.Ancestor{Name: fmt.Sprintf("boss-%d", i), Ceiling: c})
		}
	}
}

// lax is a ceiling that holds nothing back.
func lax(changes ...func(*domain.Ceiling)) domain.Ceiling {
	c := domain.Ceiling{
		Capabilities: domain.Capabilities{
			Read: domain.Allow, Write: domain.Allow, Execute: domain.Allow, Network: domain.Allow, MCP: domain.Allow, Delegate: domain.Allow, Host: domain.Ask,
		},
		MCPServers: []string{"github"}, Secrets: []string{"token"},
	}
	for _, change := range changes {
		change(&c)
	}
	return c
}

func ceilingRule(effect domain.Verdict, m domain.Matcher) func(*domain.Ceiling) {
	return func(c *domain.Ceiling) { c.Rules = append(c.Rules, domain.RequestRule{Effect: effect, Matcher: m}) }
}

func judgedUnder(t *testing.T, request domain.Request, call domain.ToolCall, rules ...domain.PermissionRule) approvals.Judgement {
	t.Helper()
	policy, err := approvals.NewPolicy(request)
	if err != nil {
		t.Fatal(err)
	}
	policy.Rules = rules
	return policy.Judge(t.Context(), call, hashed, now)
}

// TestCeilingsJudge: each part of a ceiling denies or asks, with the name of the one whose ceiling it is.
func TestCeilingsJudge(t *testing.T) {
	const allow, ask, deny = domain.Allow, domain.Ask, domain.Deny
	everything := requested(may(allow, allow, allow), token, func(r *domain.Request) { r.Capabilities.MCP, r.Capabilities.Delegate = allow, allow })
	for name, test := range map[string]struct {
		call    domain.ToolCall
		own     func(*domain.Request)
		ceiling domain.Ceiling
		rules   []domain.PermissionRule
		verdict domain.Verdict
		by      approvals.Source
		says    string
	}{
		"nothing is held back":    {call: running("ls"), ceiling: lax(), verdict: allow, by: approvals.ByCapability, says: "The capabilities allow it"},
		"a class that is denied":  {call: editing, ceiling: lax(func(c *domain.Ceiling) { c.Capabilities.Write = deny }), verdict: deny, by: approvals.ByCeiling, says: "The ceiling of boss-0 denies this: "},
		"a class that asks":       {call: editing, ceiling: lax(func(c *domain.Ceiling) { c.Capabilities.Write = ask }), verdict: ask, by: approvals.ByCeiling, says: "The ceiling of boss-0 asks about this: "},
		"a tool that is off":      {call: editing, ceiling: lax(func(c *domain.Ceiling) { c.Tools.Enabled = []string{"read"} }), verdict: deny, by: approvals.ByCeiling, says: "boss-0"},
		"a secret":                {call: withSecrets(running("ls"), "token"), ceiling: lax(func(c *domain.Ceiling) { c.Secrets = nil }), verdict: deny, by: approvals.ByCeiling, says: `"token"`},
		"an MCP server":           {call: issueTool, ceiling: lax(func(c *domain.Ceiling) { c.MCPServers = nil }), verdict: deny, by: approvals.ByCeiling, says: "The MCP server github"},
		"a rule that denies":      {call: running("git push x"), ceiling: lax(ceilingRule(deny, domain.Matcher{Command: "git push *"})), verdict: deny, by: approvals.ByCeiling, says: "git push"},
		"a rule that asks":        {call: reading, ceiling: lax(ceilingRule(ask, domain.Matcher{Path: "/srv/*.txt"})), verdict: ask, by: approvals.ByCeiling, says: "/srv/*.txt"},
		"the bash policy blocks":  {call: running("rm x"), ceiling: lax(func(c *domain.Ceiling) { c.Tools.BashPolicy = bashPolicy(allow, domain.DenyBlock) }), verdict: deny, by: approvals.ByCeiling, says: "deny-destructive"},
		"the bash policy asks":    {call: running("rm x"), ceiling: lax(func(c *domain.Ceiling) { c.Tools.BashPolicy = bashPolicy(allow, domain.DenyHITL) }), verdict: ask, by: approvals.ByCeiling, says: "deny-destructive"},
		"a ceiling allows little": {call: editing, own: may(ask, ask, ask), ceiling: lax(), verdict: ask, by: approvals.ByCapability, says: "The capabilities ask"},
		"its own policy denies":   {call: editing, own: may(ask, deny, ask), ceiling: lax(func(c *domain.Ceiling) { c.Capabilities.Write = ask }), verdict: deny, by: approvals.ByCapability, says: "This execution"},
		"nobody is there for what a ceiling asks": {
			call: editing, own: unattended, ceiling: lax(func(c *domain.Ceiling) { c.Capabilities.Write = ask }), verdict: deny, by: approvals.ByUnattended, says: "The ceiling of boss-0 asks",
		},
		"what a person has allowed since": {
			call: running("git log -3"), ceiling: lax(func(c *domain.Ceiling) { c.Capabilities.Execute = ask }),
			rules: []domain.PermissionRule{rule(allow, domain.Matcher{Tool: "bash", Command: "git log *"})}, verdict: allow, by: approvals.ByRule, says: "git log",
		},
		"what a person has allowed, and a ceiling denies": {
			call: running("git push x"), ceiling: lax(ceilingRule(deny, domain.Matcher{Command: "git push *"})),
			rules: []domain.PermissionRule{rule(allow, domain.Matcher{Tool: "bash", Command: "git push *"})}, verdict: deny, by: approvals.ByCeiling, says: "boss-0",
		},
		"a policy that cannot be read": {call: reading, ceiling: lax(func(c *domain.Ceiling) {
			c.Tools.BashPolicy = &domain.BashPolicy{DefaultBehavior: allow, Rules: []domain.BashRule{{Name: "x", Pattern: "(", Action: allow}}}
		}), verdict: deny, by: approvals.ByCeiling, says: "cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			request := everything
			if test.own != nil {
				test.own(&request)
			}
			below(test.ceiling)(&request)
			policy, err := approvals.NewPolicy(request)
			if (err != nil) != strings.Contains(test.says, "cannot be read") {
				t.Fatal(err)
			}
			policy.Rules = test.rules
			got := policy.Judge(t.Context(), test.call, hashed, now)
			if got.Verdict != test.verdict || got.By != test.by || !strings.Contains(got.Reason, test.says) {
				t.Errorf("%s by %s: %s\nwant %s by %s: %s", got.Verdict, got.By, got.Reason, test.verdict, test.by, test.says)
			}
			if (got.Decider != nil) != (got.By == approvals.ByRule) || (got.RuleID != "") != (got.By == approvals.ByRule) || len(got.Options) == 0 {
				t.Errorf("the rule is %q, the decider %+v, the options %+v", got.RuleID, got.Decider, got.Options)
			}
			traced(t, got)
		})
	}
}

// TestNoChildIsLaxerThanTheCeilingsAboveIt: its verdict is the strictest of its own policy's and of each ceiling's, whatever they are.
func TestNoChildIsLaxerThanTheCeilingsAboveIt(t *testing.T) {
	verdicts := []domain.Verdict{domain.Deny, domain.Ask, domain.Allow}
	calls := []domain.ToolCall{
		reading, editing, fetch, issueTool, running("ls"), running("cat a > b"), running("rm x"), running("git push origin"), running("ls $x"), running("rm -rf /"),
		withHosts(running("curl x"), "docs.example.org"), withSecrets(running("ls"), "token"), {Tool: "delegate", Class: domain.ClassDelegate}, {Tool: "x", Class: domain.ClassOther},
		{Tool: "think", Class: domain.ClassNone},
	}
	matchers := []domain.Matcher{
		{Tool: "bash"}, {Class: domain.ClassWrite}, {Command: "git push *"}, {Path: "/srv/**"}, {Host: "*.example.org"}, {Server: "github"}, exactly, {Tool: "read", Agent: "claude"},
	}
	byCeiling := 0
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 1))
		parts := func() (c domain.Ceiling) {
			all := map[domain.Class]domain.Verdict{}
			for _, class := range domain.Classes {
				all[class] = verdicts[min(r.IntN(6), 2)]
			}
			c.Capabilities = c.Capabilities.With(all)
			if r.IntN(3) == 0 {
				c.Tools.BashPolicy = bashPolicy(verdicts[2*r.IntN(2)], []domain.DenyBehavior{domain.DenyHITL, domain.DenyBlock}[r.IntN(2)])
			}
			if r.IntN(4) == 0 {
				c.Tools.Enabled = []string{"bash", "read", "think"}
			}
			if r.IntN(4) > 0 {
				c.Secrets = []string{"token"}
			}
			for range r.IntN(3) {
				ceilingRule(verdicts[r.IntN(2)], matchers[r.IntN(len(matchers))])(&c)
			}
			c.MCPServers = []string{"github"}
			return c
		}
		plain := func(c domain.Ceiling) domain.Request {
			request := domain.Request{Capabilities: c.Capabilities, Tools: c.Tools, Secrets: c.Secrets, Rules: c.Rules, WorkingDirectory: "/srv"}
			if seed%5 == 0 {
				external(&request)
			}
			return request
		}
		own, ceilings := plain(parts()), []domain.Ceiling{parts(), parts()}[:1+r.IntN(2)]
		own.SafeModeOff = r.IntN(4) == 0 // also of a request that was not made here
		child := own
		below(ceilings...)(&child)
		var rules []domain.PermissionRule
		for range r.IntN(3) {
			rules = append(rules, rule(verdicts[r.IntN(3)], matchers[r.IntN(len(matchers))]))
		}
		call := calls[r.IntN(len(calls))]
		strictest := judgedUnder(t, own, call, rules...).Verdict
		for _, c := range ceilings {
			if above := judgedUnder(t, plain(c), call, rules...).Verdict; strictest.Exceeds(above) {
				strictest = above
			}
		}
		got := judgedUnder(t, child, call, rules...)
		if got.Verdict != strictest {
			t.Fatalf("seed %d: %s is %s: %s, and the strictest is %s\n%s", seed, domain.Encode(call), got.Verdict, got.Reason, strictest, domain.Encode(child))
		}
		if got.By == approvals.ByCeiling {
			byCeiling++
		}
		if child.Unattended = true; strictest == domain.Ask && judgedUnder(t, child, call, rules...).Verdict != domain.Deny {
			t.Fatalf("seed %d: nobody is there, and somebody is asked", seed)
		}
	}
	if byCeiling < 300 {
		t.Errorf("only %d were decided by a ceiling: this proves little", byCeiling)
	}
}

// TestCeilingsKeepCommandsFromPaths: what a rule of a ceiling denies is kept from the commands of children, wherever an external agent's would run.
func TestCeilingsKeepCommandsFromPaths(t *testing.T) {
	hides := lax(ceilingRule(domain.Deny, domain.Matcher{Path: "/srv/secret"}))
	pattern := lax(ceilingRule(domain.Deny, domain.Matcher{Path: "/srv/*.key"}))
	command := domain.Command{Tool: "bash", Dir: "/srv"}
	policy, err := approvals.NewPolicy(requested(inSrv, below(hides, hides)))
	if err != nil {
		t.Fatal(err)
	}
	policy.Isolation = isolation{}
	denied, err := policy.Denied(t.Context(), command, now)
	if err != nil || len(denied) != 1 || denied[0] != (domain.Denied{Path: "/srv/secret", Hidden: true}) {
		t.Errorf("%+v, %v", denied, err)
	}
	if policy, err = approvals.NewPolicy(requested(inSrv, below(pattern))); err != nil {
		t.Fatal(err)
	}
	policy.Isolation = isolation{}
	if _, err := policy.Denied(t.Context(), command, now); domain.CodeOf(err) != domain.CodePolicyDenied {
		t.Errorf("a path that nothing keeps the command from: %v", err)
	}
	request := requested(external, below(lax(ceilingRule(domain.Deny, domain.Matcher{Tool: "read", Environment: "app"}))))
	request.Environment.Name = "app"
	if policy, err = approvals.NewPolicy(request); err != nil {
		t.Fatal(err)
	}
	if got := policy.Outside().Judge(t.Context(), reading, hashed, now); got.Verdict != domain.Deny || got.By != approvals.ByCeiling {
		t.Errorf("an agent outside of its environment: %s by %s", got.Verdict, got.By)
	}
}
