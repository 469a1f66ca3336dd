package llm

import (
	"encoding/json"
	"strings"
	"testing"

	"signoff/internal/domain"
	"signoff/internal/tools"
)

// hides stands for the masking of the secret hunter"2, and of s3cret.
var hides = mask(strings.NewReplacer(`hunter"2`, "[secret A]", "s3cret", "[secret B]").Replace)

func TestMaskOfJSON(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"nothing to hide", `{"command": "ls \u0061"}`, `{"command": "ls \u0061"}`},
		{"plain", `{"command":"echo s3cret"}`, `{"command":"echo [secret B]"}`},
		{"with a quote", `{"command":"echo hunter\"2"}`, `{"command":"echo [secret A]"}`},
		{"escaped", `{"command":"echo \u00733cret"}`, `{"command":"echo [secret B]"}`},
		{"in a name", `{"\u00733cret":1}`, `{"[secret B]":1}`},
		{"in the first of two fields of one name", `{"a":"\u00733cret","a":"x"}`, `{"a":"[secret B]","a":"x"}`},
		{"no JSON", `{"command": s3cret`, `{"command": [secret B]`},
		{"broken text", `{"a":"\uZZZZ s3cret"}`, `{"a":"\uZZZZ [secret B]"}`},
		{"empty", ``, ``},
	}
	for _, test := range tests {
		if got := hides.json(test.in); got != test.want {
			t.Errorf("%s: got %s, want %s", test.name, got, test.want)
		}
	}
}

func TestMaskOfAMessage(t *testing.T) {
	original := []domain.Message{
		{Text: "s3cret", Thought: "s3cret", Thinking: json.RawMessage(`{"blocks":["\u00733cret"]}`),
			ToolCalls: []domain.ToolCall{{ID: "1", Arguments: json.RawMessage(`{"a":"s3cret"}`)}}},
		{Thinking: json.RawMessage(`{"blocks":["signed"]}`)},
	}
	masked := hides.messages(original)
	if m := masked[0]; m.Text != "[secret B]" || m.Thought != "[secret B]" || m.Thinking != nil || string(m.ToolCalls[0].Arguments) != `{"a":"[secret B]"}` {
		t.Errorf("masked: %+v", m)
	}
	if string(masked[1].Thinking) != `{"blocks":["signed"]}` {
		t.Error("a thought without a secret was lost")
	}
	if string(original[0].ToolCalls[0].Arguments) != `{"a":"s3cret"}` {
		t.Error("the history itself was changed")
	}
}

func TestMaskOfAResult(t *testing.T) {
	got := hides.result(tools.Result{Output: "s3cret", Failure: &domain.Failure{Code: domain.CodeToolFailed, Message: "s3cret"}})
	if got.Output != "[secret B]" || got.Failure.Message != "[secret B]" || got.Failure.Code != domain.CodeToolFailed {
		t.Errorf("got %+v", got)
	}
}
