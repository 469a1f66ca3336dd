package llm_test

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"testing"

	"github.com/tidwall/gjson"

	"signoff/internal/domain"
	"signoff/internal/llm"
	"signoff/internal/llm/provider/providertest"
	"signoff/internal/tools"
	"signoff/internal/tools/hosttest"
)

// schemaless is a vendor that does not know schemas of answers, if it refuses them; it keeps what it was asked.
type schemaless struct {
	*providertest.Mock
	refuses bool
	bodies  []string
}

// RoundTrip implements http.RoundTripper.
func (s *schemaless) RoundTrip(request *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return nil, err
	}
	s.bodies = append(s.bodies, string(body))
	if s.refuses && bytes.Contains(body, []byte("json_schema")) {
		return answers(http.StatusBadRequest, nil, `{"error":{"message":"response format json_schema is not supported by this model"}}`)(request)
	}
	request.Body = io.NopCloser(bytes.NewReader(body))
	return s.Mock.RoundTrip(request)
}

// TestAnAnswerIsHeldToItsSchema by the vendor, where the vendor can: in the field, and in the form, that it documents.
func TestAnAnswerIsHeldToItsSchema(t *testing.T) {
	const (
		chat      = "response_format.json_schema.schema"
		items     = "text.format.schema"
		messages  = "output_config.format.schema"
		closed    = `{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`
		sent      = `{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false}`
		optional  = `{"type":"object","properties":{"n":{"type":"integer"}}}`
		optionals = `{"type":"object","properties":{"n":{"type":"integer"}},"additionalProperties":false}`
		open      = `{"type":"object","additionalProperties":{"type":"string"}}`
	)
	wholes := map[string]string{
		"response_format": `{"json_schema":{"name":"answer","strict":true,"schema":` + sent + `},"type":"json_schema"}`,
		"text":            `{"format":{"type":"json_schema","name":"answer","strict":true,"schema":` + sent + `}}`,
		"output_config":   `{"format":{"type":"json_schema","schema":` + sent + `}}`,
	}
	for name, test := range map[string]struct {
		provider, address, model string
		mock                     providertest.MockDialect
		field, schema, sent      string
		tools                    bool
	}{
		"OpenAI":                    {"openai", "https://api.openai.com/v1", "gpt-5", providertest.MockMistral, chat, closed, sent, true},
		"OpenAI, optional":          {"openai", "https://api.openai.com/v1", "gpt-5", providertest.MockMistral, chat, optional, "", true},
		"somebody who speaks alike": {"openai", "http://a.test/v1", "m", providertest.MockMistral, chat, closed, "", false},
		"Responses":                 {"openai-responses", "http://a.test/v1", "gpt-5", providertest.MockResponses, items, closed, sent, true},
		"Responses, optional":       {"openai-responses", "http://a.test/v1", "gpt-5", providertest.MockResponses, items, optional, "", true},
		"Claude":                    {"anthropic", "http://a.test/v1", "claude-sonnet-4-5", providertest.MockMessages, messages, closed, sent, true},
		"Claude, optional":          {"anthropic", "http://a.test/v1", "claude-opus-4-6", providertest.MockMessages, messages, optional, optionals, true},
		"Claude, open":              {"anthropic", "http://a.test/v1", "claude-opus-4-6", providertest.MockMessages, messages, open, "", true},
		"an older Claude":           {"anthropic", "http://a.test/v1", "claude-sonnet-4-20250514", providertest.MockMessages, messages, closed, "", true},
		"Gemini":                    {"gemini", "", "gemini-2.5-pro", providertest.MockGemini, chat, optional, optionals, false},
		"Gemini with tools":         {"gemini", "", "gemini-2.5-pro", providertest.MockGemini, chat, closed, "", true},
		"a newer Gemini with tools": {"gemini", "", "gemini-3-pro", providertest.MockGemini, chat, closed, sent, true},
		"Mistral":                   {"mistral", "", "m", providertest.MockMistral, chat, closed, sent, false},
		"Mistral with tools":        {"mistral", "", "m", providertest.MockMistral, chat, closed, "", true},
		"OpenRouter":                {"openrouter", "", "m", providertest.MockOpenRouter, chat, closed, sent, false},
		"vLLM":                      {"vllm", "", "m", providertest.MockMistral, chat, closed, sent, false},
		"Ollama with tools":         {"ollama", "", "m", providertest.MockMistral, chat, closed, "", true},
		"Azure":                     {"azure", "http://a.test/v1", "m", providertest.MockMistral, chat, closed, sent, true},
		"DeepSeek":                  {"deepseek", "", "m", providertest.MockDeepSeek, chat, closed, "", false},
		"Kimi":                      {"kimi", "", "m", providertest.MockKimi, chat, closed, "", false},
		"GLM":                       {"glm", "", "m", providertest.MockGLM, chat, closed, "", false},
		"Groq":                      {"groq", "", "m", providertest.MockMistral, chat, closed, "", false},
	} {
		for _, refuses := range []bool{false, true} {
			dialect := test.mock
			if dialect.Name == "mistral" && test.provider != "mistral" {
				dialect = providertest.MockGLM
			}
			vendor := &schemaless{Mock: &providertest.Mock{Dialect: dialect, Model: test.model}, refuses: refuses}
			config := llm.Config{Retry: -1, Transport: vendor, Logger: slog.New(slog.DiscardHandler), Models: map[string]llm.Model{
				"a": {Provider: test.provider, Model: test.model, BaseURL: test.address, APIKey: "k"},
			}}
			wanted := execution()
			wanted.Request.OutputSchema = json.RawMessage(test.schema)
			var list []tools.Tool
			if test.tools {
				list = []tools.Tool{tools.Bash{}}
			}
			_, err := openWith(t, config, wanted, list).Prompt(t.Context(), &hosttest.Host{Command: prints("ok")}, prompt("Go"))
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			schemas := 0
			for _, body := range vendor.bodies {
				if found := gjson.Get(body, test.field); found.Exists() {
					schemas++
					want(t, name, found.Raw, test.sent)
				}
			}
			wants := 0
			switch {
			case test.sent != "" && refuses:
				wants = 1 // it is not sent again
			case test.sent != "":
				wants = len(vendor.bodies)
			}
			want(t, name+": requests with a schema", schemas, wants)
			for field, whole := range wholes {
				if found := gjson.Get(vendor.bodies[0], field); found.Exists() && test.sent == sent {
					want(t, name+": "+field, found.Raw, whole)
				}
			}
		}
	}
}

// openWith opens an agent with exactly these tools.
func openWith(t *testing.T, config llm.Config, e domain.Execution, list []tools.Tool) domain.Agent {
	t.Helper()
	registry, err := llm.NewRegistry(config, tools.NewRegistry(list...))
	if err != nil {
		t.Fatal(err)
	}
	e.Request.Source.Model = registry.Default()
	agent, err := registry.Open(t.Context(), domain.Opening{Execution: e})
	if err != nil {
		t.Fatal(err)
	}
	return agent
}
