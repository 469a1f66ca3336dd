package approvals_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"signoff/internal/approvals"
	"signoff/internal/domain"
)

// onHost is an environment without isolation.
func onHost(changes ...func(*domain.Environment)) *domain.Environment {
	e := &domain.Environment{Name: "host", View: domain.ViewHost, User: "operator", Allow: []string{`^journalctl `, `^systemctl status `, `^docker ps\b`}}
	for _, change := range changes {
		change(e)
	}
	return e
}

func asServer(e *domain.Environment) { e.User, e.AsServer = "", true }

var workspace = &domain.Environment{Name: "workspace", View: domain.ViewWorkspace}

func in(name string) func(*domain.Request) {
	return func(r *domain.Request) { r.Environment.Name = name }
}

func judged(t *testing.T, e *domain.Environment, call domain.ToolCall, request domain.Request, rules ...domain.PermissionRule) approvals.Judgement {
	t.Helper()
	policy, err := approvals.NewPolicy(request)
	if err != nil {
		t.Fatal(err)
	}
	policy.Environment, policy.Rules = e, rules
	return policy.Judge(t.Context(), call, hashed, now)
}

// TestNothingOfARequestRunsOnTheHost: whatever a request says of its capabilities, its rules and its trust, a call on the host asks, or is
// refused. Only a pattern of the operator, and a person's rule for exactly this call, let it run.
func TestNothingOfARequestRunsOnTheHost(t *testing.T) {
	verdicts := []domain.Verdict{"", domain.Deny, domain.Ask, domain.Allow}
	reading := domain.ToolCall{Tool: "read", Class: domain.ClassRead, Action: domain.Action{Paths: []string{"/etc/shadow"}}}
	for _, call := range []domain.ToolCall{running("uptime"), running("journalctl -u x; rm y"), withHosts(running("uptime"), "x.example"), editing, reading} {
		for _, granted := range verdicts {
			for _, host := range verdicts {
				for _, alone := range []bool{false, true} {
					request := requested(inSrv, in("host"), trusting, bash(domain.Allow, domain.DenyHITL), func(r *domain.Request) {
						r.Unattended = alone
						r.Environment.Digest = onHost().Digest()
						r.Capabilities = domain.Capabilities{Read: granted, Write: granted, Execute: granted, Network: domain.Allow, Host: host}
						for _, m := range []domain.Matcher{{ArgumentsHash: hashed}, {Tool: call.Tool}, {Class: call.Class}, {Class: domain.ClassHost}} {
							r.Rules = append(r.Rules, domain.RequestRule{Effect: domain.Allow, Matcher: m})
						}
					})
					got := judged(t, onHost(), call, request, rule(domain.Allow, domain.Matcher{Tool: call.Tool, Environment: "host", EnvironmentDigest: onHost().Digest()}),
						rule(domain.Allow, domain.Matcher{Command: "uptime", Environment: "host", EnvironmentDigest: onHost().Digest()}), rule(domain.Allow, domain.Matcher{Tool: call.Tool}))
					want := domain.Ask
					if alone || host == domain.Deny || granted == domain.Deny || granted == "" {
						want = domain.Deny
					}
					if got.Verdict != want {
						t.Errorf("%s with %q and host %q, alone %v: %s, want %s: %s", call.Action.Command+call.Tool, granted, host, alone, got.Verdict, want, got.Reason)
					}
				}
			}
		}
	}
}

