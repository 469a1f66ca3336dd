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
	"source": {
		"type": "internal", "model": "dear", "fallbacks": ["demo"],
		"settings": {"effort": "xhigh", "maxOutputTokens": 4096, "temperature": 0.25, "seed": -9223372036854775808, "parallelToolCalls": false}
	}, "prompt": "say x", "safeMode": false,
	"capabilities": {"read": "ask", "write": "deny", "execute": "allow", "network": "allow", "mcp": "deny", "delegate": "deny", "host": "deny"},
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
	"budget": {"tokens": 9007199254740993, "toolCalls": 5, "seconds": 600}
}`

// TestEverySettingIsReadBack holds what is shown against what was sent, as numbers and texts, field by field.
func TestEverySettingIsReadBack(t *testing.T) {
	h := newTestServer(t)
	id := h.ask("POST", "/executions", everySetting).want(201).text("id")
	var sent, shown map[string]json.RawMessage
	must(t, json.Unmarshal([]byte(everySetting), &sent))
	must(t, json.Unmarshal(h.ended(id).body, &shown))
	sent["budget"] = json.RawMessage(`{"tokens":9007199254740993,"cost":null,"toolCalls":5,"seconds":600}`)
	for name, want := range sent {
		if diff := cmp.Diff(plain(t, want), plain(t, shown[name])); name != "budget" && diff != "" {
			t.Errorf("%s: sent (-) and shown (+) differ:\n%s", name, diff)
		}
	}
	if !strings.Contains(string(shown["budget"]), `"tokens":9007199254740993`) || !strings.Contains(string(shown["budget"]), `"toolCalls":5,"seconds":600`) {
		t.Errorf("budget: %s", shown["budget"])
	}
}

func plain(t *testing.T, text json.RawMessage) (value any) {
	t.Helper()
	must(t, json.Unmarshal(text, &value))
	return value
}

func TestWhatIsLeftOutHasItsDefault(t *testing.T) {
	h := newTestServer(t)
	a := h.ask("POST", "/executions", "{"+valid+`,"tools":{"bashPolicy":{"defaultBehavior":"deny"}},"policy":{},"memory":{}}`).want(201)
	want := map[string]any{"read": "allow", "write": "ask", "execute": "ask", "network": "ask", "mcp": "ask", "delegate": "ask", "host": "ask"}
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

// TestTheDocumentedExampleIsTaken: the rules of docs/policy.md, sent as a client would.
func TestTheDocumentedExampleIsTaken(t *testing.T) {
	h := newTestServer(t)
	policy, err := json.Marshal(shell.Example)
	must(t, err)
	a := h.ask("POST", "/executions", "{"+valid+`,"tools":{"bashPolicy":`+string(policy)+`}}`).want(201)
	if a.count("tools", "bashPolicy", "rules") != len(shell.Example.Rules) {
		t.Errorf("%s", a.body)
	}
}
