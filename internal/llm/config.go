package llm

import (
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"signoff/internal/domain"
)

// Config says which models there are. cmd/server reads it from files and environment; this package reads neither.
type Config struct {
	Models  map[string]Model
	Default string // may be empty where there is only one model

	IdleTimeout time.Duration // between two bytes of a provider; 0 = [DefaultIdleTimeout]
	DemoPace    time.Duration // the demo model's pause between two chunks; 0 = none

	Transport http.RoundTripper // to the providers; nil = a direct connection, without any proxy
	Logger    *slog.Logger      // nil = slog.Default()
}

// Model is one entry of the registry.
type Model struct {
	Provider      string // [ProviderOpenAI] or [ProviderDemo]
	Model         string // the provider's name for it
	BaseURL       string // of the API, with its path prefix; empty = OpenAI's own
	APIKey        string // may be empty: local servers need none
	APIKeyEnv     string // the variable that APIKey was read from, for messages; empty = no key is wanted
	ContextWindow int    // tokens; 0 = unknown
}

// The providers.
const (
	ProviderOpenAI = "openai" // whatever speaks OpenAI's chat completions: vLLM, Ollama, gateways
	ProviderDemo   = "demo"   // a script, see demo.go
)

// DefaultIdleTimeout is long, because a model on a small machine reads its prompt for a while before the first byte.
const DefaultIdleTimeout = 120 * time.Second

// DefaultDemoPace is about the pace of a fast model.
const DefaultDemoPace = 25 * time.Millisecond

const openAIBaseURL = "https://api.openai.com/v1"

// normalized returns c with its defaults, or what is wrong with it.
func (c Config) normalized() (Config, error) {
	if c.IdleTimeout <= 0 {
		c.IdleTimeout = DefaultIdleTimeout
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.Transport == nil {
		c.Transport = newTransport()
	}
	models := make(map[string]Model, len(c.Models))
	for name, model := range c.Models {
		checked, err := model.normalized(name)
		if err != nil {
			return Config{}, err
		}
		models[name] = checked
		if c.Default == "" && len(c.Models) == 1 {
			c.Default = name
		}
	}
	c.Models = models
	if _, known := models[c.Default]; !known {
		return Config{}, domain.Invalid("/models/default", "the default model %q is not among the models", c.Default)
	}
	return c, nil
}

func (m Model) normalized(name string) (Model, error) {
	pointer := "/models/" + name
	switch {
	case strings.TrimSpace(name) == "":
		return m, domain.Invalid("/models", "a model has no name")
	case m.ContextWindow < 0:
		return m, domain.Invalid(pointer+"/contextWindow", "the context window of model %q is negative", name)
	case m.Provider == ProviderDemo:
		return m, nil
	case m.Provider != ProviderOpenAI:
		return m, domain.Invalid(pointer+"/provider", "model %q names the provider %q; there are: %s, %s",
			name, m.Provider, ProviderDemo, ProviderOpenAI)
	case m.Model == "":
		return m, domain.Invalid(pointer+"/model", "model %q does not say the provider's name for it", name)
	}
	if m.BaseURL == "" {
		m.BaseURL = openAIBaseURL
	}
	base, err := url.Parse(m.BaseURL)
	if err != nil || base.Host == "" || (base.Scheme != "http" && base.Scheme != "https") {
		return m, domain.Invalid(pointer+"/baseUrl", "the base URL of model %q is not an http or https address", name)
	}
	if base.User != nil || base.RawQuery != "" || base.Fragment != "" { // it would end up in logs
		return m, domain.Invalid(pointer+"/baseUrl", "the base URL of model %q holds more than host and path", name)
	}
	m.BaseURL = strings.TrimRight(m.BaseURL, "/")
	return m, nil
}

// missingKey tells whether the model wants a key that is not there.
func (m Model) missingKey() bool { return m.APIKeyEnv != "" && m.APIKey == "" }

func newTransport() *http.Transport {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.Proxy = nil // the default one reads the environment
	return transport
}
