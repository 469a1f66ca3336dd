package llm_test

import (
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/domain"
	"signoff/internal/llm"
	"signoff/internal/tools"
	"signoff/internal/tools/hosttest"
)

func TestConfigIsChecked(t *testing.T) {
	good := llm.Model{Provider: "openai", Model: "m"}
	with := func(change func(*llm.Model)) map[string]llm.Model {
		model := good
		change(&model)
		return map[string]llm.Model{"x": model}
	}
	tests := []struct {
		name   string
		config llm.Config
		want   string
	}{
		{"no models", llm.Config{}, "default model"},
		{"no default", llm.Config{Models: map[string]llm.Model{"a": good, "b": good}}, "default model"},
		{"unknown default", llm.Config{Models: map[string]llm.Model{"a": good}, Default: "b"}, `"b"`},
		{"provider", llm.Config{Models: with(func(m *llm.Model) { m.Provider = "oracle" })}, llm.ProviderNames()},
		{"model", llm.Config{Models: with(func(m *llm.Model) { m.Model = "" })}, "name for it"},
		{"address", llm.Config{Models: with(func(m *llm.Model) { m.BaseURL = "localhost:11434" })}, "http or https"},
		{"password", llm.Config{Models: with(func(m *llm.Model) { m.BaseURL = "http://u:secret@host/v1" })}, "more than host and path"},
		{"key in the address", llm.Config{Models: with(func(m *llm.Model) { m.BaseURL = "http://host/v1?key=secret" })}, "more than host and path"},
		{"window", llm.Config{Models: with(func(m *llm.Model) { m.ContextWindow = -1 })}, "negative"},
		{"negative output", llm.Config{Models: with(func(m *llm.Model) { m.MaxOutputTokens = -1 })}, "negative"},
		{"negative thinking", llm.Config{Models: with(func(m *llm.Model) { m.ThinkingTokens = -1 })}, "negative"},
		{"output tokens for nobody", llm.Config{Models: with(func(m *llm.Model) { m.ThinkingTokens = 2000 })}, "the provider openai does not take"},
		{"what the provider checks", llm.Config{Models: with(func(m *llm.Model) { m.Provider, m.ThinkingTokens = "anthropic", 1000 })}, "at least 1024"},
		{"negative price", llm.Config{Models: with(func(m *llm.Model) { m.InputCostPer1m = new(-1.0) })}, "inputCostPer1m"},
		{"no price at all", llm.Config{Models: with(func(m *llm.Model) { m.OutputCostPer1m = new(math.NaN()) })}, "outputCostPer1m"},
		{"endless price", llm.Config{Models: with(func(m *llm.Model) { m.CacheReadCostPer1m = new(math.Inf(1)) })}, "cacheReadCostPer1m"},
		{"price beyond all reason", llm.Config{Models: with(func(m *llm.Model) { m.CacheWriteCostPer1m = new(1e10) })}, "cacheWriteCostPer1m"},
		{"price of a demo", llm.Config{Models: map[string]llm.Model{"x": {Provider: "demo", InputCostPer1m: new(-1.0)}}}, "inputCostPer1m"},
		{"name", llm.Config{Models: map[string]llm.Model{" ": good}}, "no name"},
	}
	for _, test := range tests {
		_, err := llm.NewRegistry(test.config, tools.NewRegistry())
		if domain.CodeOf(err) != domain.CodeInvalid || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}

func TestOpen(t *testing.T) {
	c := llm.Config{Default: "a", Models: map[string]llm.Model{
		"a": {Provider: "demo"}, "b": {Provider: "openai", Model: "m", APIKeyEnv: "B_KEY"},
	}}
	registry, err := llm.NewRegistry(c, tools.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	defer registry.Close()
	want(t, "names", strings.Join(registry.Names(), " "), "a b")
	want(t, "has", registry.Has("a") && registry.Has("b") && !registry.Has("") && !registry.Has("c"), true)
	want(t, "default", registry.Default(), "a")
	for name, code := range map[string]domain.Code{"b": domain.CodeModelNotConfigured, "c": domain.CodeUnknownModel, "": domain.CodeUnknownModel} {
		e := execution()
		e.Request.Source.Model = name
		if _, err := registry.Open(t.Context(), domain.Opening{Execution: e}); domain.CodeOf(err) != code {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestAnExecutionKeepsItsModel: what the default is by now, after a restart with another file, makes no difference.
func TestAnExecutionKeepsItsModel(t *testing.T) {
	m := market{"first": {replies: []reply{saysOnly("ok")}}, "second": {replies: []reply{saysOnly("ok")}}}
	for model, agent := range m {
		for other := range m {
			c, e := m.config(), execution()
			c.Default, e.Request.Source.Model = other, model
			before := len(agent.asked)
			if _, err := open(t, c, e).Prompt(t.Context(), &hosttest.Host{}, prompt("Go")); err != nil {
				t.Fatal(err)
			}
			want(t, "requests to "+model+" where "+other+" is the default", len(agent.asked)-before, 1)
		}
	}
}

func TestModels(t *testing.T) {
	var mu sync.Mutex
	asked := map[string]int{}
	transport := roundTripper(func(request *http.Request) (*http.Response, error) {
		mu.Lock()
		asked[request.URL.String()]++
		mu.Unlock()
		switch request.URL.Host {
		case "down.test":
			return nil, errors.New("dial tcp 10.0.0.1: refused")
		case "slow.test":
			return neverAnswers(request)
		case "claude.test":
			if request.Header.Get("X-Api-Key") != testKey || request.Header.Get("Anthropic-Version") == "" || request.Header.Get("Authorization") != "" {
				return answers(401, nil, "")(request)
			}
			return answers(200, nil, `{"data":[]}`)(request)
		case "ok.test":
			if request.Header.Get("Authorization") != "Bearer "+testKey {
				return answers(400, nil, "")(request)
			}
			return answers(200, nil, `{"data":[]}`)(request)
		default:
			status, err := strconv.Atoi(strings.TrimSuffix(request.URL.Host, ".test")[1:])
			if err != nil {
				return nil, err
			}
			return answers(status, nil, "")(request)
		}
	})
	model := func(host string) llm.Model {
		return llm.Model{Provider: "openai", Model: "m", BaseURL: "http://" + host + "/v1/", APIKey: testKey}
	}
	c := llm.Config{Default: "demo", Transport: transport, Models: map[string]llm.Model{
		"demo": {Provider: "demo"}, "ok": model("ok.test"), "down": model("down.test"), "slow": model("slow.test"),
		"401": model("s401.test"), "404": model("s404.test"), "500": model("s500.test"),
		"keyless": {Provider: "openai", Model: "m", APIKeyEnv: "SOME_KEY"},
		"claude":  {Provider: "anthropic", Model: "m", BaseURL: "http://claude.test/v1", APIKey: testKey},
	}}
	synctest.Test(t, func(t *testing.T) {
		registry, err := llm.NewRegistry(c, tools.NewRegistry())
		if err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		got := registry.Models(t.Context())
		want(t, "took", time.Since(begun), 2*time.Second)
		all := domain.SettingNames
		wanted := []llm.ModelInfo{
			{Name: "401", Provider: "openai", Model: "m", Reason: "The provider does not accept the key.", Settings: all, Efforts: domain.Efforts},
			{Name: "404", Provider: "openai", Model: "m", Available: true, Settings: all, Efforts: domain.Efforts},
			{Name: "500", Provider: "openai", Model: "m", Reason: "The provider answers with an error.", Settings: all, Efforts: domain.Efforts},
			{Name: "claude", Provider: "anthropic", Model: "m", Available: true, Efforts: domain.Efforts,
				Settings: []string{domain.SettingEffort, domain.SettingMaxOutputTokens, domain.SettingTemperature, domain.SettingParallelToolCalls}},
			{Name: "demo", Provider: "demo", Default: true, Available: true},
			{Name: "down", Provider: "openai", Model: "m", Reason: "No connection: the connection failed.", Settings: all, Efforts: domain.Efforts},
			{Name: "keyless", Provider: "openai", Model: "m", Reason: "The environment variable SOME_KEY is empty.", Settings: all, Efforts: domain.Efforts},
			{Name: "ok", Provider: "openai", Model: "m", Available: true, Settings: all, Efforts: domain.Efforts},
			{Name: "slow", Provider: "openai", Model: "m", Reason: "No connection: it did not answer in time.", Settings: all, Efforts: domain.Efforts},
		}
		if diff := cmp.Diff(wanted, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		registry.Models(t.Context())
		want(t, "probes", asked["http://ok.test/v1/models"], 1)
		time.Sleep(31 * time.Second)
		registry.Models(t.Context())
		want(t, "probes after a while", asked["http://ok.test/v1/models"], 2)
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }
