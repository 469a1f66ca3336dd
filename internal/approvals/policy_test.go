package approvals_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/approvals"
	"signoff/internal/domain"
)

var (
	now    = time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)
	before = now.Add(-time.Minute)

	reading     = domain.ToolCall{Tool: "read", Class: domain.ClassRead, Action: domain.Action{Paths: []string{"/srv/a.txt"}}}
	editing     = domain.ToolCall{Tool: "edit", Class: domain.ClassWrite, Action: domain.Action{Paths: []string{"/srv/etc/app.yaml"}}}
	fetch       = domain.ToolCall{Tool: "web_fetch", Class: domain.ClassNetwork, Action: domain.Action{Hosts: []string{"docs.example.org"}}}
	issueTool   = domain.ToolCall{Tool: "create_issue", Class: domain.ClassMCP, Action: domain.Action{Server: "github"}}
	readsGithub = domain.ToolCall{Tool: "mcp_read", Class: domain.ClassMCP, Action: domain.Action{Server: "github"}}
)

func running(command string) domain.ToolCall {
	return domain.ToolCall{Tool: "bash", Class: domain.ClassExecute, Action: domain.Action{Command: command}}
}

func withHosts(call domain.ToolCall, hosts ...string) domain.ToolCall {
	call.Action.Hosts = hosts
	return call
}

func withSecrets(call domain.ToolCall, names ...string) domain.ToolCall {
	call.Action.Secrets = names
	return call
}

func bashPolicy(byDefault domain.Verdict, denial domain.DenyBehavior) *domain.BashPolicy {
	return &domain.BashPolicy{DefaultBehavior: byDefault, DenyBehavior: denial, Rules: []domain.BashRule{
		{Name: "allow-read-commands", Pattern: `^(cat|head|tail|grep|find|ls)\b`, Action: domain.Allow},
		{Name: "deny-destructive", Pattern: `^(rm|chmod|chown|mkfs)\b`, Action: domain.Deny},
	}}
}

func rule(effect domain.Verdict, m domain.Matcher) domain.PermissionRule {
	return domain.PermissionRule{ID: string(effect) + "-rule", Scope: domain.RememberExecution, Effect: effect, Matcher: m}
}

// requested is the request of a row: the defaults, with some changes.
func requested(changes ...func(*domain.Request)) domain.Request {
	request := domain.Request{Capabilities: domain.DefaultCapabilities}
	for _, change := range changes {
		change(&request)
	}
	return request
}

func bash(byDefault domain.Verdict, denial domain.DenyBehavior) func(*domain.Request) {
	return func(r *domain.Request) { r.Tools.BashPolicy = bashPolicy(byDefault, denial) }
}

func may(execute, write, network domain.Verdict) func(*domain.Request) {
	return func(r *domain.Request) {
		r.Capabilities.Execute, r.Capabilities.Write, r.Capabilities.Network = execute, write, network
	}
}

func inSrv(r *domain.Request)      { r.WorkingDirectory = "/srv" }
func external(r *domain.Request)   { r.Source = domain.Source{Type: domain.SourceACP, Command: "claude"} }
func trusting(r *domain.Request)   { r.SafeModeOff = true }
func unattended(r *domain.Request) { r.Unattended = true }
func onlyRead(r *domain.Request)   { r.Tools.Enabled = []string{"read"} }
func noRead(r *domain.Request)     { r.Capabilities.Read = domain.Deny }
func noMCP(r *domain.Request)      { r.Capabilities.MCP = domain.Deny }
func token(r *domain.Request)      { r.Secrets = []string{"token"} }

const hashed = "h"

var exactly = domain.Matcher{Tool: "bash", ArgumentsHash: hashed}

