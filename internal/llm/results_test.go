package llm_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"signoff/internal/domain"
	"signoff/internal/tools"
	"signoff/internal/tools/hosttest"
)

// found is a history whose newest call has this result.
func found(result string) domain.Prompt {
	call := domain.ToolCall{ID: "call_1", Tool: "bash", Arguments: json.RawMessage(`{"command":"cat log"}`)}
	return domain.Prompt{Turn: 1, Rounds: 1, History: []domain.Message{
		{Role: domain.RoleUser, Text: "Go"}, {Role: domain.RoleAssistant, ToolCalls: []domain.ToolCall{call}},
		{Role: domain.RoleTool, ToolCallID: "call_1", Text: result},
	}}
}

// sentResult is the result as a model with this window is sent it.
func sentResult(t *testing.T, window int, result string, list ...tools.Tool) string {
	t.Helper()
	v := &vendor{replies: []reply{saysOnly("ok")}}
	if _, err := open(t, withWindow(v, window), execution(), list...).Prompt(t.Context(), &hosttest.Host{}, found(result)); err != nil {
		t.Fatal(err)
	}
	return v.requests()[0].body.Messages[3].Content
}

func numbered(lines int) string {
	var text strings.Builder
	for i := range lines {
		fmt.Fprintf(&text, "line %d\n", i+1)
	}
	return text.String()
}

var offsetOf = regexp.MustCompile(`(?s)^(.*)\n\n\[… The middle of this result is left out here: .*the path "output:call_1", the offset (\d+) and a small limit. …\]\n\n(.*)$`)

// TestOneResultTakesAQuarterOfTheWindow, and the model is told how to read on from where its beginning ends.
func TestOneResultTakesAQuarterOfTheWindow(t *testing.T) {
	text := numbered(50_000)
	for _, window := range []int{3000, 8000, 100_000} {
		sent := sentResult(t, window, text)
		parts := offsetOf.FindStringSubmatch(sent)
		if len(sent) > window || len(sent) < window/2 || parts == nil {
			t.Fatalf("of %d tokens: %d bytes: %.200s", window, len(sent), sent)
		}
		begins, offset, ends := parts[1], parts[2], parts[3]
		line, _ := strconv.Atoi(offset)
		if !strings.HasPrefix(text, begins) || !strings.HasSuffix(text, ends) || line != 1+strings.Count(begins, "\n") {
			t.Errorf("of %d tokens: it goes on at line %d after %q", window, line, begins[len(begins)-20:])
		}
	}
	want(t, "without a window", sentResult(t, 0, text), text)
	want(t, "a short one", sentResult(t, 8000, "short"), "short")
	if sent := sentResult(t, 8000, text, tools.Bash{}); strings.Contains(sent, "the tool read") || !strings.Contains(sent, "Ask for less at once.") {
		t.Error("a model without the tool read is told to use it")
	}
}

// TestAResultThatIsCutTwice goes on from the first cut: behind it, lines of the result are others than those of the log.
func TestAResultThatIsCutTwice(t *testing.T) {
	whole := numbered(50_000)
	cut := whole[:2000] + "[… 9 bytes left out here. To see them, use the tool read with the path \"output:call_1\" and the offset 250.]\n" + whole[len(whole)-9000:]
	parts := offsetOf.FindStringSubmatch(sentResult(t, 8000, cut))
	if parts == nil || !strings.HasPrefix(whole, parts[1]) || parts[2] != strconv.Itoa(1+strings.Count(parts[1], "\n")) {
		t.Errorf("%q", parts)
	}
}

// TestControlCharactersOfResultsAreHarmless for the model, while people see them as they are.
func TestControlCharactersOfResultsAreHarmless(t *testing.T) {
	v := &vendor{replies: []reply{streams(callsBash(0, "ls"), ends("tool_calls"), done), saysOnly("ok")}}
	host := &hosttest.Host{Command: prints("\x1b[31mred\x1b[0m \x00\x07\tok\r\n")}
	if _, err := ask(t, v, host); err != nil {
		t.Fatal(err)
	}
	want(t, "the model", v.requests()[1].body.Messages[3].Content, "␛[31mred␛[0m ␀␇\tok\r\n")
	want(t, "people", hosttest.Of[domain.ToolCallCompleted](host)[0].Output, "\x1b[31mred\x1b[0m \x00\x07\tok\r\n")
}
