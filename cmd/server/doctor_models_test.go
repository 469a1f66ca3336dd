package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
)

// modelServer speaks chat completions. Its model "able" calls the tool that it is given and then answers; "mute" calls none; and it has no others.
func modelServer(t *testing.T, requests *atomic.Int32) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer k3y-of-the-test" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if r.Method == http.MethodGet {
			_, _ = io.WriteString(w, `{"data":[{"id":"able"},{"id":"mute"}]}`)
			return
		}
		requests.Add(1)
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		say := func(delta, finish string) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, `data: {"choices":[{"index":0,"delta":%s,"finish_reason":"%s"}],"usage":{"prompt_tokens":100,"completion_tokens":10,"total_tokens":110}}`+"\n\n", delta, finish)
		}
		switch asked := string(body); {
		case strings.Contains(asked, `"model":"able"`) && !strings.Contains(asked, `"role":"tool"`):
			say(`{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"think","arguments":"{\"thought\":\"ready\"}"}}]}`, "tool_calls")
		case strings.Contains(asked, `"model":"able"`), strings.Contains(asked, `"model":"mute"`):
			say(`{"content":"done"}`, "stop")
		default:
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"error":{"message":"The model does not exist."}}`)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// TestDoctorAsksModels for a call of a tool, each whose server answers, but not where it is told to ask none.
func TestDoctorAsksModels(t *testing.T) {
	t.Setenv("TEST_MODEL_KEY", "k3y-of-the-test")
	t.Setenv("TEST_OTHER_KEY", "0ther-k3y")
	var requests atomic.Int32
	at := modelServer(t, &requests)
	entry := func(name, model, key string) string {
		return "  " + name + ": {provider: openai, model: " + model + ", baseUrl: " + at + ", apiKeyEnv: " + key + "}\n"
	}
	config := "models:\n  default: able\n  demo: {provider: demo}\n" + entry("able", "able", "TEST_MODEL_KEY") + entry("mute", "mute", "TEST_MODEL_KEY") +
		entry("gone", "abler", "TEST_MODEL_KEY") + entry("locked", "able", "TEST_OTHER_KEY") + entry("keyless", "able", "TEST_NO_KEY")

	out, err := doctorWith(t, config)
	if err == nil || err.Error() != "a configured part does not work" {
		t.Error(err)
	}
	for _, line := range []string{
		`ok    model able             openai able: answers, calls tools, takes the result back \(\d+\.\d s, 220 tokens\)`,
		`ok    model demo             demo`,
		`FAIL  model mute             Model "mute" answers, but does not call tools, so it cannot be an agent; choose one with tool support\.`,
		`FAIL  model gone             The provider of model "gone" answered 404: The model does not exist\. It does not list a model "abler"; it lists able, mute\.`,
		`FAIL  model locked           The provider does not accept the key\.`,
		`FAIL  model keyless          The environment variable TEST_NO_KEY is empty\.`,
	} {
		if !regexp.MustCompile(`(?m)^` + line + `$`).MatchString(out) {
			t.Errorf("%s\nis not in\n%s", line, out)
		}
	}
	if n := requests.Swap(0); n != 4 {
		t.Errorf("%d requests", n)
	}

	out, _ = doctorWith(t, config, "--no-requests")
	if n := requests.Load(); n != 0 || !strings.Contains(out, "ok    model mute             openai mute\n") || !strings.Contains(out, "FAIL  model locked") {
		t.Errorf("%d requests\n%s", n, out)
	}
}
