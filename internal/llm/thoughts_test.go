package llm_test

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"signoff/internal/llm"
	"signoff/internal/tools"
	"signoff/internal/tools/hosttest"
)

// anthropicEvents writes events as Anthropic does, with their type as their name.
func anthropicEvents(list ...string) string {
	var body strings.Builder
	for _, data := range list {
		var event struct{ Type string }
		if err := json.Unmarshal([]byte(data), &event); err != nil {
			panic(err)
		}
		body.WriteString("event: " + event.Type + "\ndata: " + data + "\n\n")
	}
	return body.String()
}

// TestARoundOfToolsSendsTheThoughtsBack goes the whole way: answer, call, result, next request.
func TestARoundOfToolsSendsTheThoughtsBack(t *testing.T) {
	type asked struct {
		Thinking map[string]any
		Messages []struct {
			Content []struct{ Type, Data, Signature string }
		}
	}
	var sent []asked
	transport := roundTripper(func(request *http.Request) (*http.Response, error) {
		sent = append(sent, asked{})
		if err := json.NewDecoder(request.Body).Decode(&sent[len(sent)-1]); err != nil {
			return nil, err
		}
		if len(sent) == 1 {
			return streams(anthropicEvents(
				`{"type":"content_block_start","index":0,"content_block":{"type":"redacted_thinking","data":"c2VjcmV0"}}`,
				`{"type":"content_block_stop","index":0}`,
				`{"type":"content_block_start","index":1,"content_block":{"type":"thinking","thinking":"Hm.","signature":"signed=="}}`,
				`{"type":"content_block_stop","index":1}`,
				`{"type":"content_block_start","index":2,"content_block":{"type":"text","text":"I look."}}`,
				`{"type":"content_block_stop","index":2}`,
				`{"type":"content_block_start","index":3,"content_block":{"type":"thinking","thinking":"","signature":"late"}}`,
				`{"type":"content_block_stop","index":3}`,
				`{"type":"content_block_start","index":4,"content_block":{"type":"tool_use","id":"toolu_1","name":"bash","input":{}}}`,
				`{"type":"message_delta","delta":{"stop_reason":"tool_use"}}`,
			))(request)
		}
		return benchReplies["anthropic"].said(request)
	})
	c := llm.Config{
		Models:    map[string]llm.Model{"x": {Provider: "anthropic", Model: "claude-sonnet-4-5", ThinkingTokens: 2000}},
		Transport: transport, Logger: slog.New(slog.DiscardHandler),
	}
	if _, err := open(t, c, execution(), tools.Bash{}).Prompt(t.Context(), &hosttest.Host{}, prompt("Go")); err != nil {
		t.Fatal(err)
	}
	var kept []string
	for _, block := range sent[1].Messages[1].Content {
		kept = append(kept, block.Type+" "+block.Data+block.Signature)
	}
	want(t, "sent back", strings.Join(kept, ", "), "redacted_thinking c2VjcmV0, thinking signed==, text , thinking late, tool_use ")
	want(t, "thinks on", sent[1].Thinking["type"], any("enabled"))
}
