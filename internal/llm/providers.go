package llm

import (
	"slices"

	"signoff/internal/llm/anthropic"
	"signoff/internal/llm/demo"
	"signoff/internal/llm/openai"
	"signoff/internal/llm/provider"
	"signoff/internal/llm/responses"
)

// providers is the table of all providers. A new one is a folder and its line here.
var providers = append([]provider.Provider{
	anthropic.Provider,
	demo.Provider,
	openai.Provider,
	responses.Provider,
}, openai.Presets()...)

// KeyEnv is the variable that the key of a model is read from where its entry names none; empty = there is none. A vendor's key goes to
// the vendor's own address, and to another one only where the entry names the key, or every entry has to have an address.
func KeyEnv(providerName, baseURL string) string {
	of, _ := providerOf(providerName)
	if baseURL != "" && !of.NeedsAddress {
		return ""
	}
	return of.KeyEnv
}

// Providers lists the names of all providers.
func Providers() []string {
	var names []string
	for _, p := range providers {
		names = append(names, p.Name)
	}
	return names
}

// providerOf finds a provider by its name.
func providerOf(name string) (provider.Provider, bool) {
	at := slices.IndexFunc(providers, func(p provider.Provider) bool { return p.Name == name })
	if at < 0 {
		return provider.Provider{}, false
	}
	return providers[at], true
}