func TestPatternsOfTheHost(t *testing.T) {
	for line, allowed := range map[string]bool{
		"journalctl -u app": true, "journalctl -u app | journalctl -u b": true, "systemctl status sshd && journalctl -n 5": true, "docker ps": true,
		"journalctl -u app 2>&1": true, "timeout 5 journalctl -u app": true, "sh -c 'journalctl -u app'": true,

		"journalctl -u app; rm y": false, "journalctl -u $(rm y)": false, "journalctl -u `rm y`": false, "journalctl -u app > out": false, "journalctl -u app >> /etc/x": false,
		"journalctl -n 1 < /etc/shadow": false, "PAGER=evil journalctl -u app": false, "env LD_PRELOAD=x journalctl -u app": false, "export A=b; journalctl -u app": false,
		"journalctl -u app | sh": false, "journalctl -u app | tee x": false, "journalctl -u app & rm y": false, "xargs journalctl -u": false, "sudo journalctl -u app": false,
		"./journalctl -u app": false, "journalctl-x app": false, "docker psx": false, "docker exec a sh": false, "cd /tmp && journalctl -u app": false,
		"journalctl() { rm y; }; journalctl -u app": false, "alias journalctl=rm; journalctl -u app": false, "journalctl -u *": false, "uptime": false, "journalctl <(rm y) x": false,
		"cat <<< $(rm y) | journalctl -u x": false, "journalctl -u \"$X\"": false, "exec 3<> /dev/tcp/a/1; journalctl -u x": false, "": false,
	} {
		for name, test := range map[string]struct {
			e       *domain.Environment
			request domain.Request
			allowed bool
		}{
			"as another user":   {onHost(), requested(in("host")), allowed},
			"unattended":        {onHost(), requested(in("host"), unattended), allowed},
			"as the server":     {onHost(asServer), requested(in("host")), false},
			"execute is denied": {onHost(), requested(in("host"), may(domain.Deny, domain.Ask, domain.Ask)), false},
			"host is denied":    {onHost(), requested(in("host"), func(r *domain.Request) { r.Capabilities.Host = domain.Deny }), false},
			"a stricter policy": {onHost(), requested(in("host"), bash(domain.Deny, domain.DenyHITL)), false},
			"without patterns":  {onHost(func(e *domain.Environment) { e.Allow = nil }), requested(in("host")), false},
		} {
			if got := judged(t, test.e, running(line), test.request); (got.Verdict == domain.Allow) != test.allowed || test.allowed && got.By != approvals.ByEnvironment {
				t.Errorf("%q %s: %s by %s: %s", line, name, got.Verdict, got.By, got.Reason)
			}
		}
	}
	denied := rule(domain.Deny, domain.Matcher{Command: "journalctl *"})
	if got := judged(t, onHost(), running("journalctl -u x"), requested(in("host")), denied); got.Verdict != domain.Deny {
		t.Errorf("a pattern goes before a rule that denies: %s", got.Reason)
	}
	if got := judged(t, onHost(), withSecrets(running("journalctl -u x"), "token"), requested(in("host"), token)); got.Verdict != domain.Ask {
		t.Errorf("a pattern hands out a secret: %s", got.Reason)
	}
	if got := judged(t, onHost(func(e *domain.Environment) { e.Allow = []string{".*"} }), running("rm -rf /"), requested(in("host"))); got.By != approvals.ByCatastrophe {
		t.Errorf("a pattern allows a catastrophe: %s", got.Reason)
	}
}

// TestTheCardOfTheHost: the first line says where and as whom, and nothing but exactly this call can be remembered.
func TestTheCardOfTheHost(t *testing.T) {
	machine, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	first := fmt.Sprintf("runs on %s, as operator, without isolation", machine)
	execution := domain.Execution{Request: requested(inSrv, in("host"))}
	for _, call := range []domain.ToolCall{running("uptime"), running("rm -rf /"), editing} {
		got := judged(t, onHost(), call, execution.Request)
		approval := approvals.New(execution, domain.Question{Kind: domain.ApprovalToolCall, Call: call}, hashed, got, 0, now)
		if line, _, _ := strings.Cut(approval.Reason, "\n"); line != first {
			t.Errorf("the first line is %q, want %q", line, first)
		}
		if len(approval.RememberOptions) != 1 || approval.RememberOptions[0].Matcher.ArgumentsHash != hashed {
			t.Errorf("%s offers %+v", call.Tool, approval.RememberOptions)
		}
		again := approvals.New(execution, domain.Question{Kind: domain.ApprovalToolCall, Call: call}, hashed,
			approvals.Repeated(got, domain.Decision{By: domain.Actor{Name: "alice"}}), 0, now)
		if !strings.HasPrefix(again.Reason, first+"\n") {
			t.Errorf("a repeated call says %q", again.Reason)
		}
		if option := approval.RememberOptions[0]; call.Action.Command != "rm -rf /" {
			if got := judged(t, onHost(), call, execution.Request, rule(domain.Allow, option.Matcher)); got.Verdict != domain.Allow {
				t.Errorf("what was remembered asks again: %s", got.Reason)
			}
			if got := judged(t, onHost(func(e *domain.Environment) { e.User = "root" }), call, execution.Request, rule(domain.Allow, option.Matcher)); got.Verdict != domain.Ask {
				t.Errorf("what was remembered for one definition allows another: %s", got.Reason)
			}
		}
	}
	got := judged(t, onHost(asServer), running("uptime"), execution.Request)
	if !strings.HasSuffix(got.Notice, ", without isolation, can approve its own calls") || strings.Contains(got.Notice, "as ,") {
		t.Errorf("as the server: %q", got.Notice)
	}
	if got := judged(t, workspace, running("uptime"), requested(in("workspace"))); got.Notice != "" {
		t.Errorf("in the workspace: %q", got.Notice)
	}
}

