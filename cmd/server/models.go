package main

import (
	"context"
	"encoding/json"
	"os"
	"time"

	"signoff/internal/admission"
	"signoff/internal/domain"
	"signoff/internal/http"
	"signoff/internal/llm"
	script "signoff/internal/llm/demo"
	"signoff/internal/secrets"
	"signoff/internal/tools"
)

// openModels opens the models of the internal agent, with the values of their keys. Without servers, as nil, the agent uses no MCP servers;
// without delegates its models get no list of agents.
func (f configFile) openModels(known *tools.Registry, masker *secrets.Masker, servers llm.Servers, delegates llm.Delegates) (*llm.Registry, error) {
	config := llm.Config{
		Default: f.Models.Default, Models: map[string]llm.Model{}, Pace: script.Pace, Masker: masker, Servers: servers, Delegates: delegates,
		Retry: orNone(f.Settings.DefaultRetry), Patience: orNone(f.Settings.FallbackAfter),
	}
	for name, m := range f.Models.Models {
		entry := llm.Model{
			Provider: m.Provider, Model: m.Model, BaseURL: m.BaseURL, APIKeyEnv: m.APIKeyEnv, ContextWindow: m.ContextWindow, Compaction: m.Compaction,
			MaxOutputTokens: m.MaxOutputTokens, ThinkingTokens: m.ThinkingTokens, Effort: m.Effort, Temperature: m.Temperature, Seed: m.Seed,
			ParallelToolCalls: m.ParallelToolCalls, RequestSettings: m.RequestSettings, MaxEffort: m.MaxEffort, ExtraHeaders: m.ExtraHeaders,
			ExtraBody: map[string]json.RawMessage{}, InputCostPer1m: m.InputCostPer1m,
			OutputCostPer1m: m.OutputCostPer1m, CacheReadCostPer1m: m.CacheReadCostPer1m, CacheWriteCostPer1m: m.CacheWriteCostPer1m,
		}
		for field, value := range m.ExtraBody {
			encoded, err := json.Marshal(value)
			if err != nil {
				return nil, f.mistake(domain.Invalid(domain.Pointer("models", name, "extraBody", field), "This cannot be written as JSON.").With(err))
			}
			entry.ExtraBody[field] = encoded
		}
		if m.APIKeyEnv != "" {
			entry.APIKey = os.Getenv(m.APIKeyEnv)
		}
		config.Models[name] = entry
	}
	models, err := llm.NewRegistry(config, known)
	if err != nil {
		return nil, f.mistake(err)
	}
	return models, nil
}

// models shows the models to clients.
type models struct {
	*llm.Registry
	entries map[string]model
}

var (
	_ http.Models      = models{}
	_ admission.Models = models{}
)

// Priced implements [admission.Models]. The demo model is free without a setting.
func (m models) Priced(name string) bool {
	entry := m.entries[name]
	return entry.InputCostPer1m != nil && entry.OutputCostPer1m != nil
}

// Entry implements [admission.Models].
func (m models) Entry(name string) (provider, model string) {
	entry := m.entries[name]
	return entry.Provider, entry.Model
}

// Models lists the models, without secrets.
func (m models) Models(ctx context.Context) []http.ModelInfo {
	var infos []http.ModelInfo
	for _, info := range m.Registry.Models(ctx) {
		infos = append(infos, http.ModelInfo{
			Name: info.Name, Provider: info.Provider, Model: info.Model, Default: info.Default,
			Available: info.Available, Reason: info.Reason, ContextWindow: int64(m.entries[info.Name].ContextWindow),
			Settings: info.Settings, Efforts: info.Efforts, MaxOutputTokens: int64(info.MaxOutputTokens),
		})
	}
	return infos
}

// orNone converts a setting in seconds for package llm: there 0 is the default, and a negative value turns the feature off.
func orNone(seconds *int) time.Duration {
	switch {
	case seconds == nil:
		return 0
	case *seconds == 0:
		return -1
	default:
		return time.Duration(*seconds) * time.Second
	}
}
