package sessions_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"signoff/internal/approvals"
	"signoff/internal/dispatch"
	"signoff/internal/domain"
	"signoff/internal/events"
	"signoff/internal/sessions"
	"signoff/internal/sessions/sessionstest"
	"signoff/internal/store/storetest"
	"signoff/internal/tools"
)

// linked makes a workspace with links of all kinds in it, and returns its folder.
func linked(t *testing.T) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{"w/secret/deep", "w/src", "w/docs", "elsewhere"} {
		if err := os.MkdirAll(filepath.Join(root, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{
		"w/sl":         "secret",                 // a folder
		"w/file":       "secret/n",               // a file that does not exist yet
		"w/docs/way":   "../src",                 // with .. in it
		"w/docs/chain": "way/../sl/deep",         // over other links
		"w/absolute":   root + "/w/secret",       // by its whole name
		"w/out":        "../elsewhere",           // out of the workspace
		"w/loop":       "loop",                   // nowhere
		"elsewhere/in": "../w/secret",            // and back
		"w/round":      "../elsewhere/in/../src", // over a link, and then up from where it leads
	} {
		if err := os.Symlink(to, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(root, "w")
}

// realTools describes calls as the internal agent does.
type realTools struct{ *tools.Registry }

func (r realTools) Describe(request domain.Request, tool string, arguments json.RawMessage) (domain.ToolCall, error) {
	return r.Registry.Describe(tool, arguments, request.WorkingDirectory)
}

// attempt is a call of a tool.
type attempt struct {
	tool      string
	arguments map[string]any
}

func (a attempt) String() string { return fmt.Sprint(a.tool, " ", a.arguments) }

// attempts are calls that touch files by names and by links.
func attempts(dir string) (all []attempt) {
	names := []string{
		"secret/n", "sl/n", "sl", "file", "src/n", "docs/way/n", "docs/chain/n", "docs/chain/new/n", "absolute/n", "out/n", "out/in/n", "loop/n",
		"round/n", "missing/n", ".", "docs", dir + "/sl/n",
	}
	for _, name := range names {
		all = append(all,
			attempt{"read", map[string]any{"path": name}},
			attempt{"write", map[string]any{"path": name, "content": "x"}},
			attempt{"bash", map[string]any{"command": "echo x > " + name}},
		)
	}
	for _, command := range []string{
		"ls sl", "cat sl/n | tee docs/way/n", "cd sl && echo x > n", "cp src/n file", "rm -rf sl/n", "rm -rf /e*", "sleep 9 & ls", "ln -s secret s; echo x > s/n",
		"sort -o sl/n src/n", `ls "$(ls "$(ls)")"`,
	} {
		all = append(all, attempt{"bash", map[string]any{"command": command}})
	}
	return append(all, attempt{"search", map[string]any{"pattern": "x", "path": "docs"}}, attempt{"list", map[string]any{"path": "sl"}},
		attempt{"patch", map[string]any{"patch": "--- /dev/null\n+++ sl/p\n@@ -0,0 +1 @@\n+x\n--- /dev/null\n+++ docs/p\n@@ -0,0 +1 @@\n+x\n"}})
}

// tries makes all calls at once, each with its place among them for its id.
func tries(registry realTools, calls []attempt) sessionstest.Script {
	return func(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
		for i, a := range calls {
			call, err := registry.Registry.Describe(a.tool, domain.Encode(a.arguments), t.Prompt.Text)
			if err != nil {
				return "", err
			}
			call.ID = fmt.Sprint("c", i)
			if err := t.Want("m1", call); err != nil {
				return "", err
			}
			go func() { _, _ = t.Use(call, func(json.RawMessage) string { return "" }) }()
		}
		<-ctx.Done()
		return domain.StopCancelled, ctx.Err()
	}
}

// outcomes is the outcome of each call: its verdict, who said so, and why.
func (w *world) outcomes(id domain.ExecutionID, n int) map[string]string {
	w.t.Helper()
	seen := map[string]bool{}
	w.follow(id, func(f events.Frame) bool {
		event, err := w.store.Events(context.Background(), id, f.Seq-1, 1)
		if err != nil || len(event) != 1 {
			w.t.Fatal(err)
		}
		payload, err := event[0].Payload()
		if err != nil {
			w.t.Fatal(err)
		}
		switch p := payload.(type) {
		case domain.ApprovalRequested:
			seen[p.ToolCallID] = true
		case domain.ToolCallCompleted:
			seen[p.ToolCallID] = true
		}
		return len(seen) == n
	})
	all := map[string]string{}
	log := w.events(id)
	for _, p := range payloads[domain.ToolCallStarted](w.t, log) {
		all[p.ToolCallID] = fmt.Sprintf("allow by %s %s: %s", p.AllowedBy, p.RuleID, p.Reason)
	}
	for _, p := range payloads[domain.ToolCallCompleted](w.t, log) {
		if p.Outcome != domain.OutcomeSucceeded && p.Error != nil && all[p.ToolCallID] == "" {
			all[p.ToolCallID] = "deny: " + p.Error.Message
		}
	}
	for _, p := range payloads[domain.ApprovalRequested](w.t, log) {
		all[p.ToolCallID] = fmt.Sprintf("ask by %s: %s, remember %v", p.AskedBy, p.Reason, p.RememberOptions)
	}
	return all
}

// foretold is the answer of a dry run in the same words.
func foretold(j approvals.Judgement) string {
	switch j.Verdict {
	case domain.Allow:
		return fmt.Sprintf("allow by %s %s: %s", j.By, j.RuleID, j.Reason)
	case domain.Deny:
		return "deny: " + j.Reason
	default:
		return fmt.Sprintf("ask by %s: %s, remember %v", j.By, j.Reason, j.Options)
	}
}

// TestADryRunSaysWhatHappens: for calls by names and by links, under rules about the folders that the links lead to, a dry run
// predicts the session: the reason, the rule and the options to remember.
func TestADryRunSaysWhatHappens(t *testing.T) {
	dir := linked(t)
	registry := realTools{tools.NewRegistry(tools.Bash{}, tools.Read{}, tools.Write{}, tools.Patch{}, tools.List{}, tools.Search{})}
	calls := attempts(dir)
	matcher := func(glob string) domain.Matcher { return domain.Matcher{Path: dir + glob} }
	allowed := domain.Capabilities{Read: domain.Allow, Write: domain.Allow, Execute: domain.Allow, Network: domain.Ask}
	for name, change := range map[string]func(*domain.Request){
		"no rules":    func(*domain.Request) {},
		"all allowed": func(r *domain.Request) { r.Capabilities = allowed },
		"secret denied": func(r *domain.Request) {
			r.Rules = []domain.RequestRule{{Effect: domain.Deny, Matcher: matcher("/secret/**")}}
		},
		"denied, trusted": func(r *domain.Request) {
			r.SafeModeOff, r.Rules = true, []domain.RequestRule{{Effect: domain.Deny, Matcher: matcher("/secret/**")}}
		},
		"secret denied, isolated": func(r *domain.Request) {
			r.Capabilities, r.Rules = allowed, []domain.RequestRule{{Effect: domain.Deny, Matcher: matcher("/secret/**")}}
		},
		"a pattern denied, isolated": func(r *domain.Request) {
			r.SafeModeOff, r.Rules = true, []domain.RequestRule{{Effect: domain.Deny, Matcher: matcher("/*/n")}}
		},
		"link denied": func(r *domain.Request) {
			r.Capabilities, r.Rules = allowed, []domain.RequestRule{{Effect: domain.Deny, Matcher: matcher("/sl/**")}}
		},
		"outside asks": func(r *domain.Request) {
			r.Capabilities, r.Rules = allowed, []domain.RequestRule{{Effect: domain.Ask, Matcher: domain.Matcher{Path: filepath.Dir(dir) + "/elsewhere/**"}}}
		},
		"docs allowed": func(r *domain.Request) {
			r.Rules = []domain.RequestRule{{Effect: domain.Allow, Matcher: matcher("/docs/**")}}
		},
		"all of it": func(r *domain.Request) {
			r.Rules = []domain.RequestRule{{Effect: domain.Allow, Matcher: matcher("/**")}}
		},
		"unattended": func(r *domain.Request) {
			r.Unattended, r.Rules = true, []domain.RequestRule{{Effect: domain.Allow, Matcher: matcher("/docs/**")}}
		},
		"bash policy": func(r *domain.Request) {
			r.Capabilities, r.Tools.BashPolicy = allowed, &domain.BashPolicy{
				DefaultBehavior: domain.Allow, DenyBehavior: domain.DenyBlock, Rules: []domain.BashRule{{Name: "no rm", Pattern: "^rm", Action: domain.Deny}},
			}
		},
		"no sandbox": func(r *domain.Request) { r.Capabilities = allowed },
	} {
		t.Run(name, func(t *testing.T) {
			s := storetest.SQLite(t)
			sandbox := sessionstest.Sandbox{}
			if strings.HasSuffix(name, "isolated") {
				sandbox.Kind = "bubblewrap"
			}
			if name == "no sandbox" {
				sandbox.Kind = sessions.NoSandbox
			}
			w := newWorld(t, s, tries(registry, calls), func(c *dispatch.Config) { c.Sandbox = sandbox })
			service := approvals.NewService(s, w.log, registry)
			service.IsolateCommands(func(e domain.Environment) approvals.Isolation { return sessions.IsolationIn(sandbox, e) })
			if sandbox.Kind == sessions.NoSandbox {
				service.RefuseCommands()
			}
			wanted := request(func(r *domain.Request) { r.WorkingDirectory, r.Prompt = dir, dir }, change)
			id := w.start(func(r *domain.Request) { *r = wanted })
			happened := w.outcomes(id, len(calls))
			for i, a := range calls {
				for _, evaluation := range []approvals.Evaluation{{Request: wanted}, {Execution: id}} {
					evaluation.Tenant, evaluation.Tool, evaluation.Arguments = tenant, a.tool, domain.Encode(a.arguments)
					judgement, _, err := service.Evaluate(t.Context(), evaluation)
					if err != nil {
						t.Fatal(a, err)
					}
					if got, want := foretold(judgement), happened[fmt.Sprint("c", i)]; got != want {
						t.Errorf("%s\nforetold %s\nhappened %s", a, got, want)
					}
				}
			}
			w.cancel(id)
		})
	}
}

// TestLinksAreFollowed: rules are compared with the file that a link leads to.
func TestLinksAreFollowed(t *testing.T) {
	dir := linked(t)
	registry := realTools{tools.NewRegistry(tools.Bash{}, tools.Write{})}
	service := approvals.NewService(storetest.SQLite(t), nil, registry)
	service.IsolateCommands(func(e domain.Environment) approvals.Isolation {
		return sessions.IsolationIn(sessionstest.Sandbox{Kind: "bubblewrap"}, e)
	})
	for name, want := range map[string]domain.Verdict{
		"secret/n": domain.Deny, "sl/n": domain.Deny, "file": domain.Deny, "docs/chain/n": domain.Deny, "docs/chain/new/n": domain.Deny, "absolute/n": domain.Deny,
		"out/in/n": domain.Deny, "src/n": domain.Allow, "docs/way/n": domain.Allow, "round/n": domain.Allow, "out/n": domain.Allow, "loop/n": domain.Allow,
	} {
		for _, a := range []attempt{{"write", map[string]any{"path": name, "content": "x"}}, {"bash", map[string]any{"command": "echo x > " + name}}} {
			judgement, _, err := service.Evaluate(t.Context(), approvals.Evaluation{
				Tenant: tenant, Tool: a.tool, Arguments: domain.Encode(a.arguments),
				Request: request(func(r *domain.Request) {
					r.WorkingDirectory, r.SafeModeOff = dir, true
					r.Rules = []domain.RequestRule{{Effect: domain.Deny, Matcher: domain.Matcher{Path: dir + "/secret/**"}}}
				}),
			})
			if err != nil || judgement.Verdict != want {
				t.Errorf("%s is %s, want %s (%s, %v)", a, judgement.Verdict, want, judgement.Reason, err)
			}
		}
	}
}
