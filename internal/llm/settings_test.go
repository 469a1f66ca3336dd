package llm_test

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/domain"
	"signoff/internal/llm"
	"signoff/internal/llm/provider"
	"signoff/internal/llm/provider/providertest"
	"signoff/internal/tools"
	"signoff/internal/tools/hosttest"
)

// listener keeps what it is sent, and answers with a status and a body.
type listener struct {
	status int
	answer string

	mu      sync.Mutex
	bodies  []string
	headers []http.Header
}

// RoundTrip implements [http.RoundTripper].
func (l *listener) RoundTrip(request *http.Request) (*http.Response, error) {
	var body []byte
	if request.Body != nil {
		var err error
		if body, err = io.ReadAll(request.Body); err != nil {
			return nil, err
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.bodies, l.headers = append(l.bodies, string(body)), append(l.headers, request.Header.Clone())
	return answers(l.status, nil, l.answer)(request)
}

// asksWith has one model asked with settings, and returns what its vendor was sent, and how the turn ended.
func asksWith(t *testing.T, model llm.Model, settings string, vendor *listener, list ...tools.Tool) (sent map[string]json.RawMessage, err error) {
	t.Helper()
	c := config(vendor)
	model.APIKey, model.APIKeyEnv = testKey, "TEST_KEY"
	c.Models["test"] = model
	e := execution()
	e.Request.Source.Settings = &domain.ModelSettings{}
	providertest.Decode(t, []byte(settings), e.Request.Source.Settings)
	synctest.Test(t, func(t *testing.T) {
		_, err = openWith(t, c, e, list).Prompt(t.Context(), &hosttest.Host{}, prompt("Go"))
	})
	if len(vendor.bodies) == 0 {
		t.Fatalf("%s %s was not asked: %v", model.Provider, model.Model, err)
	}
	providertest.Decode(t, []byte(vendor.bodies[0]), &sent)
	return sent, err
}

// registryOf is a registry of one model.
func registryOf(t *testing.T, model llm.Model, transport http.RoundTripper) *llm.Registry {
	t.Helper()
	c := config(transport)
	model.APIKey = testKey
	c.Models["test"] = model
	registry, err := llm.NewRegistry(c, tools.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	return registry
}

// notSettings are the fields of requests that are about something else.
var notSettings = []string{"model", "messages", "input", "instructions", "system", "stream", "stream_options", "store", "include", "tools", "prompt_cache_key"}

// settingsOnTheWire is what each vendor is sent for settings that it has; the documents that say so stand with the table of vendors.
var settingsOnTheWire = []struct{ provider, address, model, settings, want string }{
	{"openai", "", "gpt-5", `{"effort":"xhigh","maxOutputTokens":9000,"temperature":0.5,"seed":7,"parallelToolCalls":false}`,
		`{"reasoning_effort":"xhigh","max_completion_tokens":9000,"temperature":0.5,"seed":7,"parallel_tool_calls":false}`},
	{"azure", "http://a.test/v1", "gpt-5", `{"effort":"none","maxOutputTokens":9000}`, `{"reasoning_effort":"none","max_completion_tokens":9000}`},
	{"openai", "http://unknown.test/v1", "m", `{"effort":"max","maxOutputTokens":9000,"temperature":0,"seed":-1,"parallelToolCalls":true}`,
		`{"reasoning_effort":"max","max_tokens":9000,"temperature":0,"seed":-1,"parallel_tool_calls":true}`},
	{"openai", "http://unknown.test/v1", "m", `{}`, `{}`},
	{"gemini", "", "gemini-3-pro", `{"effort":"max","maxOutputTokens":9000,"temperature":2}`,
		`{"extra_body":{"google":{"thinking_config":{"include_thoughts":true,"thinking_level":"high"}}},"max_tokens":9000,"temperature":2}`},
	{"gemini", "", "gemini-3-flash", `{"effort":"none"}`, `{"reasoning_effort":"none"}`},
	{"gemini", "", "gemini-2.5-pro", `{}`, `{"extra_body":{"google":{"thinking_config":{"include_thoughts":true}}}}`},
	{"gemini", "", "gemini-2.5-pro", `{"effort":"low"}`, `{"reasoning_effort":"low"}`},
	{"deepseek", "", "deepseek-v4", `{"effort":"medium","maxOutputTokens":9000}`, `{"thinking":{"type":"enabled"},"reasoning_effort":"medium","max_tokens":9000}`},
	{"deepseek", "", "deepseek-v4", `{"effort":"none","temperature":0.5}`, `{"thinking":{"type":"disabled"},"temperature":0.5}`},
	{"kimi", "", "kimi-k3", `{"effort":"medium","maxOutputTokens":9000}`, `{"reasoning_effort":"high","max_completion_tokens":9000}`},
	{"kimi", "", "kimi-k3.1-pro", `{"effort":"xhigh"}`, `{"reasoning_effort":"max"}`},
	{"kimi", "", "kimi-k2.6", `{"effort":"none"}`, `{"thinking":{"type":"disabled"}}`},
	{"kimi", "", "kimi-k2.5", `{"effort":"low"}`, `{"thinking":{"type":"enabled"}}`},
	{"kimi", "", "moonshot-v1-8k", `{"temperature":0.5}`, `{"temperature":0.5}`},
	{"glm", "", "glm-5.3", `{}`, `{"thinking":{"type":"enabled","clear_thinking":false}}`},
	{"glm", "", "glm-5.3", `{"effort":"minimal"}`, `{"thinking":{"type":"enabled","clear_thinking":false},"reasoning_effort":"low"}`},
	{"glm", "", "glm-5.2", `{"effort":"xhigh","maxOutputTokens":9000}`,
		`{"thinking":{"type":"enabled","clear_thinking":false},"reasoning_effort":"xhigh","max_tokens":9000}`},
	{"glm", "", "glm-5.2", `{"effort":"none"}`, `{"thinking":{"type":"disabled"}}`},
	{"glm", "", "glm-4.7", `{"effort":"medium","temperature":0.5}`, `{"thinking":{"type":"enabled","clear_thinking":false},"temperature":0.5}`},
	{"glm", "", "glm-4.5-air", `{}`, `{}`},
	{"glm", "", "glm-4.5-air", `{"effort":"high"}`, `{"thinking":{"type":"enabled"}}`},
	{"mistral", "", "mistral-medium", `{"effort":"max","maxOutputTokens":9000,"temperature":0.5,"seed":7,"parallelToolCalls":false}`,
		`{"reasoning_effort":"xhigh","max_tokens":9000,"temperature":0.5,"random_seed":7,"parallel_tool_calls":false}`},
	{"groq", "", "openai/gpt-oss-120b", `{"effort":"minimal","maxOutputTokens":9000,"seed":7}`, `{"reasoning_effort":"low","max_completion_tokens":9000,"seed":7}`},
	{"openrouter", "", "a/b", `{"effort":"xhigh","maxOutputTokens":9000,"parallelToolCalls":true}`,
		`{"reasoning":{"effort":"xhigh"},"max_tokens":9000,"parallel_tool_calls":true}`},
	{"ollama", "", "qwen3", `{"effort":"none","maxOutputTokens":9000,"seed":7}`, `{"reasoning_effort":"none","max_tokens":9000,"seed":7}`},
	{"vllm", "", "m", `{"effort":"max","parallelToolCalls":false}`, `{"reasoning_effort":"max","parallel_tool_calls":false}`},
	{"lmstudio", "", "m", `{"temperature":0.5,"maxOutputTokens":9000}`, `{"temperature":0.5,"max_tokens":9000}`},
	{"openai-responses", "", "gpt-5", `{"effort":"low","maxOutputTokens":9000,"temperature":0.5,"parallelToolCalls":false}`,
		`{"reasoning":{"effort":"low","summary":"auto"},"max_output_tokens":9000,"temperature":0.5,"parallel_tool_calls":false}`},
	{"openai-responses", "", "gpt-5", `{"effort":"none"}`, `{"reasoning":{"effort":"none"}}`},
	{"openai-responses", "", "gpt-5", `{}`, `{}`},
	{"anthropic", "", "claude-opus-4-6", `{"effort":"xhigh","parallelToolCalls":false}`,
		`{"max_tokens":30720,"thinking":{"type":"adaptive","display":"summarized"},"output_config":{"effort":"max"},"tool_choice":{"type":"auto","disable_parallel_tool_use":true}}`},
	{"anthropic", "", "claude-opus-4-7", `{"effort":"minimal","maxOutputTokens":9000}`,
		`{"max_tokens":9000,"thinking":{"type":"adaptive","display":"summarized"},"output_config":{"effort":"low"}}`},
	{"anthropic", "", "claude-opus-4-6", `{"effort":"none","temperature":0.5}`, `{"max_tokens":8192,"temperature":0.5}`},
	{"anthropic", "", "claude-haiku-5-5", `{"effort":"none"}`, `{"max_tokens":8192,"thinking":{"type":"disabled"}}`},
	{"anthropic", "", "claude-sonnet-4-5", `{"effort":"medium","parallelToolCalls":true}`,
		`{"max_tokens":16384,"thinking":{"type":"enabled","budget_tokens":8192},"tool_choice":{"type":"auto","disable_parallel_tool_use":false}}`},
	{"anthropic", "", "claude-sonnet-4-5", `{"effort":"high","maxOutputTokens":9000}`, `{"max_tokens":9000,"thinking":{"type":"enabled","budget_tokens":4500}}`},
	{"anthropic", "", "claude-sonnet-4-5", `{"effort":"high","maxOutputTokens":1000,"temperature":1}`, `{"max_tokens":1000,"temperature":1}`},
}

func TestSettingsOnTheWire(t *testing.T) {
	for _, row := range settingsOnTheWire {
		model := llm.Model{Provider: row.provider, Model: row.model, BaseURL: row.address}
		registry := registryOf(t, model, &listener{})
		source := domain.Source{Settings: &domain.ModelSettings{}}
		providertest.Decode(t, []byte(row.settings), source.Settings)
		if err := registry.CheckSettings(source, "/source/settings"); err != nil {
			t.Errorf("%s %s: %v", row.provider, row.model, err)
		}
		sent, _ := asksWith(t, model, row.settings, &listener{status: http.StatusForbidden}, tools.Bash{})
		maps.DeleteFunc(sent, func(name string, _ json.RawMessage) bool { return slices.Contains(notSettings, name) })
		var got, wanted any
		providertest.Decode(t, mustJSON(sent), &got)
		providertest.Decode(t, []byte(row.want), &wanted)
		if diff := cmp.Diff(wanted, got); diff != "" {
			t.Errorf("%s %s with %s (-want +got):\n%s", row.provider, row.model, row.settings, diff)
		}
	}
}

// TestWithoutToolsNothingIsSaidOfTheirCalls: OpenAI and Anthropic refuse that.
func TestWithoutToolsNothingIsSaidOfTheirCalls(t *testing.T) {
	for name, field := range map[string]string{"openai": "parallel_tool_calls", "openai-responses": "parallel_tool_calls", "anthropic": "tool_choice"} {
		sent, _ := asksWith(t, llm.Model{Provider: name, Model: "m"}, `{"parallelToolCalls":false}`, &listener{status: http.StatusForbidden})
		want(t, name+" is told of calls", sent[field] != nil, false)
	}
}

// TestSettingsThatAreRefused: what a vendor is known not to have, and what the operator keeps, is refused, also of a fallback. The message has what can be set.
func TestSettingsThatAreRefused(t *testing.T) {
	only := func(names ...string) *[]string { return &names }
	models := map[string]llm.Model{
		"demo":     {Provider: "demo"},
		"free":     {Provider: "openai", Model: "m", BaseURL: "http://unknown.test/v1"},
		"bounded":  {Provider: "openai", Model: "m", BaseURL: "http://unknown.test/v1", MaxOutputTokens: 4096, MaxEffort: "low"},
		"window":   {Provider: "openai", Model: "m", BaseURL: "http://unknown.test/v1", ContextWindow: 1000},
		"closed":   {Provider: "openai", Model: "m", BaseURL: "http://unknown.test/v1", RequestSettings: only()},
		"partly":   {Provider: "openai", Model: "m", BaseURL: "http://unknown.test/v1", RequestSettings: only("effort", "seed")},
		"k3":       {Provider: "kimi", Model: "kimi-k3"},
		"coder":    {Provider: "kimi", Model: "kimi-k2.7-code"},
		"fable":    {Provider: "anthropic", Model: "claude-fable-5"},
		"thinking": {Provider: "anthropic", Model: "claude-sonnet-4-5", ThinkingTokens: 2048},
		"gemini":   {Provider: "openai", Model: "m", BaseURL: "https://generativelanguage.googleapis.com/v1beta/openai"},
		"items":    {Provider: "openai-responses", Model: "m"},
		"claude":   {Provider: "anthropic", Model: "claude-opus-4-7"},
	}
	registry, err := llm.NewRegistry(llm.Config{Default: "free", Models: models, Transport: &listener{}}, tools.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct{ models, settings, at, says string }{
		{"free", `{"effort":"max","maxOutputTokens":100000000,"temperature":2,"seed":-9223372036854775808,"parallelToolCalls":true}`, "", ""},
		{"demo", `{"effort":"low"}`, "effort", "it takes none."},
		{"demo", `{}`, "", ""},
		{"free demo", `{"seed":1}`, "seed", "The model demo (demo) does not take this setting here"},
		{"bounded", `{"effort":"low","maxOutputTokens":4096}`, "", ""},
		{"bounded", `{"effort":"medium"}`, "effort", "it takes none, minimal, low."},
		{"bounded", `{"maxOutputTokens":4097}`, "maxOutputTokens", "at most 4096 tokens"},
		{"window", `{"maxOutputTokens":1000}`, "maxOutputTokens", "The window of the model window has 1000 tokens"},
		{"window", `{"maxOutputTokens":999}`, "", ""},
		{"closed", `{"temperature":1}`, "temperature", "The operator does not let requests set this for the model closed; they may set: none."},
		{"partly", `{"effort":"low","seed":1}`, "", ""},
		{"free partly", `{"effort":"low","temperature":1}`, "temperature", "they may set: effort, seed."},
		{"k3", `{"effort":"none"}`, "effort", "it takes minimal, low, medium, high, xhigh, max."},
		{"k3", `{"temperature":1}`, "temperature", "it takes effort, maxOutputTokens."},
		{"coder", `{"effort":"high"}`, "effort", "it takes maxOutputTokens."},
		{"fable", `{"effort":"none"}`, "effort", "it takes minimal, low, medium, high, xhigh, max."},
		{"thinking", `{"temperature":1}`, "temperature", "it takes effort, maxOutputTokens, parallelToolCalls."},
		{"thinking", `{"temperature":1,"effort":"none"}`, "", ""},
		{"claude", `{"temperature":1}`, "temperature", ""},
		{"claude", `{"seed":1}`, "seed", ""},
		{"gemini", `{"seed":1}`, "seed", "it takes effort, maxOutputTokens, temperature."},
		{"items", `{"seed":1}`, "seed", "it takes effort, maxOutputTokens, temperature, parallelToolCalls."},
	} {
		names := strings.Fields(row.models)
		source := domain.Source{Model: names[0], Fallbacks: names[1:], Settings: &domain.ModelSettings{}}
		providertest.Decode(t, []byte(row.settings), source.Settings)
		err := registry.CheckSettings(source, "/source/settings")
		if row.at == "" {
			if err != nil {
				t.Errorf("%s with %s: %v", row.models, row.settings, err)
			}
			continue
		}
		var invalid *domain.Error
		if !errors.As(err, &invalid) || invalid.Code != domain.CodeInvalid || invalid.Details[0].Pointer != "/source/settings/"+row.at ||
			!strings.Contains(invalid.Message, row.says) {
			t.Errorf("%s with %s: %+v", row.models, row.settings, err)
		}
	}
	shown := map[string]llm.ModelInfo{}
	for _, info := range registry.Models(t.Context()) {
		shown[info.Name] = info
	}
	for name, wanted := range map[string]llm.ModelInfo{
		"demo":    {},
		"partly":  {Settings: []string{"effort", "seed"}, Efforts: domain.Efforts},
		"bounded": {Settings: domain.SettingNames, Efforts: domain.Efforts[:3], MaxOutputTokens: 4096},
		"coder":   {Settings: []string{"maxOutputTokens"}},
		"k3":      {Settings: []string{"effort", "maxOutputTokens"}, Efforts: domain.Efforts[1:]},
	} {
		got := llm.ModelInfo{Settings: shown[name].Settings, Efforts: shown[name].Efforts, MaxOutputTokens: shown[name].MaxOutputTokens}
		if diff := cmp.Diff(wanted, got); diff != "" {
			t.Errorf("%s is shown (-want +got):\n%s", name, diff)
		}
	}
}

// TestTheEntryFillsWhatTheRequestLeavesOpen.
func TestTheEntryFillsWhatTheRequestLeavesOpen(t *testing.T) {
	model := llm.Model{
		Provider: "openai", Model: "m", BaseURL: "http://unknown.test/v1", Effort: "low", MaxOutputTokens: 500, Temperature: new(0.0), Seed: new(int64(7)),
		ParallelToolCalls: new(false), RequestSettings: &[]string{"effort", "maxOutputTokens"},
	}
	sent, _ := asksWith(t, model, `{"effort":"high","maxOutputTokens":400}`, &listener{status: http.StatusForbidden}, tools.Bash{})
	for name, wanted := range map[string]string{
		"reasoning_effort": `"high"`, "max_tokens": "400", "temperature": "0", "seed": "7", "parallel_tool_calls": "false",
	} {
		want(t, name, string(sent[name]), wanted)
	}
}

// TestLoweredLimitsHoldForEarlierRequests.
func TestLoweredLimitsHoldForEarlierRequests(t *testing.T) {
	model := llm.Model{Provider: "openai", Model: "m", BaseURL: "http://unknown.test/v1", MaxOutputTokens: 500, MaxEffort: "low"}
	sent, _ := asksWith(t, model, `{"effort":"high","maxOutputTokens":501}`, &listener{status: http.StatusForbidden})
	want(t, "effort", string(sent["reasoning_effort"]), `"low"`)
	want(t, "tokens", string(sent["max_tokens"]), "500")
}

// TestSettingsOfEntriesThatAreRefused: the server does not start with what each request would fail at.
func TestSettingsOfEntriesThatAreRefused(t *testing.T) {
	for at, model := range map[string]llm.Model{
		"effort":                     {Effort: "much"},
		"maxEffort":                  {MaxEffort: "much"},
		"effort ":                    {Effort: "high", MaxEffort: "low"},
		"effort  ":                   {Provider: "kimi", Model: "kimi-k3", Effort: "none"},
		"temperature":                {Temperature: new(2.1)},
		"temperature ":               {Provider: "anthropic", Model: "claude-opus-4-5", ThinkingTokens: 2000, Temperature: new(1.0)},
		"seed":                       {Provider: "gemini", Seed: new(int64(1))},
		"maxOutputTokens":            {MaxOutputTokens: -1},
		"thinkingTokens":             {ThinkingTokens: 2000},
		"requestSettings/1":          {RequestSettings: &[]string{"effort", "top_p"}},
		"extraBody/messages":         {ExtraBody: map[string]json.RawMessage{"messages": json.RawMessage(`[]`)}},
		"extraBody/apiKey":           {ExtraBody: map[string]json.RawMessage{"apiKey": json.RawMessage(`"x"`)}},
		"extraBody/stream_options":   {ExtraBody: map[string]json.RawMessage{"stream_options": json.RawMessage(`{}`)}},
		"extraHeaders/authorization": {ExtraHeaders: map[string]string{"authorization": "Bearer x"}},
		"extraHeaders/x-api-key":     {ExtraHeaders: map[string]string{"x-api-key": "x"}},
		"extraHeaders/Host":          {ExtraHeaders: map[string]string{"Host": "x"}},
		"extraHeaders/X A":           {ExtraHeaders: map[string]string{"X A": "x"}},
		"extraHeaders/X-A":           {ExtraHeaders: map[string]string{"X-A": "a\r\nHost: b"}},
		"extraHeaders/x-b":           {ExtraHeaders: map[string]string{"X-B": "a", "x-b": "b"}},
	} {
		if model.Provider == "" {
			model.Provider, model.BaseURL = "openai", "http://unknown.test/v1"
		}
		if model.Model == "" {
			model.Model = "m"
		}
		_, err := llm.NewRegistry(llm.Config{Models: map[string]llm.Model{"test": model}, Transport: &listener{}}, tools.NewRegistry())
		var invalid *domain.Error
		if !errors.As(err, &invalid) || invalid.Details[0].Pointer != "/models/test/"+strings.TrimSpace(at) {
			t.Errorf("%s: %+v", at, err)
		}
	}
}

// TestARefusedSettingIsNamed, and the request is not sent again without the state of the model or the schema, which are not the reason. Where a refusal
// is about something else, nothing is named.
func TestARefusedSettingIsNamed(t *testing.T) {
	for _, row := range []struct{ says, settings, names string }{
		{"Unsupported value: 'reasoning_effort' does not support 'xhigh' with this model.", `{"effort":"xhigh"}`, "The setting effort of the request was refused. "},
		{"Extra inputs are not permitted: seed", `{"effort":"low","seed":7}`, "The setting seed of the request was refused. "},
		{"max_tokens is too large: 400", `{}`, "The setting maxOutputTokens of the model's entry was refused. "},
		{"invalid temperature: only 1 is allowed for this model", `{"temperature":0.5}`, "The setting temperature of the request was refused. "},
		{"parallel_tool_calls is not supported", `{"parallelToolCalls":true}`, "The setting parallelToolCalls of the request was refused. "},
		{"invalid temperature", `{"effort":"low"}`, ""},
		{"messages.1: Invalid `signature` in `thinking` block", `{"effort":"low"}`, ""},
		{"Item 'rs_1' of type 'reasoning' was provided without its required following item.", `{"effort":"low"}`, ""},
	} {
		vendor := &listener{status: http.StatusBadRequest, answer: `{"error":{"message":` + string(mustJSON(row.says)) + `}}`}
		model := llm.Model{Provider: "openai", Model: "m", BaseURL: "http://unknown.test/v1", MaxOutputTokens: 400}
		_, err := asksWith(t, model, row.settings, vendor)
		wanted := row.names + `The provider of model "test" answered 400: ` + row.says
		if domain.CodeOf(err) != domain.CodeModelFailed || domain.FailureOf(err).Message != wanted {
			t.Errorf("%s: %v", row.says, err)
		}
		want(t, "requests", len(vendor.bodies), 1)
	}
}

// TestARefusedSettingKeepsTheState of the model: no word of a dropped state, and no second request.
func TestARefusedSettingKeepsTheState(t *testing.T) {
	vendor := &listener{status: http.StatusBadRequest, answer: `{"error":{"message":"seed is not supported"}}`}
	c := config(vendor)
	model := c.Models["test"]
	model.Name = "test"
	state := provider.StateOfAnswer(model.Maker(), provider.Answer{State: []provider.Part{{Kind: "reasoning", JSON: json.RawMessage(`"Hm."`)}}}, nil).Encode()
	e, host := execution(), &hosttest.Host{}
	e.Request.Source.Settings = &domain.ModelSettings{Seed: new(int64(1))}
	asked := domain.Prompt{Turn: 2, History: []domain.Message{
		{Role: domain.RoleUser, Text: "Go"}, {Role: domain.RoleAssistant, Text: "Hm.", State: state}, {Role: domain.RoleUser, Text: "On"},
	}}
	if _, err := open(t, c, e).Prompt(t.Context(), host, asked); err == nil {
		t.Error("it was not refused")
	}
	want(t, "requests", len(vendor.bodies), 1)
	want(t, "dropped states", len(hosttest.Of[domain.ModelStateDropped](host)), 0)
}

// TestExtras: what the entry adds is in each request and each probe, cannot replace what the request says, and is not shown where the vendor quotes it.
func TestExtras(t *testing.T) {
	const team, secret = "team-of-mine-7", "virtual-9f3b"
	for name, field := range map[string]string{"openai": "max_completion_tokens", "openai-responses": "max_output_tokens", "anthropic": "max_tokens"} {
		vendor := &listener{status: http.StatusBadRequest, answer: `{"error":{"message":"no account ` + secret + ` of ` + team + `, ` + team + `-east and Portal"}}`}
		model := llm.Model{
			Provider: name, Model: "m",
			ExtraHeaders: map[string]string{"x-team": "Bearer " + team, "X-Short": "of", "X-East": team + "-east"},
			ExtraBody: map[string]json.RawMessage{
				field: json.RawMessage("9"), "gateway": json.RawMessage(`{"key":["` + secret + `"]}`), "a.b": json.RawMessage("true"),
				"response_format": json.RawMessage(`"text"`),
			},
		}
		sent, err := asksWith(t, model, `{"maxOutputTokens":700}`, vendor)
		for field, wanted := range map[string]string{field: "700", "gateway": `{"key":["` + secret + `"]}`, "a.b": "true", "model": `"m"`, "response_format": `"text"`} {
			want(t, name+": "+field, string(sent[field]), wanted)
		}
		want(t, name+": times that the field is sent", strings.Count(vendor.bodies[0], `"`+field+`"`), 1)
		want(t, name+": header", vendor.headers[0].Get("X-Team"), "Bearer "+team)
		if said := domain.FailureOf(err).Message; !strings.Contains(said, "no account [masked] of [masked], [masked] and Portal") {
			t.Errorf("%s: %s", name, said)
		}
		registryOf(t, model, vendor).Models(t.Context())
		want(t, name+": header of a probe", vendor.headers[len(vendor.headers)-1].Get("X-Team"), "Bearer "+team)
	}
}

// TestTheSchemaOfAnAnswerIsNotTheOperators.
func TestTheSchemaOfAnAnswerIsNotTheOperators(t *testing.T) {
	vendor := &listener{status: http.StatusForbidden}
	c := config(vendor)
	c.Models["test"] = llm.Model{Provider: "azure", Model: "m", BaseURL: "http://a.test/v1", ExtraBody: map[string]json.RawMessage{"response_format": json.RawMessage(`"text"`)}}
	e := execution()
	e.Request.OutputSchema = json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`)
	if _, err := open(t, c, e).Prompt(t.Context(), &hosttest.Host{}, prompt("Go")); err == nil {
		t.Error("it was not refused")
	}
	if !strings.Contains(vendor.bodies[0], `"json_schema"`) {
		t.Errorf("sent %s", vendor.bodies[0])
	}
}

// TestASummaryMayBeLongerThanAnAnswer of the request, and is asked for with its other settings.
func TestASummaryMayBeLongerThanAnAnswer(t *testing.T) {
	vendor := &listener{status: http.StatusForbidden}
	c := summarizing(nil, 10_000)
	model := c.Models["test"]
	model.MaxOutputTokens = 5000
	c.Models["test"], c.Transport = model, vendor
	e := execution()
	e.Request.Source.Settings = &domain.ModelSettings{MaxOutputTokens: 50, Effort: "low"}
	if _, err := open(t, c, e).Prompt(t.Context(), &hosttest.Host{}, rounds(10, 4000)); err == nil {
		t.Error("it was not refused")
	}
	if len(vendor.bodies) != 2 || !strings.Contains(vendor.bodies[0], `"max_tokens":5000`) || !strings.Contains(vendor.bodies[1], `"max_tokens":50,`) ||
		!strings.Contains(vendor.bodies[0], `"reasoning_effort":"low"`) {
		t.Errorf("sent %d: %.300s", len(vendor.bodies), vendor.bodies)
	}
}

// TestEveryVendorSendsWhatItTakes: each setting that a model is shown to take changes what its vendor is sent.
func TestEveryVendorSendsWhatItTakes(t *testing.T) {
	for _, row := range settingsOnTheWire {
		model := llm.Model{Provider: row.provider, Model: row.model, BaseURL: row.address}
		without, _ := asksWith(t, model, `{}`, &listener{status: http.StatusForbidden}, tools.Bash{})
		info := registryOf(t, model, &listener{status: http.StatusForbidden}).Models(t.Context())[0]
		values := map[string][]string{"maxOutputTokens": {"777"}, "temperature": {"0.25"}, "seed": {"5"}, "parallelToolCalls": {"false"}}
		for _, level := range info.Efforts {
			values["effort"] = append(values["effort"], `"`+string(level)+`"`)
		}
		for _, name := range info.Settings {
			if !slices.ContainsFunc(values[name], func(value string) bool { // some efforts are the vendor's defaults
				with, _ := asksWith(t, model, `{"`+name+`":`+value+`}`, &listener{status: http.StatusForbidden}, tools.Bash{})
				return !cmp.Equal(without, with)
			}) {
				t.Errorf("%s %s is sent nothing for %s", row.provider, row.model, name)
			}
		}
	}
}
