package e2e

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/domain"
)

// The full example of an agent step, as a request.
var fixConfig = object{
	"source": object{"type": "internal", "model": "sonnet"},
	"tools": object{
		"enabled": []string{"bash", "read", "patch", "think", "web_search"},
		"bashPolicy": object{
			"defaultBehavior": "allow",
			"denyBehavior":    "hitl",
			"rules": []object{
				{"name": "allow-read-commands", "pattern": `^(cat|head|tail|grep|find|ls)\b`, "action": "allow"},
				{"name": "deny-destructive", "pattern": `^(rm|chmod|chown|mkfs)\b`, "action": "deny"},
			},
		},
	},
	"memory":           object{"enabled": true},
	"runbookId":        "fix-config",
	"instructions":     "Focus only on the config files in app/.\nDo not modify any files outside that directory.",
	"maxIterations":    30,
	"safeMode":         true,
	"workingDirectory": "etc",
	"messages": []object{{"role": "user", "content": "The config at app/config.yaml has an invalid database_url.\n" +
		"Read the file, fix the URL to point to db.internal, and validate.\n"}},
	"timeoutSeconds": 600,
}

const brokenConfig = "name: app\ndatabase_url: postgres://localhst/app\nworkers: 4\n"

const configPatch = `--- a/app/config.yaml
+++ b/app/config.yaml
@@ -1,3 +1,3 @@
 name: app
-database_url: postgres://localhst/app
+database_url: postgres://db.internal/app
 workers: 4
`

// auditEntry is one entry of the audit.
type auditEntry struct {
	Seq    int64  `json:"seq"`
	Action string `json:"action"`
	Record struct {
		Tool      string `json:"tool"`
		DecidedBy string `json:"decidedBy"`
		RuleID    string `json:"ruleId"`
		Reason    string `json:"reason"`
		Outcome   string `json:"outcome"`
		Channel   string `json:"channel"`
		Actor     *struct {
			Name string `json:"name"`
		} `json:"actor"`
		Details struct {
			Command     string   `json:"command"`
			AskedBy     string   `json:"askedBy"`
			AskedReason string   `json:"askedReason"`
			Hosts       []string `json:"hosts"`
			Paths       []string `json:"paths"`
		} `json:"details"`
	} `json:"record"`
}

// audit reads the entries about an execution.
func (c client) audit(id string) []auditEntry {
	c.t.Helper()
	return want[list[auditEntry]](c, http.StatusOK, "GET", "/audit?limit=200&executionId="+id, nil).Items
}

// fixer plays the model of the example. What it saw of the requests is kept for the test.
type fixer struct {
	offered []string
	system  string
	told    []string // the newest result in each round
}

func (f *fixer) play(a *answer, conversation []message) {
	f.offered, f.system = a.Tools, system(conversation)
	if last(conversation).Role == "tool" {
		f.told = append(f.told, last(conversation).Content)
	}
	inTurn(
		func(a *answer, _ []message) {
			a.Say("I read the file first.")
			a.Want("read", object{"path": "app/config.yaml"})
		},
		calls("bash", object{"command": "cat app/config.yaml | grep database_url"}),
		calls("think", object{"thought": "localhst is misspelled"}),
		calls("web_search", object{"query": "postgres url format"}),
		calls("patch", object{"patch": configPatch}),
		calls("bash", object{"command": "grep database_url app/config.yaml"}),
		calls("bash", object{"command": "chmod 640 app/config.yaml"}),
		calls("bash", object{"command": "rm -rf app/old"}),
		func(a *answer, _ []message) { a.Say("The URL points to ", "db.internal now.") },
	)(a, conversation)
}