// TestWhatWorksOnTheHost: a file is read unseen in the working directory only, and what runs elsewhere is no call on the host.
func TestWhatWorksOnTheHost(t *testing.T) {
	directory := t.TempDir()
	if err := os.WriteFile(filepath.Join(directory, "inside"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/hostname", filepath.Join(directory, "link")); err != nil {
		t.Fatal(err)
	}
	read := func(path string) domain.ToolCall {
		return domain.ToolCall{Tool: "read", Class: domain.ClassRead, Action: domain.Action{Paths: []string{path}}}
	}
	here := func(r *domain.Request) { r.WorkingDirectory = directory }
	clients := func(r *domain.Request) {
		r.ClientTools = []domain.ClientTool{{Name: "insert", Class: domain.ClassWrite}}
	}
	for name, test := range map[string]struct {
		call domain.ToolCall
		want bool
	}{
		"a file of the working directory": {read(filepath.Join(directory, "inside")), false},
		"the working directory":           {read(directory), false},
		"a link out of it":                {read(filepath.Join(directory, "link")), true},
		"another file":                    {read("/etc/hostname"), true},
		"the folder above":                {read(filepath.Dir(directory)), true},
		"a change in it":                  {domain.ToolCall{Tool: "write", Class: domain.ClassWrite, Action: domain.Action{Paths: []string{filepath.Join(directory, "inside")}}}, true},
		"a tool of the client":            {domain.ToolCall{Tool: "insert", Class: domain.ClassWrite}, false},
		"notes":                           {domain.ToolCall{Tool: "memory_write", Class: domain.ClassWrite}, false},
		"an MCP server":                   {issueTool, false},
		"the network":                     {fetch, false},
		"a reading that runs a command":   {domain.ToolCall{Tool: "read", Class: domain.ClassRead, Action: domain.Action{Command: "ls"}}, true},
	} {
		if got := judged(t, onHost(), test.call, requested(here, in("host"), clients)); (got.Notice != "") != test.want {
			t.Errorf("%s: %q", name, got.Notice)
		}
	}
	if got := judged(t, &domain.Environment{Name: "gone"}, running("ls"), requested(in("gone"), trusting)); got.Verdict != domain.Ask {
		t.Errorf("in an environment that nobody knows: %s", got.Verdict)
	}
}

// TestRulesHoldInOneEnvironment: what was allowed in one environment, in the definition that was seen, is not allowed in another. What was forbidden
// without naming one is forbidden in all.
func TestRulesHoldInOneEnvironment(t *testing.T) {
	machine := &domain.Environment{Name: "machine", View: domain.ViewMachine}
	narrowed := &domain.Environment{Name: "machine", View: domain.ViewMachine, ReadOnly: true, Whole: machine.Digest()}
	changed := &domain.Environment{Name: "machine", View: domain.ViewMachine, Hidden: []string{"/etc/app"}}
	wider := &domain.Environment{Name: "workspace", View: domain.ViewWorkspace, Mounts: []domain.Mount{{Path: "/srv/app", Access: domain.AccessRead}}}
	of := func(e *domain.Environment) domain.Matcher {
		return domain.Matcher{Tool: "bash", Command: "ls", Environment: e.Name, EnvironmentDigest: e.Digest()}
	}
	older, named := domain.Matcher{Tool: "bash", Command: "ls"}, domain.Matcher{Tool: "bash", Command: "ls", Environment: "machine"}
	holds := map[string]struct {
		m            domain.Matcher
		allow, holds []*domain.Environment
	}{
		"before there were environments": {older, []*domain.Environment{nil, workspace}, []*domain.Environment{nil, workspace, wider, machine, narrowed, changed}},
		"of the workspace":               {of(workspace), []*domain.Environment{workspace}, []*domain.Environment{nil, workspace, wider}},
		"of the machine":                 {of(machine), []*domain.Environment{machine, narrowed}, []*domain.Environment{machine, narrowed, changed}},
		"of a part of the machine":       {of(narrowed), []*domain.Environment{narrowed}, []*domain.Environment{machine, narrowed, changed}},
		"without a digest":               {named, nil, []*domain.Environment{machine, narrowed, changed}},
	}
	for name, test := range holds {
		for i, e := range []*domain.Environment{nil, workspace, wider, machine, narrowed, changed} {
			got := judged(t, e, running("ls"), requested(), rule(domain.Allow, test.m))
			if want := slices.Contains(test.allow, e); (got.Verdict == domain.Allow) != want {
				t.Errorf("a rule %s allows in environment %d: %v, want %v", name, i, !want, want)
			}
			got = judged(t, e, running("ls"), requested(trusting), rule(domain.Deny, test.m))
			if want := slices.Contains(test.holds, e); (got.Verdict == domain.Deny) != want {
				t.Errorf("a rule %s denies in environment %d: %v, want %v", name, i, !want, want)
			}
		}
	}
}

// TestHashesOfEnvironments: the same call has a hash for each environment and definition. A decision from before there were environments is
// remembered in the workspace, and nowhere else.
func TestHashesOfEnvironments(t *testing.T) {
	call := running("ls")
	call.Arguments, call.Version = []byte(`{"command":"ls"}`), "1"
	machine := &domain.Environment{Name: "machine", View: domain.ViewMachine}
	readOnly := &domain.Environment{Name: "machine", View: domain.ViewMachine, ReadOnly: true}
	seen := map[string]int{}
	for i, e := range []*domain.Environment{nil, workspace, machine, readOnly, onHost()} {
		h, err := approvals.Hash(call, "/srv", e.Stamp())
		if err != nil {
			t.Fatal(err)
		}
		if other, taken := seen[h]; taken {
			t.Errorf("the environments %d and %d have one hash", other, i)
		}
		seen[h] = i
	}
	// SHA-256 of {"arguments":{"command":"ls"},"environment":[],"tool":"bash","version":"1","workingDirectory":"/srv"}, as older releases wrote it into rows.
	const before = "66a7da1e31b1fa3b45f545d8d37b5d57d0b5ecbd329aa1f5d793780a0fb094b2"
	older, err := approvals.Hash(call, "/srv", nil)
	if err != nil {
		t.Fatal(err)
	}
	if older != before {
		t.Errorf("the hash of version 1 is %s", older)
	}
	remembered := rule(domain.Allow, domain.Matcher{Tool: "bash", ArgumentsHash: older, Class: domain.ClassExecute})
	for _, test := range []struct {
		e    *domain.Environment
		want domain.Verdict
	}{{nil, domain.Allow}, {workspace, domain.Allow}, {machine, domain.Ask}, {readOnly, domain.Ask}, {onHost(), domain.Ask}} {
		policy, err := approvals.NewPolicy(requested(inSrv))
		if err != nil {
			t.Fatal(err)
		}
		policy.Environment, policy.Rules = test.e, []domain.PermissionRule{remembered}
		h, err := approvals.Hash(call, "/srv", test.e.Stamp())
		if err != nil {
			t.Fatal(err)
		}
		if got := policy.Judge(t.Context(), call, h, now); got.Verdict != test.want {
			t.Errorf("an old decision in %+v: %s, want %s", test.e, got.Verdict, test.want)
		}
	}
}
