package llm

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
)

type plainSink struct{ text string }

func (s *plainSink) Text(t string) error            { s.text += t; return nil }
func (s *plainSink) Thought(t string) error         { return nil }
func (s *plainSink) Thinking(json.RawMessage) error { return nil }

// What was reported once is not taken back by a field that is no report.
func TestUsageIsNotTakenBack(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, data := range []string{
			`{"choices":[{"delta":{"content":"hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":5,"completion_tokens":2}}`,
			`{"choices":[],"usage":""}`, `{"choices":[{"delta":{"tool_calls":[0]}}]}`, `[DONE]`} {
			fmt.Fprintf(w, "data: %s\n\n", data)
		}
	}))
	defer server.Close()
	config, err := Config{Models: map[string]Model{"m": {Provider: ProviderOpenAI, Model: "m", BaseURL: server.URL}}}.normalized()
	if err != nil {
		t.Fatal(err)
	}
	sink := &plainSink{}
	got, err := newOpenAI("m", config.Models["m"], config).Stream(context.Background(), request{}, sink)
	if err != nil || got.usage.InputTokens == nil || len(got.calls) != 0 {
		t.Errorf("%v, usage %v, %d calls", err, got.usage.InputTokens, len(got.calls))
	}
}