// TestTheNineSteps has rows for every step, and for what must not reach it.
func TestTheNineSteps(t *testing.T) {
	const allow, ask, deny = domain.Allow, domain.Ask, domain.Deny
	type rules = []domain.PermissionRule
	for name, test := range map[string]struct {
		call    domain.ToolCall
		request domain.Request
		rules   rules
		verdict domain.Verdict
		step    int
		by      approvals.Source
	}{
		// 1. refuse
		"a tool that is off":                     {editing, requested(onlyRead, trusting), nil, deny, 1, approvals.ByTools},
		"no tool at all":                         {reading, requested(func(r *domain.Request) { r.Tools.Enabled = []string{} }), nil, deny, 1, approvals.ByTools},
		"a denied class":                         {reading, requested(noRead), nil, deny, 1, approvals.ByCapability},
		"a denied class, whatever is remembered": {running("ls"), requested(may(deny, ask, ask)), rules{rule(allow, exactly)}, deny, 1, approvals.ByCapability},
		"a denied class, with full trust":        {running("ls"), requested(may(deny, ask, ask), trusting), nil, deny, 1, approvals.ByCapability},
		"a class that nobody granted":            {running("ls"), requested(may("", ask, ask)), nil, deny, 1, approvals.ByCapability},
		"a class that nobody knows":              {domain.ToolCall{Tool: "x", Class: "fly"}, requested(trusting), nil, deny, 1, approvals.ByCapability},
		"a verdict that nobody knows":            {running("ls"), requested(may("maybe", ask, ask)), nil, deny, 1, approvals.ByCapability},
		"a command that writes":                  {running("ls > out"), requested(may(allow, deny, ask)), nil, deny, 1, approvals.ByCapability},
		"a command that needs the network":       {withHosts(running("curl x"), "x.example"), requested(may(allow, ask, deny)), nil, deny, 1, approvals.ByCapability},
		"an MCP tool":                            {issueTool, requested(noMCP), nil, deny, 1, approvals.ByCapability},
		"a secret that was not granted":          {withSecrets(running("ls"), "other"), requested(token, trusting), nil, deny, 1, approvals.ByTools},
		"what the bash policy blocks":            {running("rm x"), requested(bash(allow, domain.DenyBlock)), nil, deny, 1, approvals.ByBashPolicy},
		"block is never overridden":              {running("rm x"), requested(bash(allow, domain.DenyBlock), trusting), rules{rule(allow, exactly)}, deny, 1, approvals.ByBashPolicy},
		"blocked by default":                     {running("date"), requested(bash(deny, domain.DenyBlock)), nil, deny, 1, approvals.ByBashPolicy},
		"a command that calls itself a reading":  {domain.ToolCall{Tool: "read", Class: domain.ClassRead, Action: domain.Action{Command: "ls"}}, requested(bash(allow, domain.DenyBlock), may(deny, ask, ask)), nil, deny, 1, approvals.ByCapability},
		"a policy that cannot be read": {running("ls"), requested(trusting, func(r *domain.Request) {
			r.Tools.BashPolicy = &domain.BashPolicy{DefaultBehavior: allow, Rules: []domain.BashRule{{Name: "x", Pattern: "(", Action: allow}}}
		}), nil, deny, 1, approvals.ByBrokenPolicy},

		// 2. catastrophic
		"the catastrophic, with full trust":         {running("rm -rf /"), requested(trusting), nil, ask, 2, approvals.ByCatastrophe},
		"the catastrophic, remembered":              {running("rm -rf /"), requested(), rules{rule(allow, exactly)}, ask, 2, approvals.ByCatastrophe},
		"the catastrophic, allowed by a capability": {running("mkfs.ext4 /dev/sda1"), requested(may(allow, allow, allow)), nil, ask, 2, approvals.ByCatastrophe},
		"the catastrophic is blocked where blocked": {running("rm -rf /"), requested(bash(allow, domain.DenyBlock)), nil, deny, 1, approvals.ByBashPolicy},

		// 3. rules that deny or ask
		"a denied command":                 {running("git push origin"), requested(trusting), rules{rule(deny, domain.Matcher{Command: "git push *"})}, deny, 3, approvals.ByRule},
		"a denied command in a pipeline":   {running("ls | git push origin"), requested(trusting), rules{rule(deny, domain.Matcher{Command: "git push *"})}, deny, 3, approvals.ByRule},
		"a denied command by another path": {running("/usr/bin/git push origin"), requested(trusting), rules{rule(deny, domain.Matcher{Command: "git push *"})}, deny, 3, approvals.ByRule},
		"deny goes before allow":           {reading, requested(), rules{rule(allow, domain.Matcher{Tool: "read"}), rule(deny, domain.Matcher{Class: domain.ClassRead})}, deny, 3, approvals.ByRule},
		"deny goes before ask":             {reading, requested(), rules{rule(ask, domain.Matcher{Tool: "read"}), rule(deny, domain.Matcher{Tool: "read"})}, deny, 3, approvals.ByRule},
		"a rule that asks":                 {reading, requested(trusting), rules{rule(ask, domain.Matcher{Path: "/srv/*.txt"})}, ask, 3, approvals.ByRule},
		"one of several paths is denied":   {domain.ToolCall{Tool: "patch", Class: domain.ClassWrite, Action: domain.Action{Paths: []string{"/srv/a", "/srv/etc/b"}}}, requested(trusting), rules{rule(deny, domain.Matcher{Path: "/srv/etc/**"})}, deny, 3, approvals.ByRule},
		"a host that is denied":            {fetch, requested(trusting), rules{rule(deny, domain.Matcher{Host: "*.example.org"})}, deny, 3, approvals.ByRule},
		"an expired rule is none":          {reading, requested(), rules{{Effect: deny, Matcher: domain.Matcher{Tool: "read"}, Expires: &before}}, allow, 7, approvals.ByCapability},
		"a revoked rule is none":           {reading, requested(), rules{{Effect: deny, Matcher: domain.Matcher{Tool: "read"}, Revoked: &before}}, allow, 7, approvals.ByCapability},
		"a rule that covers nothing":       {reading, requested(), rules{rule(deny, domain.Matcher{})}, allow, 7, approvals.ByCapability},

		"a rule about the internal agent":  {reading, requested(), rules{rule(deny, domain.Matcher{Tool: "read", Agent: "internal"})}, deny, 3, approvals.ByRule},
		"a rule about another agent":       {reading, requested(), rules{rule(deny, domain.Matcher{Tool: "read", Agent: "claude"})}, allow, 7, approvals.ByCapability},
		"a rule about this external agent": {reading, requested(external), rules{rule(deny, domain.Matcher{Tool: "read", Agent: "claude"})}, deny, 3, approvals.ByRule},
		"an agent alone is nothing":        {reading, requested(external), rules{rule(deny, domain.Matcher{Agent: "claude"})}, allow, 7, approvals.ByCapability},

		// 4. rules that allow
		"exactly this call, by class and agent":         {running("make x > y"), requested(), rules{rule(allow, domain.Matcher{Tool: "bash", ArgumentsHash: hashed, Class: domain.ClassExecute, Agent: "internal"})}, allow, 4, approvals.ByRule},
		"exactly this call under another class":         {running("make x"), requested(), rules{rule(allow, domain.Matcher{Tool: "bash", ArgumentsHash: hashed, Class: domain.ClassRead})}, ask, 8, approvals.ByCapability},
		"exactly this call of another agent":            {running("make x"), requested(external), rules{rule(allow, domain.Matcher{Tool: "bash", ArgumentsHash: hashed, Agent: "internal"})}, ask, 8, approvals.ByCapability},
		"an agent alone allows nothing":                 {running("make x"), requested(external), rules{rule(allow, domain.Matcher{Agent: "claude"})}, ask, 8, approvals.ByCapability},
		"a file is no command beside it":                {domain.ToolCall{Tool: "edit", Class: domain.ClassExecute, Action: domain.Action{Paths: []string{"/srv/a"}, Command: "ls"}}, requested(), rules{rule(allow, domain.Matcher{Tool: "edit", Path: "/srv/*"})}, ask, 8, approvals.ByCapability},
		"a glob that takes too long":                    {editing, requested(), rules{rule(allow, domain.Matcher{Path: "/srv/{etc,b}/**"})}, ask, 8, approvals.ByCapability},
		"a pattern that is no host":                     {withHosts(fetch, "evilexample.org"), requested(), rules{rule(allow, domain.Matcher{Host: "*example.org"})}, ask, 8, approvals.ByCapability},
		"the name itself is not below it":               {withHosts(fetch, "example.org"), requested(), rules{rule(allow, domain.Matcher{Host: "*.example.org"})}, ask, 8, approvals.ByCapability},
		"a command that calls itself a reading is seen": {domain.ToolCall{Tool: "read", Class: domain.ClassRead, Action: domain.Action{Command: "ls"}}, requested(bash(deny, domain.DenyHITL)), nil, allow, 4, approvals.ByBashPolicy},
		"exactly this call":                             {running("make x > y"), requested(), rules{rule(allow, exactly)}, allow, 4, approvals.ByRule},
		"exactly another call":                          {running("ls"), requested(), rules{rule(allow, domain.Matcher{Tool: "bash", ArgumentsHash: "other"})}, ask, 8, approvals.ByCapability},
		"this call of another tool":                     {running("ls"), requested(), rules{rule(allow, domain.Matcher{Tool: "bash2", ArgumentsHash: hashed})}, ask, 8, approvals.ByCapability},
		"a command pattern":                             {running("git log -3"), requested(), rules{rule(allow, domain.Matcher{Tool: "bash", Command: "git log *"})}, allow, 4, approvals.ByRule},
		"a command pattern covers all or nothing":       {running("git log; git push"), requested(), rules{rule(allow, domain.Matcher{Command: "git log *"})}, ask, 8, approvals.ByCapability},
		"a command pattern does not cover writing":      {running("git log > x"), requested(may(ask, allow, ask)), rules{rule(allow, domain.Matcher{Command: "git log *"})}, ask, 8, approvals.ByCapability},
		"a command pattern does not cover the unclear":  {running("git log $(x)"), requested(), rules{rule(allow, domain.Matcher{Command: "git log *"})}, ask, 6, approvals.ByBashPolicy},
		"a command pattern does not cover the network":  {withHosts(running("git log"), "x.example"), requested(may(ask, ask, allow)), rules{rule(allow, domain.Matcher{Command: "git log *"})}, ask, 8, approvals.ByCapability},
		"a command pattern does not cover secrets":      {withSecrets(running("git log"), "token"), requested(token), rules{rule(allow, domain.Matcher{Command: "git log *"})}, ask, 8, approvals.ByCapability},
		"a command pattern does not cover a twin":       {running("./git log"), requested(), rules{rule(allow, domain.Matcher{Command: "git log *"})}, ask, 8, approvals.ByCapability},
		"a command without its star":                    {running("git log -3"), requested(), rules{rule(allow, domain.Matcher{Command: "git log"})}, ask, 8, approvals.ByCapability},
		"a class does not cover what the unclear does":  {running("$x"), requested(), rules{rule(allow, domain.Matcher{Class: domain.ClassExecute})}, ask, 6, approvals.ByBashPolicy},
		"a class does not cover another one":            {running("ls > x"), requested(), rules{rule(allow, domain.Matcher{Class: domain.ClassExecute})}, ask, 8, approvals.ByCapability},
		"a path":                                        {editing, requested(), rules{rule(allow, domain.Matcher{Tool: "edit", Path: "/srv/etc/**"})}, allow, 4, approvals.ByRule},
		"a path beside it":                              {editing, requested(), rules{rule(allow, domain.Matcher{Path: "/srv/etc-evil/**"})}, ask, 8, approvals.ByCapability},
		"one path of several is not enough":             {domain.ToolCall{Tool: "patch", Class: domain.ClassWrite, Action: domain.Action{Paths: []string{"/srv/a", "/srv/etc/b"}}}, requested(), rules{rule(allow, domain.Matcher{Path: "/srv/etc/**"})}, ask, 8, approvals.ByCapability},
		"a host":                                        {fetch, requested(), rules{rule(allow, domain.Matcher{Host: "docs.example.org"})}, allow, 4, approvals.ByRule},
		"a host's twin":                                 {withHosts(fetch, "docs.example.org.evil.example"), requested(), rules{rule(allow, domain.Matcher{Host: "docs.example.org"})}, ask, 8, approvals.ByCapability},
		"an MCP server":                                 {issueTool, requested(external), rules{rule(allow, domain.Matcher{Server: "github"})}, allow, 4, approvals.ByRule},
		"what an MCP server has to read":                {readsGithub, requested(), rules{rule(allow, domain.Matcher{Server: "github"}), rule(allow, domain.Matcher{Class: domain.ClassMCP})}, ask, 8, approvals.ByCapability},
		"what it has to read, by the reading tool":      {readsGithub, requested(), rules{rule(allow, domain.Matcher{Server: "github", Tool: "mcp_read"})}, allow, 4, approvals.ByRule},
		"what it has to read, denied with the server":   {readsGithub, requested(), rules{rule(deny, domain.Matcher{Server: "github"})}, deny, 3, approvals.ByRule},
		"a remembered yes goes before a hitl denial":    {running("rm x"), requested(bash(allow, domain.DenyHITL)), rules{rule(allow, exactly)}, allow, 4, approvals.ByRule},
		"a rule of the bash policy":                     {running("cat a | grep b"), requested(bash(deny, domain.DenyHITL)), nil, allow, 4, approvals.ByBashPolicy},
		"the default of the bash policy":                {running("date"), requested(bash(allow, domain.DenyHITL)), nil, allow, 4, approvals.ByBashPolicy},
		"the bash policy does not speak of writing":     {running("cat a > b"), requested(bash(allow, domain.DenyHITL)), nil, ask, 8, approvals.ByCapability},
		"unless writing is allowed":                     {running("cat a > b"), requested(bash(allow, domain.DenyHITL), may(ask, allow, ask)), nil, allow, 4, approvals.ByBashPolicy},
		"the bash policy does not speak of the network": {withHosts(running("cat a"), "x.example"), requested(bash(allow, domain.DenyHITL)), nil, ask, 8, approvals.ByCapability},
		"the bash policy does not speak of secrets":     {withSecrets(running("cat a"), "token"), requested(bash(allow, domain.DenyHITL), token), nil, ask, 8, approvals.ByCapability},

		// 5. safe mode off
		"full trust":                           {running("deploy now"), requested(trusting), nil, allow, 5, approvals.BySafeMode},
		"full trust over a hitl denial":        {running("rm x"), requested(trusting, bash(allow, domain.DenyHITL)), nil, allow, 5, approvals.BySafeMode},
		"full trust in what nobody classifies": {domain.ToolCall{Tool: "x", Class: domain.ClassOther}, requested(trusting), nil, allow, 5, approvals.BySafeMode},

		// 6. the bash policy asks
		"a hitl denial":                     {running("rm x"), requested(bash(allow, domain.DenyHITL)), nil, ask, 6, approvals.ByBashPolicy},
		"a hitl denial before a capability": {running("rm x"), requested(bash(allow, domain.DenyHITL), may(allow, allow, allow)), nil, ask, 6, approvals.ByBashPolicy},
		"denied by default":                 {running("date"), requested(bash(deny, domain.DenyHITL), may(allow, allow, allow)), nil, ask, 6, approvals.ByBashPolicy},
		"what cannot be parsed":             {running("cat 'x"), requested(may(allow, allow, allow)), nil, ask, 6, approvals.ByBashPolicy},
		"a command that is not told":        {domain.ToolCall{Tool: "execute", Class: domain.ClassExecute}, requested(bash(allow, domain.DenyHITL), may(allow, allow, allow)), nil, ask, 6, approvals.ByBashPolicy},
		"what is not literal":               {running("cat $x"), requested(bash(allow, domain.DenyHITL), may(allow, allow, allow)), nil, ask, 6, approvals.ByBashPolicy},

		// 7. the capabilities allow
		"reading":                           {reading, requested(), nil, allow, 7, approvals.ByCapability},
		"thinking":                          {domain.ToolCall{Tool: "think", Class: domain.ClassNone}, requested(noRead), nil, allow, 7, approvals.ByCapability},
		"running":                           {running("date"), requested(may(allow, ask, ask)), nil, allow, 7, approvals.ByCapability},
		"running with the network":          {withHosts(running("curl x"), "x.example"), requested(may(allow, ask, allow)), nil, allow, 7, approvals.ByCapability},
		"running, but the network is asked": {withHosts(running("curl x"), "x.example"), requested(may(allow, ask, ask)), nil, ask, 8, approvals.ByCapability},
		"writing by a command":              {running("date > x"), requested(may(allow, ask, ask)), nil, ask, 8, approvals.ByCapability},

		// 8. otherwise ask
		"writing":                {editing, requested(), nil, ask, 8, approvals.ByCapability},
		"fetching":               {fetch, requested(), nil, ask, 8, approvals.ByCapability},
		"an MCP tool by default": {issueTool, requested(), nil, ask, 8, approvals.ByCapability},
		"what nobody classifies": {domain.ToolCall{Tool: "x", Class: domain.ClassOther}, requested(may(allow, allow, allow)), nil, ask, 8, approvals.ByCapability},
		"delegating":             {domain.ToolCall{Tool: "task", Class: domain.ClassDelegate}, requested(), nil, ask, 8, approvals.ByCapability},

		// 9. nobody is there
		"nobody is there":                      {editing, requested(unattended), nil, deny, 9, approvals.ByUnattended},
		"nobody is there for the catastrophic": {running("rm -rf /"), requested(unattended, trusting), nil, deny, 9, approvals.ByUnattended},
		"nobody is needed for what is allowed": {reading, requested(unattended), nil, allow, 7, approvals.ByCapability},
		"nobody is there for a rule that asks": {reading, requested(unattended), rules{rule(ask, domain.Matcher{Tool: "read"})}, deny, 9, approvals.ByUnattended},
	} {
		t.Run(name, func(t *testing.T) {
			policy, err := approvals.NewPolicy(test.request)
			if (err != nil) != (test.by == approvals.ByBrokenPolicy) {
				t.Fatal(err)
			}
			policy.Rules = test.rules
			got := policy.Judge(t.Context(), test.call, hashed, now)
			if got.Verdict != test.verdict || got.Step != test.step || got.By != test.by {
				t.Errorf("%s at step %d by %s, want %s at %d by %s\n%s", got.Verdict, got.Step, got.By, test.verdict, test.step, test.by, got.Reason)
			}
			if got.By == approvals.ByRule && got.RuleID != string(got.Verdict)+"-rule" {
				t.Errorf("the rule is %q", got.RuleID)
			}
			if (got.Decider != nil) != (got.RuleID != "") || (got.Decider != nil && got.Decider.ID != got.RuleID) {
				t.Errorf("the rule is %q, and the decider %+v", got.RuleID, got.Decider)
			}
			traced(t, got)
		})
	}
}

