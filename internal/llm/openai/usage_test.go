package openai

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"signoff/internal/llm/provider"
	"signoff/internal/llm/provider/providertest"
)

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
	asked := Provider.Open(provider.Model{Name: "m", Model: "m", BaseURL: server.URL}, providertest.Setup(server.Client().Transport))
	got, err := asked.Stream(t.Context(), provider.Request{}, &providertest.Ear{})
	if err != nil || got.Usage.InputTokens == nil || len(got.Calls) != 0 {
		t.Errorf("%v, usage %v, %d calls", err, got.Usage.InputTokens, len(got.Calls))
	}
}
