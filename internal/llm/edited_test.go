package llm_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"signoff/internal/domain"
	"signoff/internal/tools"
	"signoff/internal/tools/hosttest"
)

// editedHistory has a call that a person has changed, with its result if there is one.
func editedHistory(result string) []domain.Message {
	call := domain.ToolCall{ID: "c1", Tool: "bash", Arguments: json.RawMessage(`{"command":"mine"}`), Edited: json.RawMessage(`{"command":"theirs"}`)}
	history := []domain.Message{{Role: domain.RoleUser, Text: "Go"}, {Role: domain.RoleAssistant, ToolCalls: []domain.ToolCall{call}}}
	if result != "" {
		note := domain.EditNote(&domain.Actor{Name: "alice"}, call.Edited)
		history = append(history, domain.Message{Role: domain.RoleTool, ToolCallID: "c1", Text: note + result})
	}
	return history
}

// TestALostEditedCallGoesOn as it ran: the policy would otherwise judge what the model wrote, and a person approve it, while something else runs.
func TestALostEditedCallGoesOn(t *testing.T) {
	v := &vendor{replies: []reply{saysOnly("ok")}}
	var asked domain.ToolCall
	host := &hosttest.Host{Command: prints("done"), Grant: func(_ context.Context, call domain.ToolCall) (domain.Grant, error) {
		asked = call
		return domain.Grant{Allowed: true, Arguments: call.Arguments, EditedBy: &domain.Actor{Name: "alice"}}, nil
	}}
	prompt := domain.Prompt{Turn: 1, Rounds: 1, History: editedHistory("")}
	if _, err := open(t, config(v), execution(), tools.Bash{}).Prompt(t.Context(), host, prompt); err != nil {
		t.Fatal(err)
	}
	if string(asked.Arguments) != `{"command":"theirs"}` || asked.Action.Command != "theirs" {
		t.Errorf("asked about %+v", asked)
	}
	sent := v.requests()[0].body.Messages
	want(t, "the model's own call", sent[2].ToolCalls[0].Function.Arguments, `{"command":"mine"}`)
	if !strings.HasPrefix(sent[3].Content, `[alice changed the arguments of this call. What ran instead: {"command":"theirs"}]`+"\n") || !strings.Contains(sent[3].Content, "done") {
		t.Errorf("its result: %q", sent[3].Content)
	}
}

// TestWhatRanStaysSaid when its result is cut to a line: the call stays as well.
func TestWhatRanStaysSaid(t *testing.T) {
	v := &vendor{replies: []reply{answers(400, nil, tooLong), saysOnly("ok")}}
	c := withWindow(v, 0)
	second := domain.ToolCall{ID: "c2", Tool: "bash", Arguments: json.RawMessage(`{"command":"next"}`)}
	history := append(editedHistory(strings.Repeat("y", 40_000)), domain.Message{Role: domain.RoleAssistant, ToolCalls: []domain.ToolCall{second}},
		domain.Message{Role: domain.RoleTool, ToolCallID: "c2", Text: "short"})
	if _, err := open(t, c, execution(), tools.Bash{}).Prompt(t.Context(), &hosttest.Host{}, domain.Prompt{Turn: 1, Rounds: 2, History: history}); err != nil {
		t.Fatal(err)
	}
	got := v.requests()[1].body.Messages[3].Content
	want(t, "the result", got, `[alice changed the arguments of this call. What ran instead: {"command":"theirs"}]`+"\n"+
		`[result of bash, 40,000 bytes, left out; it began: `+strings.Repeat("y", 79)+`…]`)
}
