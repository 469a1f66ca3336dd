package http

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"signoff/api"
	"signoff/internal/approvals"
	"signoff/internal/approvals/shell"
	"signoff/internal/domain"
)

// everySetting is a request with every field that says what an execution may do.
const everySetting = `{
	"source": {"type": "internal", "model": "dear", "fallbacks": ["demo"]}, "prompt": "say x", "safeMode": false,
	"capabilities": {"read": "ask", "write": "deny", "execute": "allow", "network": "allow", "mcp": "deny", "delegate": "deny"},
	"tools": {
		"enabled": ["bash", "think"],
		"bashPolicy": {
			"defaultBehavior": "allow", "denyBehavior": "block",
			"rules": [{"name": "deny-destructive", "pattern": "^(rm|chmod)\\b", "action": "deny"}]
		}
	},
	"policy": {
		"unattended": true,
		"rules": [{"effect": "deny", "matcher": {
			"tool": "bash", "class": "execute", "path": "/srv/**", "command": "git log *", "host": "*.example", "mcpServer": "files", "argumentsHash": "h"
		}}]
	},
	"memory": {"enabled": true}, "runbookId": "disks.v2", "secrets": ["github"],
	"budget": {"tokens": 9007199254740993, "toolCalls": 5}
}`

// TestEverySettingIsReadBack holds what is shown against what was sent, as numbers and texts, field by field.
func TestEverySettingIsReadBack(t *testing.T) {
	h := newHouse(t)
	id := h.ask("POST", "/executions", everySetting).want(201).text("id")
	var sent, shown map[string]json.RawMessage
	must(t, json.Unmarshal([]byte(everySetting), &sent))
	must(t, json.Unmarshal(h.ended(id).body, &shown))
	sent["budget"] = json.RawMessage(`{"tokens":9007199254740993,"cost":null,"toolCalls":5}`)
	for name, want := range sent {
		if diff := cmp.Diff(plain(t, want), plain(t, shown[name])); name != "budget" && diff != "" {
			t.Errorf("%s: sent (-) and shown (+) differ:\n%s", name, diff)
		}
	}
	if !strings.Contains(string(shown["budget"]), `"tokens":9007199254740993`) || !strings.Contains(string(shown["budget"]), `"toolCalls":5`) {
		t.Errorf("budget: %s", shown["budget"])
	}
}

func plain(t *testing.T, text json.RawMessage) (value any) {
	t.Helper()
	must(t, json.Unmarshal(text, &value))
	return value
}

func TestWhatIsLeftOutHasItsDefault(t *testing.T) {
	h := newHouse(t)
	a := h.ask("POST", "/executions", "{"+valid+`,"tools":{"bashPolicy":{"defaultBehavior":"deny"}},"policy":{},"memory":{}}`).want(201)
	want := map[string]any{"read": "allow", "write": "ask", "execute": "ask", "network": "ask", "mcp": "ask", "delegate": "ask"}
	if diff := cmp.Diff(want, a.get("capabilities")); diff != "" {
		t.Error(diff)
	}
	if a.get("safeMode") != true || a.get("policy", "unattended") != false || a.get("memory", "enabled") != false ||
		a.get("budget") != nil || a.get("runbookId") != nil || a.count("secrets") != 0 || a.get("tools", "enabled") != nil ||
		a.text("tools", "bashPolicy", "denyBehavior") != "hitl" {
		t.Errorf("%s", a.body)
	}
	none := h.ask("POST", "/executions", "{"+valid+`,"tools":{"enabled":[]}}`).want(201)
	if none.count("tools", "enabled") != 0 {
		t.Errorf("no tools at all became %s", none.body)
	}
	bare := h.ask("POST", "/executions", "{"+valid+`,"tools":{"bashPolicy":{"defaultBehavior":"deny"}}}`).want(201)
	if bare.count("tools", "bashPolicy", "rules") != 0 || bare.text("tools", "bashPolicy", "denyBehavior") != "hitl" {
		t.Errorf("a policy without rules became %s", bare.body)
	}
	if tools := bare.get("tools").(map[string]any); len(tools) != 1 {
		t.Errorf("all tools became %v", tools)
	}
}

// TestAnOldRequestIsShownAsItIsJudged: one that was stored before there were these classes.
func TestAnOldRequestIsShownAsItIsJudged(t *testing.T) {
	old := domain.Request{Capabilities: domain.Capabilities{Read: domain.Allow, Execute: domain.Ask}}
	shown := toExecution(domain.Execution{Request: old}, openQuestions{}).Capabilities
	for class, got := range map[domain.Class]api.CapabilityVerdict{
		domain.ClassRead: shown.Read, domain.ClassWrite: shown.Write, domain.ClassExecute: shown.Execute,
		domain.ClassNetwork: shown.Network, domain.ClassMCP: shown.MCP, domain.ClassDelegate: shown.Delegate,
	} {
		call := domain.ToolCall{Tool: "x", Class: class}
		policy, err := approvals.NewPolicy(old)
		must(t, err)
		if judged := policy.Judge(t.Context(), call, "", time.Now()).Verdict; string(got) != string(judged) {
			t.Errorf("%s is shown as %s and judged as %s", class, got, judged)
		}
	}
}