// TestAgentStep is the full example from its creation to its output: what the policy allows runs, what it denies waits for
// a person, also over the death of the server, and all of it is on record.
func TestAgentStep(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, e engine) {
		f := &fixer{}
		engine := newSearcher(t, object{"title": "Connection URIs", "url": "https://docs.example/uri", "content": "postgres://host/database"})
		m := newModel(t, f.play)
		s := newServer(t, e, m)
		s.models(object{"default": "other", "other": entry(m, object{"model": "other"}),
			"sonnet": entry(m, object{"inputCostPer1m": 3, "outputCostPer1m": 15, "contextWindow": 200_000})})
		s.searches(engine)
		s.workplace()
		s.start()
		s.notes("global", "Ask before you restart anything.")
		s.notes("runbook:fix-config", "The database moved to db.internal in May.")
		s.notes("runbook:other", "Notes of somebody else.")

		id := created[execution](s.client, fixConfig).ID
		s.approve(id, "web_search", "127.0.0.1")
		s.approve(id, "patch", "app/config.yaml")
		chmod := s.pending(id)
		s.shown(id, chmod)
		s.kill()
		s.start()
		s.decide(s.pending(id), object{"reason": "fine"})
		s.decide(s.pending(id), object{"decision": "deny", "reason": "keep the old one for now"})
		end := s.ended(id)

		if end.Status != "completed" || end.Output.Text != "The URL points to db.internal now." {
			t.Errorf("ended: %+v %+v", end, end.Output)
		}
		f.saw(t)
		if got := engine.asked(); !slices.Equal(got, []string{"postgres url format"}) {
			t.Errorf("searched: %q", got)
		}
		content, err := os.ReadFile(filepath.Join(s.workspace, "etc/app/config.yaml"))
		if err != nil || !strings.Contains(string(content), "postgres://db.internal/app\n") {
			t.Errorf("the file: %s %v", content, err)
		}
		if info, err := os.Stat(filepath.Join(s.workspace, "etc/app/config.yaml")); err != nil || info.Mode().Perm() != 0o640 {
			t.Errorf("the mode: %v %v", info.Mode(), err)
		}
		if _, err := os.Stat(filepath.Join(s.workspace, "etc/app/old/kept.yaml")); err != nil {
			t.Errorf("what was denied has run: %v", err)
		}
		s.billed(id, end)
		s.onRecord(id)
		s.sound(id)
	})
}

// workplace is what the agent finds.
func (s *server) workplace() {
	s.t.Helper()
	must(s.t, os.MkdirAll(filepath.Join(s.workspace, "etc/app/old"), 0o755))
	must(s.t, os.WriteFile(filepath.Join(s.workspace, "etc/app/config.yaml"), []byte(brokenConfig), 0o600))
	must(s.t, os.WriteFile(filepath.Join(s.workspace, "etc/app/old/kept.yaml"), nil, 0o600))
}

// notes writes the first notes of a scope.
func (c client) notes(scope, content string) {
	c.t.Helper()
	want[object](c, http.StatusOK, "PUT", "/memory/"+scope, object{"content": content}, headers{"If-Match": `"0"`})
}

// pending waits for the one approval that is open.
func (c client) pending(id string) approval {
	c.t.Helper()
	all := slices.DeleteFunc(c.asked(id, 1), func(a approval) bool { return a.Status != "pending" })
	if len(all) != 1 {
		c.t.Fatalf("%d approvals are open", len(all))
	}
	return all[0]
}

// approve lets the next question pass, which must be about a tool and say something.
func (c client) approve(id, tool, says string) {
	c.t.Helper()
	a := c.pending(id)
	if a.Tool != tool || !strings.Contains(a.Summary, says) {
		c.t.Errorf("asked: %s %s; want %s and %q", a.Tool, a.Summary, tool, says)
	}
	c.decide(a)
}

// shown is what a person sees of the command that was held: in the list of executions, and in the approval itself.
func (s *server) shown(id string, a approval) {
	s.t.Helper()
	folder := filepath.Join(s.workspace, "etc")
	detail := want[struct{ AskedBy, Reason, WorkingDirectory string }](s.client, http.StatusOK, "GET", "/approvals/"+a.ID, nil)
	if detail.AskedBy != "bashPolicy" || !strings.Contains(detail.Reason, "deny-destructive") || detail.WorkingDirectory != folder {
		s.t.Errorf("the approval: %+v", detail)
	}
	dry := want[struct{ Decision, DecidedBy, Rule string }](s.client, http.StatusOK, "POST", "/policy/evaluate",
		object{"executionId": id, "tool": a.Tool, "arguments": a.Arguments})
	if dry.Decision != "ask" || dry.DecidedBy != "bashPolicy" || dry.Rule != "deny-destructive" {
		s.t.Errorf("explained as: %+v", dry)
	}
	type shown struct {
		ID               string `json:"id"`
		Progress         progress
		PendingApprovals []struct{ ID, Summary string }
	}
	all := want[list[shown]](s.client, http.StatusOK, "GET", "/executions?status=pendingToolApproval", nil).Items
	if len(all) != 1 || all[0].ID != id || len(all[0].PendingApprovals) != 1 || all[0].PendingApprovals[0].ID != a.ID {
		s.t.Fatalf("the executions that wait: %+v", all)
	}
	if summary := all[0].PendingApprovals[0].Summary; !strings.Contains(summary, "chmod 640 app/config.yaml") || !strings.Contains(summary, folder) {
		s.t.Errorf("the summary: %s", summary)
	}
	if got, want := all[0].Progress, (progress{Rounds: 7, MaxIterations: 30}); got != want {
		s.t.Errorf("progress: %+v, want %+v", got, want)
	}
}

type progress struct {
	Rounds        int `json:"rounds"`
	MaxIterations int `json:"maxIterations"`
}

