package llm

import (
	"encoding/json"
	"strings"
	"testing"

	"signoff/internal/domain"
)

// TestThinkingOfOldTurnsGoesWithTheirResults: within a turn a provider may insist on it.
func TestThinkingOfOldTurnsGoesWithTheirResults(t *testing.T) {
	answer := func(id string) []domain.Message {
		return []domain.Message{
			{Role: domain.RoleAssistant, Thinking: json.RawMessage(`"` + id + `"`), ToolCalls: []domain.ToolCall{{ID: id, Tool: "bash"}}},
			{Role: domain.RoleTool, ToolCallID: id, Text: strings.Repeat(id, 1000)},
		}
	}
	history := []domain.Message{{Role: domain.RoleUser, Text: "one"}}
	history = append(append(history, answer("a")...), answer("b")...)
	history = append(history, domain.Message{Role: domain.RoleUser, Text: "two"})
	history = append(append(history, answer("c")...), answer("d")...)
	identity := func(text string) string { return text }
	t1 := &turn{history: history, agent: &agent{mask: identity, shortened: map[string]bool{"a": true, "c": true, "d": true}}}
	var kept []string
	for _, message := range t1.view() {
		kept = append(kept, string(message.Thinking))
	}
	if got := strings.Join(kept, ","); got != `,,,"b",,,"c",,"d",` {
		t.Errorf("thinking: %s", got)
	}
	if view := t1.view(); !strings.HasPrefix(view[7].Text, "[result of bash, 1,000 bytes") || view[9].Text != strings.Repeat("d", 1000) {
		t.Errorf("results: %.60q and %.60q", view[7].Text, view[9].Text)
	}
	if string(history[1].Thinking) != `"a"` || len(history[2].Text) != 1000 {
		t.Error("the history itself was changed")
	}
}

func TestGrouped(t *testing.T) {
	for n, want := range map[int]string{0: "0", 12: "12", 999: "999", 1000: "1,000", 12345: "12,345", 1234567: "1,234,567"} {
		if got := grouped(n); got != want {
			t.Errorf("%d: %s", n, got)
		}
	}
}
