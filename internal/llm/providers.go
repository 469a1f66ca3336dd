package llm

import (
	"slices"

	"signoff/internal/llm/anthropic"
	"signoff/internal/llm/demo"
	"signoff/internal/llm/openai"
	"signoff/internal/llm/provider"
)

// providers is the table of all providers. A new one is a folder and its line here.
var providers = []provider.Provider{
	anthropic.Provider,
	demo.Provider,
	openai.Provider,
}

// providerOf finds a provider by its name.
func providerOf(name string) (provider.Provider, bool) {
	at := slices.IndexFunc(providers, func(p provider.Provider) bool { return p.Name == name })
	if at < 0 {
		return provider.Provider{}, false
	}
	return providers[at], true
}