// badSettings are settings that the document refuses, in a request for an execution and in a dry run alike.
func badSettings() []badInput {
	wrong := func(name, fields, pointer string) badInput {
		return badInput{name, fields, 422, domain.CodeInvalid, pointer}
	}
	matcher := func(name, matcher, pointer string) badInput {
		return wrong(name, `"policy":{"rules":[{"effect":"deny","matcher":{"tool":"bash"}},{"effect":"allow","matcher":`+matcher+`}]}`, "/policy/rules/1/matcher"+pointer)
	}
	return []badInput{
		wrong("a boolean as a word", `"capabilities":{"readFiles":"allow"}`, "/capabilities/readFiles"),
		wrong("safeMode as a word", `"safeMode":"off"`, "/safeMode"),
		wrong("a tool twice", `"tools":{"enabled":["bash","bash"]}`, "/tools/enabled"),
		wrong("a bash policy without a default", `"tools":{"bashPolicy":{}}`, "/tools/bashPolicy/defaultBehavior"),
		matcher("an unknown field of a matcher", `{"user":"root"}`, "/user"),
		wrong("unattended as a word", `"policy":{"unattended":"yes"}`, "/policy/unattended"),
		wrong("a rule without an effect", `"policy":{"rules":[{"matcher":{"tool":"bash"}}]}`, "/policy/rules/0/effect"),
		wrong("a secret with a value", `"secrets":[{"name":"github"}]`, "/secrets/0"),
	}
}

func TestBadSettings(t *testing.T) {
	h := newHouse(t)
	rows := append(badSettings(), []badInput{
		{"a fallback twice", `"source":{"type":"internal","fallbacks":["dear","dear"]}`, 422, domain.CodeInvalid, "/source/fallbacks"},
		{"a budget of nothing", `"budget":{"tokens":0}`, 422, domain.CodeInvalid, "/budget/tokens"},
		{"a cost of nothing", `"budget":{"cost":0}`, 422, domain.CodeInvalid, "/budget/cost"},
		{"a negative cost", `"budget":{"cost":-0.5}`, 422, domain.CodeInvalid, "/budget/cost"},
		{"a cost beyond numbers", `"budget":{"cost":1e400}`, 422, domain.CodeInvalid, "/budget/cost"},
		{"half a call", `"budget":{"toolCalls":0.5}`, 422, domain.CodeInvalid, "/budget/toolCalls"},
		{"calls beyond numbers", `"budget":{"toolCalls":99999999999999999999}`, 422, domain.CodeInvalid, "/budget/toolCalls"},
		{"an unknown bound", `"budget":{"euros":1}`, 422, domain.CodeInvalid, "/budget/euros"},
		{"a runbook with a slash", `"runbookId":"a/b"`, 422, domain.CodeInvalid, "/runbookId"},
		{"a runbook without a name", `"runbookId":""`, 422, domain.CodeInvalid, "/runbookId"},
		{"memory as a boolean", `"memory":true`, 422, domain.CodeInvalid, "/memory"},
	}...)
	for _, row := range rows {
		row.body = `{"prompt":"say x",` + row.body + `}`
		if !strings.Contains(row.body, `"source"`) {
			row.body = strings.Replace(row.body, "{", `{"source":{"type":"internal"},`, 1)
		}
		a := h.ask("POST", "/executions", row.body)
		h.wrong(row, a)
		if strings.Contains(string(a.body), canary) {
			t.Errorf("%s: %s", row.name, a.body)
		}
	}
	if a := h.ask("GET", "/executions", "").want(200); a.count("items") != 0 {
		t.Errorf("something was created: %s", a.body)
	}
}

// TestTheDocumentedExampleIsTaken: the rules of docs/policy.md, sent as a client would.
func TestTheDocumentedExampleIsTaken(t *testing.T) {
	h := newHouse(t)
	policy, err := json.Marshal(shell.Example)
	must(t, err)
	a := h.ask("POST", "/executions", "{"+valid+`,"tools":{"bashPolicy":`+string(policy)+`}}`).want(201)
	if a.count("tools", "bashPolicy", "rules") != len(shell.Example.Rules) {
		t.Errorf("%s", a.body)
	}
}
