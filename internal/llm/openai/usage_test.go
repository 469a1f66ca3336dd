package openai

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/llm/provider"
	"signoff/internal/llm/provider/providertest"
)

// TestGeminisThoughts are asked for where the model thinks by itself, and counted in the output.
func TestGeminisThoughts(t *testing.T) {
	for model, want := range map[string]bool{
		"gemini-2.5-pro": true, "gemini-2.5-flash": true, "gemini-3.8-flash": true, "models/gemini-3.1-flash-lite": true, "gemini-10-pro": true,
		"gemini-2.5-flash-lite": false, "gemini-2.0-flash": false, "gemini-3-pro-image": false, "gemma-4": false,
	} {
		for provider, shows := range map[string]bool{"gemini": want, Name: false} {
			var sent string
			asked := geminiAsks(provider, model, `{"prompt_tokens":1469,"completion_tokens":744,"total_tokens":2496}`, &sent)
			got, err := asked.Stream(t.Context(), providertest.SmallRequest(), &providertest.Ear{})
			if err != nil {
				t.Fatal(err)
			}
			if asks := strings.Contains(sent, `"extra_body":{"google":{"thinking_config":{"include_thoughts":true}}}`); asks != shows {
				t.Errorf("%s of %s: asks for thoughts: %v", model, provider, asks)
			}
			output, reasoning := int64(744), (*int64)(nil)
			if provider == "gemini" {
				output, reasoning = 1027, new(int64(283))
			}
			if diff := cmp.Diff([]*int64{&output, reasoning}, []*int64{got.Usage.OutputTokens, got.Usage.ReasoningTokens}); diff != "" {
				t.Errorf("%s of %s: usage (-want +got):\n%s", model, provider, diff)
			}
		}
	}
}

// geminiAsks is a client whose vendor answers with this usage, and what it sends.
func geminiAsks(name, model, usage string, sent *string) provider.Client {
	entry := provider.Model{Name: "m", Provider: name, Model: model, BaseURL: "http://vendor.test"}
	return Provider.Open(entry, providertest.Setup(providertest.Reply(func(request *http.Request) (*http.Response, error) {
		body, err := io.ReadAll(request.Body)
		*sent = string(body)
		if err != nil {
			return nil, err
		}
		return providertest.Stream(wire(providertest.Stopping("stop")) + `data: {"choices":[],"usage":` + usage + "}\n\n")(request)
	})))
}

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
