package llm

import (
	"cmp"
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
	Retry       time.Duration // how long a failing request is repeated where the execution does not say; 0 = [DefaultRetry], below 0 = not at all
	Patience    time.Duration // how long it is repeated where another model of the execution may be asked; 0 = [DefaultPatience], below 0 = not at all
	DemoPace    time.Duration // the demo model's pause between two chunks; 0 = none

	// Masker hides the values of secrets; nil = there are none. What a model is sent, what it asks for, and what a provider
	// says of a failure passes it first.
	Masker Masker

	Transport http.RoundTripper // to the providers; nil = a direct connection, without any proxy
	Logger    *slog.Logger      // nil = slog.Default()
}

// Model is one entry of the registry.
type Model struct {
	Provider      string // [ProviderOpenAI], [ProviderAnthropic] or [ProviderDemo]
	Model         string // the provider's name for it
	BaseURL       string // of the API, with its path prefix; empty = the vendor's own
	APIKey        string // may be empty: local servers need none
	APIKeyEnv     string // the variable that APIKey was read from, for messages; empty = no key is wanted
	ContextWindow int    // tokens; 0 = unknown

	// Anthropic wants to be told how long an answer may become; the others have limits of their own.
	MaxOutputTokens int // of one answer, thinking included; 0 = the thinking and [DefaultMaxOutputTokens]
	ThinkingTokens  int // of them, for thinking; 0 = the model does not think before it speaks

	// What a million tokens cost, in whatever currency the operator reckons in; nil = unknown. See cost.go for what
	// stands in where the cache has no prices of its own.
	InputCostPer1m      *float64
	OutputCostPer1m     *float64
	CacheReadCostPer1m  *float64
	CacheWriteCostPer1m *float64
}

// The providers.
const (
	ProviderOpenAI    = "openai"    // whatever speaks OpenAI's chat completions: vLLM, Ollama, gateways
	ProviderAnthropic = "anthropic" // Anthropic's messages
	ProviderDemo      = "demo"      // a script, see demo.go
)

// DefaultMaxOutputTokens is what every model of Anthropic that is still served can write.
const DefaultMaxOutputTokens = 8192

// leastThinkingTokens is Anthropic's own limit: it refuses every request with less.
const leastThinkingTokens = 1024

// DefaultIdleTimeout is long, because a model on a small machine reads its prompt for a while before the first byte.
const DefaultIdleTimeout = 120 * time.Second

const (
	DefaultRetry    = time.Hour
	DefaultPatience = time.Minute
)

// DefaultDemoPace is about the pace of a fast model.
const DefaultDemoPace = 25 * time.Millisecond

// vendors has the address of each vendor's own API.
var vendors = map[string]string{
	ProviderOpenAI:    "https://api.openai.com/v1",
	ProviderAnthropic: "https://api.anthropic.com/v1",
}

// normalized returns c with its defaults, or what is wrong with it.
func (c Config) normalized() (Config, error) {
	if c.IdleTimeout <= 0 {
		c.IdleTimeout = DefaultIdleTimeout
	}
	c.Retry, c.Patience = cmp.Or(c.Retry, DefaultRetry), cmp.Or(c.Patience, DefaultPatience)
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.Masker == nil {
		c.Masker = unmasked{}
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
	if err := m.checkPrices(name, pointer); err != nil {
		return m, err
	}
	switch {
	case strings.TrimSpace(name) == "":
		return m, domain.Invalid("/models", "a model has no name")
	case m.ContextWindow < 0:
		return m, domain.Invalid(pointer+"/contextWindow", "the context window of model %q is negative", name)
	case m.Provider == ProviderDemo:
		return m, nil
	case vendors[m.Provider] == "":
		return m, domain.Invalid(pointer+"/provider", "model %q names the provider %q; there are: %s, %s, %s",
			name, m.Provider, ProviderAnthropic, ProviderDemo, ProviderOpenAI)
	case m.Model == "":
		return m, domain.Invalid(pointer+"/model", "model %q does not say the provider's name for it", name)
	}
	if err := m.checkOutput(name, pointer); err != nil {
		return m, err
	}
	return m.withAddress(name, pointer)
}

// maxOutput is what an answer may have, the thinking included.
func (m Model) maxOutput() int {
	switch {
	case m.MaxOutputTokens > 0:
		return m.MaxOutputTokens
	case m.ContextWindow > 0: // a prompt has to fit, too
		return m.ThinkingTokens + min(DefaultMaxOutputTokens, max(m.ContextWindow/2, 1))
	default:
		return m.ThinkingTokens + DefaultMaxOutputTokens
	}
}

// checkOutput finds what the provider would refuse in every request.
func (m Model) checkOutput(name, pointer string) error {
	switch {
	case m.MaxOutputTokens < 0:
		return domain.Invalid(pointer+"/maxOutputTokens", "the output tokens of model %q are negative", name)
	case m.ThinkingTokens < 0:
		return domain.Invalid(pointer+"/thinkingTokens", "the thinking tokens of model %q are negative", name)
	case m.Provider != ProviderAnthropic && m.MaxOutputTokens+m.ThinkingTokens > 0:
		return domain.Invalid(pointer, "model %q has output or thinking tokens, which only the provider %s takes",
			name, ProviderAnthropic)
	case m.Provider != ProviderAnthropic:
		return nil
	case m.ThinkingTokens > 0 && m.ThinkingTokens < leastThinkingTokens:
		return domain.Invalid(pointer+"/thinkingTokens", "model %q has %d thinking tokens; at least %d, or none",
			name, m.ThinkingTokens, leastThinkingTokens)
	case m.ThinkingTokens >= m.maxOutput():
		return domain.Invalid(pointer+"/thinkingTokens", "the thinking tokens of model %q leave none of its %d output tokens",
			name, m.maxOutput())
	case m.ContextWindow > 0 && m.maxOutput() >= m.ContextWindow:
		return domain.Invalid(pointer+"/maxOutputTokens", "the %d output tokens of model %q leave none of its window of %d",
			m.maxOutput(), name, m.ContextWindow)
	}
	return nil
}

func (m Model) withAddress(name, pointer string) (Model, error) {
	if m.BaseURL == "" {
		m.BaseURL = vendors[m.Provider]
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

// newTransport keeps the connections of many executions that ask one provider at once: by default all but two of them would be
// closed after each answer, and made again for the next.
func newTransport() *http.Transport {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.Proxy = nil // the default one reads the environment
	transport.MaxIdleConnsPerHost = transport.MaxIdleConns
	return transport
}