// traced checks that the trace tells of every step up to the one that decided, and that people get a sentence.
func traced(t *testing.T, got approvals.Judgement) {
	t.Helper()
	if !strings.HasSuffix(got.Reason, ".") || len(got.Reason) < 10 {
		t.Errorf("the reason is %q", got.Reason)
	}
	for i, step := range got.Trace {
		last := i == len(got.Trace)-1
		if step.Name == "" || step.Detail == "" || (last && (!step.Applied || step.Number != got.Step)) || (!last && step.Number != i+1) {
			t.Errorf("the trace has %+v at %d of %d", step, i, len(got.Trace))
		}
	}
}

// rememberOptions are what a decision about a call could leave behind.
func rememberOptions(t *testing.T, request domain.Request, call domain.ToolCall, hash string) []domain.RememberOption {
	t.Helper()
	policy, err := approvals.NewPolicy(request)
	if err != nil {
		t.Fatal(err)
	}
	return policy.Judge(t.Context(), call, hash, now).Options
}

func TestRememberOptions(t *testing.T) {
	for name, test := range map[string]struct {
		call domain.ToolCall
		want map[string]domain.Matcher // beside the exact one
	}{
		"a command with a sub-command": {running("git log -3 --oneline"), map[string]domain.Matcher{"command": {Tool: "bash", Command: "git log *"}}},
		"a command without":            {running("ls -la /srv"), map[string]domain.Matcher{"command": {Tool: "bash", Command: "ls *"}}},
		"a file is no sub-command":     {running("cat readme"), map[string]domain.Matcher{"command": {Tool: "bash", Command: "cat *"}}},
		"options before a sub-command": {running("kubectl -n x get pods"), map[string]domain.Matcher{"command": {Tool: "bash", Command: "kubectl -n x get pods"}}},
		"a sub-command of a group":     {running("kubectl rollout status deploy/x"), map[string]domain.Matcher{"command": {Tool: "bash", Command: "kubectl rollout status *"}}},
		"a group alone":                {running("git stash"), map[string]domain.Matcher{"command": {Tool: "bash", Command: "git stash"}}},
		"what runs other code":         {running("npm run lint"), map[string]domain.Matcher{"command": {Tool: "bash", Command: "npm run lint"}}},
		"a pipeline":                   {running("ls | wc -l"), nil},
		"what writes":                  {running("ls > x"), nil},
		"what is unclear":              {running("ls $x"), nil},
		"the catastrophic":             {running("rm -rf /"), nil},
		"with the network":             {withHosts(running("git fetch"), "x.example"), nil},
		"with a secret":                {withSecrets(running("git log"), "token"), nil},
		"one file": {editing, map[string]domain.Matcher{
			"path": {Tool: "edit", Path: "/srv/etc/app.yaml"}, "folder": {Tool: "edit", Path: "/srv/etc/**"},
			"workingDirectory": {Tool: "edit", Path: "/srv/**"}, "tool": {Tool: "edit"}, "class": {},
		}},
		"a name with a star": {domain.ToolCall{Tool: "edit", Class: domain.ClassWrite, Action: domain.Action{Paths: []string{"/srv/*"}}}, map[string]domain.Matcher{
			"path": {Tool: "edit", Path: `/srv/\*`}, "workingDirectory": {Tool: "edit", Path: "/srv/**"},
			"tool": {Tool: "edit"}, "class": {},
		}},
		"outside": {domain.ToolCall{Tool: "edit", Class: domain.ClassWrite, Action: domain.Action{Paths: []string{"/etc/passwd", "/srv/a"}}}, map[string]domain.Matcher{"tool": {Tool: "edit"}, "class": {}}},
		"a host in capitals": {withHosts(fetch, "Docs.Example.ORG"), map[string]domain.Matcher{
			"host": {Tool: "web_fetch", Host: "docs.example.org"}, "tool": {Tool: "web_fetch"}, "class": {},
		}},
		"what is no host":      {withHosts(fetch, "a b"), map[string]domain.Matcher{"tool": {Tool: "web_fetch"}, "class": {}}},
		"a reading with a url": {withHosts(reading, "docs.example.org"), nil},
		"a page": {fetch, map[string]domain.Matcher{
			"host": {Tool: "web_fetch", Host: "docs.example.org"}, "tool": {Tool: "web_fetch"}, "class": {},
		}},
		"what an MCP server has to read": {readsGithub, map[string]domain.Matcher{"tool": {Tool: "mcp_read", Server: "github"}}},
	} {
		t.Run(name, func(t *testing.T) {
			got := map[string]domain.Matcher{}
			for i, option := range rememberOptions(t, requested(inSrv), test.call, hashed) {
				if m := &option.Matcher; m.Class != test.call.Class || m.Agent != "internal" {
					t.Errorf("%s is of the class %q and the agent %q", option.PreviewID, m.Class, m.Agent)
				}
				option.Matcher.Class, option.Matcher.Agent = "", ""
				if i == 0 {
					if want := (domain.Matcher{Tool: test.call.Tool, ArgumentsHash: hashed}); option.PreviewID != approvals.PreviewExact || !option.Matcher.Equal(want) {
						t.Errorf("the narrowest is %+v", option)
					}
					continue
				}
				got[option.PreviewID] = option.Matcher
				option.Matcher.Class, option.Matcher.Agent = test.call.Class, "internal"
				covered(t, test.call, option)
			}
			if test.want == nil {
				test.want = map[string]domain.Matcher{}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// covered checks that a rule made of an option is a good one, and allows the very call that it was offered for.
func covered(t *testing.T, call domain.ToolCall, option domain.RememberOption) {
	t.Helper()
	if err := approvals.CheckMatcher(option.Matcher); err != nil {
		t.Errorf("%s: %v", option.PreviewID, err)
	}
	if !strings.HasPrefix(option.Description, "This will also allow ") {
		t.Errorf("%s: %q", option.PreviewID, option.Description)
	}
	policy, err := approvals.NewPolicy(requested(inSrv))
	if err != nil {
		t.Fatal(err)
	}
	policy.Rules = []domain.PermissionRule{rule(domain.Allow, option.Matcher)}
	if got := policy.Judge(t.Context(), call, "another", now); got.Verdict != domain.Allow || got.By != approvals.ByRule {
		t.Errorf("%s does not cover its own call: %s", option.PreviewID, got.Reason)
	}
}

func TestCheckMatcher(t *testing.T) {
	many := strings.Repeat
	for pointer, matchers := range map[string][]domain.Matcher{
		"": {
			{Tool: "bash"}, {Path: "/srv/**"}, {Path: `/srv/\{a\}`}, {Path: "/" + many("*a", 8)}, {Path: "/" + many(`\*`, 9)}, {Command: "git log *"}, {Command: "ls"},
			{Host: "*"}, {Host: "*.example.org"}, {Host: "10.0.0.1"}, {Server: "x"}, {Class: domain.ClassWrite}, {Agent: "claude", Tool: "x"},
		},
		"/matcher":         {{}, {Agent: "claude"}},
		"/matcher/class":   {{Class: "fly"}, {Class: domain.ClassOther}},
		"/matcher/path":    {{Path: "etc"}, {Path: "/a/[x"}, {Path: "/a/../b"}, {Path: "/a/"}, {Path: "/a//b"}, {Path: "/a/./b"}, {Path: "/{a,b}"}, {Path: "/" + many("*a", 9)}, {Path: "/" + many(`\**`, 9)}, {Path: "/" + many("a", 1024)}},
		"/matcher/command": {{Command: "*"}, {Command: "git *x"}, {Command: " git"}, {Command: "a  b"}, {Command: "a;b"}, {Command: "a $x"}, {Command: "'a'"}, {Path: "/a", Command: "*"}},
		"/matcher/host":    {{Host: "*example.org"}, {Host: "https://example.org"}, {Host: "example.org:443"}, {Host: "example.*"}, {Host: "Example.org"}, {Path: "/a", Host: "a b"}},
	} {
		for _, m := range matchers {
			err := approvals.CheckMatcher(m)
			if pointer == "" && err != nil {
				t.Errorf("%+v: %v", m, err)
			}
			if pointer != "" {
				wants(t, err, pointer)
			}
		}
	}
}

func TestDescribe(t *testing.T) {
	for want, m := range map[string]domain.Matcher{
		"every call of edit by the internal agent with the capability write on /srv/**": {Tool: "edit", Agent: "internal", Class: domain.ClassWrite, Path: "/srv/**"},
		"every call by the agent claude of the MCP server github":                       {Agent: "claude", Server: "github"},
		"every call to the host *.example.org":                                          {Host: "*.example.org"},
		"exactly this call by the internal agent":                                       {Tool: "bash", ArgumentsHash: "h", Agent: "internal"},
		"every call of bash whose commands all begin with “git log”":                    {Tool: "bash", Command: "git log *"},
		"every call of bash that runs “ls” and nothing else":                            {Tool: "bash", Command: "ls"},
	} {
		if got := approvals.Describe(m); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