// saw is what the model was told.
func (f *fixer) saw(t *testing.T) {
	t.Helper()
	slices.Sort(f.offered)
	if diff := cmp.Diff([]string{"bash", "patch", "read", "think", "web_search"}, f.offered); diff != "" {
		t.Errorf("the tools that the model was offered (-want +got):\n%s", diff)
	}
	for _, expected := range []string{"Focus only on the config files in app/.", "Do not modify any files outside", "Ask before you restart anything.",
		"The database moved to db.internal in May."} {
		if !strings.Contains(f.system, expected) {
			t.Errorf("the system prompt does not say %q:\n%s", expected, f.system)
		}
	}
	if strings.Contains(f.system, "somebody else") {
		t.Error("the system prompt has the notes of another runbook")
	}
	results := strings.Join(f.told, "\n")
	for _, expected := range []string{"database_url: postgres://localhst/app", "Connection URIs", "https://docs.example/uri", "db.internal/app", "keep the old one for now"} {
		if !strings.Contains(results, expected) {
			t.Errorf("the model was not told %q:\n%s", expected, results)
		}
	}
}

// billed checks the figures: nine requests, one of them perhaps twice, since nobody knows whether it was heard when the
// server died.
func (s *server) billed(id string, end execution) {
	s.t.Helper()
	requests := *end.Usage.InputTokens / 100
	if requests < 9 || requests > 10 || *end.Usage.OutputTokens != 20*requests {
		s.t.Errorf("usage: %+v", end.Usage)
	}
	if cost, wanted := *end.Usage.Cost, float64(requests)*(100*3+20*15)/1e6; cost < wanted*0.999 || cost > wanted*1.001 {
		s.t.Errorf("cost: %g, want %g", cost, wanted)
	}
	got := want[struct{ Progress progress }](s.client, http.StatusOK, "GET", "/executions/"+id, nil).Progress
	if got.Rounds != 8 || got.MaxIterations != 30 {
		s.t.Errorf("progress: %+v", got)
	}
}

// onRecord checks that the audit has each call with what decided it.
func (s *server) onRecord(id string) {
	s.t.Helper()
	type line struct{ Tool, Command, By, Outcome string }
	var calls []line
	reasons, asked := map[string]string{}, map[string]string{}
	for _, entry := range s.audit(id) {
		if strings.HasPrefix(entry.Action, "toolCall.") {
			calls = append(calls, line{entry.Record.Tool, entry.Record.Details.Command, entry.Record.DecidedBy, entry.Record.Outcome})
			reasons[entry.Record.Details.Command] = entry.Record.Reason
			asked[entry.Record.Details.Command] = entry.Record.Details.AskedBy + ": " + entry.Record.Details.AskedReason
		}
	}
	if diff := cmp.Diff([]line{
		{"read", "", "capability", "succeeded"},
		{"bash", "cat app/config.yaml | grep database_url", "bashPolicy", "succeeded"},
		{"think", "", "capability", "succeeded"},
		{"web_search", "", "decision", "succeeded"},
		{"patch", "", "decision", "succeeded"},
		{"bash", "grep database_url app/config.yaml", "bashPolicy", "succeeded"},
		{"bash", "chmod 640 app/config.yaml", "decision", "succeeded"},
		{"bash", "rm -rf app/old", "decision", "denied"},
	}, calls); diff != "" {
		s.t.Errorf("the audit (-want +got):\n%s", diff)
	}
	for command, expected := range map[string]string{
		"grep database_url app/config.yaml": "allow-read-commands", "rm -rf app/old": "keep the old one for now", "chmod 640 app/config.yaml": "fine",
	} {
		if !strings.Contains(reasons[command], expected) {
			s.t.Errorf("the reason of %s is %q", command, reasons[command])
		}
	}
	for command, words := range map[string][]string{ // what held it: rule, action and the part of the line
		"chmod 640 app/config.yaml": {"bashPolicy: ", "deny-destructive", "deny", "chmod 640"},
		"rm -rf app/old":            {"bashPolicy: ", "deny-destructive", "deny", "rm -rf"},
	} {
		for _, word := range words {
			if !strings.Contains(asked[command], word) {
				s.t.Errorf("%s was asked about for %q, without %q", command, asked[command], word)
			}
		}
	}
	decided := 0
	for _, entry := range s.audit(id) {
		if entry.Action == "approval.decided" && entry.Record.Actor != nil && entry.Record.Channel == "api" {
			decided++
		}
	}
	if decided != 4 {
		s.t.Errorf("the audit has %d decisions of people", decided)
	}
	questions := of[domain.ApprovalRequested](s.t, s.page(id))
	if len(questions) != 4 || !strings.Contains(questions[2].Reason, "deny-destructive") || !strings.Contains(questions[3].Reason, "deny-destructive") {
		encoded, _ := json.Marshal(questions)
		s.t.Errorf("asked: %s", encoded)
	}
}
