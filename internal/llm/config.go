package llm

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"signoff/internal/domain"
	"signoff/internal/llm/provider"
)

// Config says which models there are. cmd/server reads it from files and environment; this package reads neither.
type Config struct {
	Models  map[string]Model
	Default string // may be empty where there is only one model

	IdleTimeout time.Duration // between two bytes of a provider; 0 = [DefaultIdleTimeout]
	Retry       time.Duration // how long a failing request is repeated where the execution does not say; 0 = [DefaultRetry], below 0 = not at all
	Patience    time.Duration // how long it is repeated where another model of the execution may be asked; 0 = [DefaultPatience], below 0 = not at all
	Pace        time.Duration // between two pieces of what the demo says, such as [demo.Pace]; 0 = none

	// Masker hides the values of secrets; nil = there are none. What a model is sent, what it asks for, and what a provider
	// says of a failure passes it first.
	Masker Masker

	Servers Servers // the MCP servers that executions may use; nil = none

	Delegates Delegates // the agents that executions may delegate to; nil = models get no list of them

	Transport http.RoundTripper // to the providers; nil = a direct connection, without any proxy
	Logger    *slog.Logger      // nil = slog.Default()
}

// Delegates lists the agents that an execution may delegate to.
type Delegates interface {
	DelegateOptions(ctx context.Context, of domain.Execution) ([]domain.DelegateOption, error)
}

// Model is one entry of the registry.
type Model = provider.Model

// DefaultIdleTimeout is long, because a model on a small machine reads its prompt for a while before the first byte.
const DefaultIdleTimeout = 120 * time.Second

// How long a failing request is repeated: to the only model of an execution, and to one after which another may be asked.
const (
	DefaultRetry    = time.Hour
	DefaultPatience = time.Minute
)

// withDefaults returns c with its defaults.
func (c Config) withDefaults() Config {
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
	if c.Default == "" && len(c.Models) == 1 {
		for name := range c.Models {
			c.Default = name
		}
	}
	return c
}

// checked returns an entry with its defaults and its provider, or what is wrong with it.
func checked(m Model) (Model, provider.Provider, error) {
	if err := checkPrices(m); err != nil {
		return m, provider.Provider{}, err
	}
	of, known := providerOf(m.Provider)
	switch {
	case strings.TrimSpace(m.Name) == "":
		return m, of, domain.Invalid("/models", "a model has no name")
	case m.ContextWindow < 0:
		return m, of, domain.Invalid(m.Pointer("contextWindow"), "the context window of model %q is negative", m.Name)
	case m.Compaction != "" && m.Compaction != provider.CompactionCut && m.Compaction != provider.CompactionSummary:
		return m, of, domain.Invalid(m.Pointer("compaction"), "the compaction of model %q is %q; there are: %s, %s",
			m.Name, m.Compaction, provider.CompactionCut, provider.CompactionSummary)
	case !known:
		return m, of, domain.Invalid(m.Pointer("provider"), "model %q names the provider %q; there are: %s",
			m.Name, m.Provider, strings.Join(Providers(), ", "))
	case m.MaxOutputTokens < 0:
		return m, of, domain.Invalid(m.Pointer("maxOutputTokens"), "the output tokens of model %q are negative", m.Name)
	}
	if err := checkSettings(m, of); err != nil {
		return m, of, err
	}
	if err := provider.CheckExtra(m); err != nil {
		return m, of, err
	}
	switch {
	case of.NeedsAddress && m.BaseURL == "":
		return m, of, domain.Invalid(m.Pointer("baseUrl"), "model %q has no base URL, which the provider %s needs", m.Name, of.Name)
	case of.Address == "" && !of.NeedsAddress: // it asks nobody
		return m, of, nil
	case m.Model == "":
		return m, of, domain.Invalid(m.Pointer("model"), "model %q does not say the provider's name for it", m.Name)
	case m.ThinkingTokens < 0:
		return m, of, domain.Invalid(m.Pointer("thinkingTokens"), "the thinking tokens of model %q are negative", m.Name)
	}
	if of.Check != nil {
		if err := of.Check(m); err != nil {
			return m, of, err
		}
	}
	m, err := withAddress(m, of.Address)
	return m, of, err
}

// withAddress fills in the vendor's own address where the entry has none.
func withAddress(m Model, vendors string) (Model, error) {
	m.BaseURL = cmp.Or(m.BaseURL, vendors)
	base, err := url.Parse(m.BaseURL)
	if err != nil || base.Host == "" || (base.Scheme != "http" && base.Scheme != "https") {
		return m, domain.Invalid(m.Pointer("baseUrl"), "the base URL of model %q is not an http or https address", m.Name)
	}
	if base.User != nil || base.RawQuery != "" || base.Fragment != "" { // it would end up in logs
		return m, domain.Invalid(m.Pointer("baseUrl"), "the base URL of model %q holds more than host and path", m.Name)
	}
	m.BaseURL = strings.TrimRight(m.BaseURL, "/")
	return m, nil
}

// newTransport keeps the connections of many executions that ask one provider at once: by default all but two of them would be
// closed after each answer, and made again for the next.
func newTransport() *http.Transport {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.Proxy = nil // the default one reads the environment
	transport.MaxIdleConnsPerHost = transport.MaxIdleConns
	return transport
}

// mostCost bounds a price. No model comes near it, and a bill without a bound could grow to a number that JSON cannot say.
const mostCost = 1e9

// checkPrices finds prices that are none.
func checkPrices(m Model) error {
	for _, price := range []struct {
		field string
		value *float64
	}{
		{"inputCostPer1m", m.InputCostPer1m},
		{"outputCostPer1m", m.OutputCostPer1m},
		{"cacheReadCostPer1m", m.CacheReadCostPer1m},
		{"cacheWriteCostPer1m", m.CacheWriteCostPer1m},
	} {
		if v := price.value; v != nil && !(*v >= 0 && *v <= mostCost) { // NaN is in no range
			return domain.Invalid(m.Pointer(price.field), "the price %s of model %q is not between 0 and %.0f",
				price.field, m.Name, mostCost)
		}
	}
	return nil
}
