package llm_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"

	"signoff/internal/domain"
	"signoff/internal/llm"
	"signoff/internal/tools"
	"signoff/internal/tools/hosttest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const testKey = "sk-test-0123456789abcdef"

// vendor is a scripted provider: it gives one reply after the other, and keeps what it was asked. It has no socket, so
// that a synctest bubble can hold it.
type vendor struct {
	replies []reply

	mu    sync.Mutex
	asked []asked
}

type reply func(request *http.Request) (*http.Response, error)

// asked is one request as the vendor read it.
type asked struct {
	url, key string
	body     chatRequest
}

type chatRequest struct {
	Model    string
	Messages []struct {
		Role, Content string
		ToolCallID    string `json:"tool_call_id"`
		ToolCalls     []struct {
			ID       string
			Function struct{ Name, Arguments string }
		} `json:"tool_calls"`
	}
	Tools []struct {
		Type     string
		Function struct {
			Name, Description string
			Parameters        json.RawMessage
		}
	}
}

func (v *vendor) RoundTrip(request *http.Request) (*http.Response, error) {
	seen := asked{url: request.URL.String(), key: request.Header.Get("Authorization")}
	if request.Body != nil {
		if err := json.NewDecoder(request.Body).Decode(&seen.body); err != nil {
			return nil, err
		}
		_ = request.Body.Close()
	}
	v.mu.Lock()
	n := len(v.asked)
	v.asked = append(v.asked, seen)
	v.mu.Unlock()
	return v.replies[min(n, len(v.replies)-1)](request)
}

func (v *vendor) requests() []asked {
	v.mu.Lock()
	defer v.mu.Unlock()
	return append([]asked(nil), v.asked...)
}

// answers replies with a status and a body.
func answers(status int, header http.Header, body string) reply {
	return func(request *http.Request) (*http.Response, error) {
		if header == nil {
			header = http.Header{}
		}
		return &http.Response{
			StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
			Header: header, Body: io.NopCloser(strings.NewReader(body)), Request: request,
		}, nil
	}
}

// streams replies with a stream of events; each part is one event's data, or whole lines where it says so itself.
func streams(parts ...string) reply {
	return answers(http.StatusOK, http.Header{"Content-Type": {"text/event-stream"}}, events(parts...))
}

func events(parts ...string) string {
	var body strings.Builder
	for _, part := range parts {
		if strings.HasPrefix(part, "event:") || strings.HasPrefix(part, "data:") {
			body.WriteString(part)
			continue
		}
		body.WriteString("data: " + part + "\n\n")
	}
	return body.String()
}

const done = "[DONE]"

// delta is one chunk with this delta.
func delta(inner string) string {
	return `{"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":` + inner + `,"finish_reason":null}]}`
}

func says(text string) string { return delta(`{"content":` + string(mustJSON(text)) + `}`) }

func ends(reason string) string {
	return `{"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"` + reason + `"}]}`
}

// calls is one chunk with one piece of a tool call.
func calls(piece string) string { return delta(`{"tool_calls":[` + piece + `]}`) }

// callsBash is one chunk with a whole call of bash.
func callsBash(index int, command string) string {
	arguments := mustJSON(string(mustJSON(map[string]string{"command": command})))
	return calls(`{"index":` + string(mustJSON(index)) + `,"id":"x","type":"function","function":{"name":"bash","arguments":` + string(arguments) + `}}`)
}

func mustJSON(v any) []byte {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		panic(err)
	}
	return bytes.TrimSpace(buffer.Bytes())
}

// saysOnly is a vendor's whole answer of one text.
func saysOnly(text string) reply { return streams(says(text), ends("stop"), done) }

func config(transport http.RoundTripper) llm.Config {
	return llm.Config{
		Models: map[string]llm.Model{"test": {
			Provider: "openai", Model: "vendor-model", BaseURL: "http://vendor.test/prefix/v1",
			APIKey: testKey, APIKeyEnv: "TEST_KEY", ContextWindow: 1000,
		}},
		Transport: transport,
		Logger:    slog.New(slog.DiscardHandler),
	}
}

func execution() domain.Execution {
	return domain.Execution{ID: "e", Request: domain.Request{
		Source:           domain.Source{Type: domain.SourceInternal},
		Capabilities:     domain.DefaultCapabilities,
		MaxIterations:    10,
		WorkingDirectory: "/srv/run",
	}}
}

func prompt(text string) domain.Prompt {
	return domain.Prompt{Turn: 1, History: []domain.Message{{Role: domain.RoleUser, Text: text}}}
}

func open(t testing.TB, config llm.Config, e domain.Execution, list ...tools.Tool) domain.Agent {
	t.Helper()
	if list == nil {
		list = []tools.Tool{tools.Bash{}, tools.Read{}}
	}
	registry, err := llm.NewRegistry(config, tools.NewRegistry(list...))
	if err != nil {
		t.Fatal(err)
	}
	e.Request.Source.Model = cmp.Or(e.Request.Source.Model, registry.Default()) // as a request is admitted
	agent, err := registry.Open(t.Context(), domain.Opening{Execution: e})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := agent.Close(); err != nil {
			t.Error(err)
		}
	})
	return agent
}

// ask prompts an agent of the vendor once, in a bubble, so that its waits take no time.
func ask(t *testing.T, v *vendor, host *hosttest.Host) (stop domain.StopReason, err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		stop, err = open(t, config(v), execution()).Prompt(t.Context(), host, prompt("Go"))
		host.Finish(t, true)
	})
	return stop, err
}

func want[V comparable](t testing.TB, what string, got, wanted V) {
	t.Helper()
	if got != wanted {
		t.Errorf("%s: got %v, want %v", what, got, wanted)
	}
}
