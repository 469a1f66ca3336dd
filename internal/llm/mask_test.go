package llm

import (
	"encoding/json"
	"strings"
	"testing"

	"signoff/internal/domain"
	"signoff/internal/llm/provider"
	"signoff/internal/secrets"
	"signoff/internal/tools"
)

// hides masks the secret s3cret-value, and one with a quote and a line break in it.
var hides = mask{secrets.NewMasker("s3cret-value", "hunter\"2\nhunter")}

func TestMaskOfAMessage(t *testing.T) {
	original := []domain.Message{
		{Text: "s3cret-value", Thought: "s3cret-value", State: json.RawMessage(`{"blocks":["\u00733cret-value"]}`),
			ToolCalls: []domain.ToolCall{{ID: "1", Arguments: json.RawMessage(`{"a":"s3cret-value"}`)}}},
		{State: json.RawMessage(`{"blocks":["signed"]}`)},
	}
	masked := hides.messages(original)
	if m := masked[0]; m.Text != "[masked]" || m.Thought != "[masked]" || m.State != nil || string(m.ToolCalls[0].Arguments) != `{"a":"[masked]"}` {
		t.Errorf("masked: %+v", m)
	}
	if string(masked[1].State) != `{"blocks":["signed"]}` {
		t.Error("a thought without a secret was lost")
	}
	if string(original[0].ToolCalls[0].Arguments) != `{"a":"s3cret-value"}` {
		t.Error("the history itself was changed")
	}
}

func TestMaskOfAResult(t *testing.T) {
	got := hides.result(tools.Result{Output: "s3cret-value", Failure: &domain.Failure{Code: domain.CodeToolFailed, Message: "s3cret-value"}})
	if got.Output != "[masked]" || got.Failure.Message != "[masked]" || got.Failure.Code != domain.CodeToolFailed {
		t.Errorf("got %+v", got)
	}
}

// TestASecretInACallIsFound, however it is written; then nobody is asked about the call, and the log has it masked.
func TestASecretInACallIsFound(t *testing.T) {
	there := &toolset{registry: tools.NewRegistry(tools.Bash{}), definitions: []tools.Definition{tools.Bash{}.Definition()}}
	calls := &runner{mask: hides, tools: there, execution: &domain.Execution{}}
	for _, test := range []struct {
		name, written, logged string
		code                  domain.Code
	}{
		{"none", `{"command": "ls \u0061"}`, `{"command": "ls \u0061"}`, ""},
		{"plain", `{"command":"echo s3cret-value"}`, `{"command":"echo [masked]"}`, domain.CodeSecretExposed},
		{"with a quote", `{"command":"echo hunter\"2\nhunter"}`, `{"command":"echo [masked]"}`, domain.CodeSecretExposed},
		{"escaped", `{"command":"echo \u00733cret-value"}`, `{"command":"echo [masked]"}`, domain.CodeSecretExposed},
		{"in a name", `{"\u00733cret-value":1}`, `{"[masked]":1}`, domain.CodeSecretExposed},
		{"in the first of two fields of one name", `{"command":"\u00733cret-value","command":"x"}`, `{"command":"[masked]","command":"x"}`, domain.CodeSecretExposed},
		{"no JSON", `{"command": s3cret-value`, `"{\"command\": [masked]"`, domain.CodeSecretExposed},
		{"too long, and at the cut", `{"command":"` + strings.Repeat("x", 985) + `s3cret-value` + strings.Repeat("x", maxArgumentBytes) + `"}`,
			`"{\"command\":\"` + strings.Repeat("x", 985) + `[ma…"`, domain.CodeInvalidArguments},
	} {
		call := calls.prepare(provider.Call{Name: "bash", Arguments: test.written}, 0)
		if string(call.Arguments) != test.logged || (call.flaw == nil) != (test.code == "") || call.flaw != nil && domain.CodeOf(call.flaw) != test.code {
			t.Errorf("%s: %v, logged %.1100s", test.name, call.flaw, call.Arguments)
		}
	}
}
