package tools_test

import (
	"encoding/json"
	"strings"
	"testing"

	"signoff/internal/domain"
	"signoff/internal/tools"
)

func summaryOf(t *testing.T, tool tools.Tool, arguments string) string {
	t.Helper()
	intent, err := tool.Check(json.RawMessage(arguments), "/srv")
	if err != nil {
		t.Fatalf("%s: %v", arguments, err)
	}
	return intent.Summary
}

// TestDelegateSaysWhatIsHandedOver: whom it asks, for what, with which powers, on which terms. Writing is never among the powers by itself.
func TestDelegateSaysWhatIsHandedOver(t *testing.T) {
	dba := domain.DelegateOption{
		Profile: "dba", Source: domain.Source{Type: domain.SourceInternal, Model: "m"},
		Capabilities: domain.Capabilities{
			Read: domain.Allow, Write: domain.Ask, Execute: domain.Deny, Network: domain.Ask, MCP: domain.Deny, Delegate: domain.Deny, Host: domain.Deny,
		},
	}
	coder := domain.DelegateOption{Source: domain.Source{Type: domain.SourceACP, Command: "coder"}, Capabilities: dba.Capabilities}
	tool := tools.NewDelegate(dba, coder)
	for arguments, want := range map[string]string{
		`{"profile": "dba", "prompt": "Look."}`:                                                                        "Ask `dba` (model `m`) to do `Look.`; it may: read, network (asks)",
		`{"profile": "dba", "prompt": "Mend.", "write": true}`:                                                         "Ask `dba` (model `m`) to do `Mend.`; it may: read, write (asks), network (asks)",
		`{"profile": "dba", "prompt": "Mend.", "capabilities": {"write": "allow", "read": "deny", "network": "deny"}}`: "Ask `dba` (model `m`) to do `Mend.`; it may: write",
		`{"source": {"type": "acp", "command": "coder"}, "prompt": "Look.", "wait": false}`:                            "Ask agent `coder` to do `Look.`; it may: read, network (asks); nothing waits for it",
		`{"source": {"type": "acp", "command": "other", "model": "x"}, "prompt": "Look.", "write": true}`:              "Ask agent `other`, model `x` to do `Look.`; it may: write",
		`{"source": {"type": "internal"}, "prompt": "Look.", "context": "items", "tools": ["read", "list"], "environment": "machine"}`: "Ask the server's model to do `Look.`; " +
			"it reads this conversation; its tools: `read, list`; in the environment `machine`",
		`{"profile": "new", "prompt": "Look.", "budget": {"tokens": 10, "cost": 0.5, "toolCalls": 2, "seconds": 9}}`: "Ask `new` to do `Look.`; budget: 10 tokens, a cost of 0.5, 2 tool calls, 9 seconds",
	} {
		if got := summaryOf(t, tool, arguments); got != want {
			t.Errorf("%s:\n%s\nnot\n%s", arguments, got, want)
		}
	}
	told := tool.Agents()
	for _, line := range []string{`- profile "dba" (model ` + "`m`)", `- source {"type":"acp","command":"coder"}`} {
		if !strings.Contains(told, line+"\n") && !strings.HasSuffix(told, line) {
			t.Errorf("no line %s in\n%s", line, told)
		}
	}
	if told := tools.NewDelegate().Agents(); told != "" {
		t.Errorf("nobody is there, and the model reads %q", told)
	}
}

func TestDelegationToolsRefuseWhatContradictsItself(t *testing.T) {
	for arguments, want := range map[string]string{
		`{"prompt": "Look."}`: "says which agent",
		`{"profile": "dba", "source": {"type": "internal"}, "prompt": "Look."}`:               "exclude each other",
		`{"source": {"type": "profile"}, "prompt": "Look."}`:                                  "internal, acp",
		`{"source": {"type": "internal", "settings": {}}, "prompt": "Look."}`:                 `no field "settings"`,
		`{"profile": "dba", "prompt": "x", "write": true, "capabilities": {"write": "deny"}}`: "denies it",
		`{"profile": "dba", "prompt": "x", "capabilities": {"host": "allow"}}`:                "deny, ask",
		`{"profile": "dba", "prompt": "x", "capabilities": {"readFiles": true}}`:              `no field "readFiles"`,
		`{"profile": "dba", "prompt": "x", "budget": {"tokens": 0}}`:                          `"tokens" must be`,
		`{"profile": "dba", "prompt": "x", "budget": {"cost": -1}}`:                           `"cost" must be`,
		`{"profile": "dba", "prompt": "x", "outputSchema": {"type": 5}}`:                      `"outputSchema"`,
		`{"profile": "dba", "prompt": "x", "context": "all"}`:                                 "none, items",
	} {
		_, err := tools.NewDelegate().Check(json.RawMessage(arguments), "/srv")
		if domain.CodeOf(err) != domain.CodeInvalidArguments || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, not %q", arguments, err, want)
		}
	}
	for _, tool := range []tools.Tool{tools.MessageDelegate{}, tools.CancelDelegate{}} {
		if _, err := tool.Check(json.RawMessage(`{"id": "dba", "prompt": "x"}`), "/srv"); domain.CodeOf(err) != domain.CodeInvalidArguments {
			t.Errorf("%s takes a name for an id: %v", tool.Definition().Name, err)
		}
	}
	if _, err := (tools.AwaitDelegates{}).Check(json.RawMessage(`{"ids": ["dba"]}`), "/srv"); domain.CodeOf(err) != domain.CodeInvalidArguments {
		t.Errorf("a name is taken for an id: %v", err)
	}
}

func TestTheOtherDelegationToolsSayWhatTheyDo(t *testing.T) {
	for _, test := range []struct {
		tool            tools.Tool
		arguments, want string
	}{
		{tools.AwaitDelegates{}, `{}`, "Wait for all agents that it has asked"},
		{tools.AwaitDelegates{}, `{"ids": ["` + childID + `"], "mode": "any"}`, "Wait for the first of 1 of the agents that it has asked"},
		{tools.MessageDelegate{}, `{"id": "` + childID + `", "prompt": "And?"}`, "Ask the agent `" + childID + "` to go on with `And?`"},
		{tools.CancelDelegate{}, `{"id": "` + childID + `", "reason": "late"}`, "Cancel the agent `" + childID + "` and all that it has delegated, because `late`"},
	} {
		if got := summaryOf(t, test.tool, test.arguments); got != test.want {
			t.Errorf("%s, not %s", got, test.want)
		}
	}
}
