package domain

import (
	"cmp"
	"slices"
)

// ModelSettings is how a model answers. What is not set is left to the model's entry in the registry, and then to its vendor.
type ModelSettings struct {
	Effort            Effort   `json:"effort,omitempty"`
	MaxOutputTokens   int      `json:"maxOutputTokens,omitempty"` // of one answer, reasoning included
	Temperature       *float64 `json:"temperature,omitempty"`
	Seed              *int64   `json:"seed,omitempty"`
	ParallelToolCalls *bool    `json:"parallelToolCalls,omitempty"` // whether one answer may have several calls
}

// Effort is how much a model reasons before it answers.
type Effort string

// Efforts are the levels, from the least to the most. Few models have all of them.
var Efforts = []Effort{"none", "minimal", "low", "medium", "high", "xhigh", "max"}

// EffortNone is no reasoning at all.
const EffortNone Effort = "none"

// Level is the place of a level among [Efforts]; below 0: there is no such level.
func (e Effort) Level() int { return slices.Index(Efforts, e) }

// The names of the settings, as requests and the configuration have them.
const (
	SettingEffort            = "effort"
	SettingMaxOutputTokens   = "maxOutputTokens"
	SettingTemperature       = "temperature"
	SettingSeed              = "seed"
	SettingParallelToolCalls = "parallelToolCalls"
)

// SettingNames are the names of all settings, in the order of the fields of [ModelSettings].
var SettingNames = []string{SettingEffort, SettingMaxOutputTokens, SettingTemperature, SettingSeed, SettingParallelToolCalls}

// Names are the names of those that are set.
func (s ModelSettings) Names() (names []string) {
	for i, set := range []bool{s.Effort != "", s.MaxOutputTokens != 0, s.Temperature != nil, s.Seed != nil, s.ParallelToolCalls != nil} {
		if set {
			names = append(names, SettingNames[i])
		}
	}
	return names
}

// Over returns s, with the values of lower for what s does not set.
func (s ModelSettings) Over(lower ModelSettings) ModelSettings {
	return ModelSettings{
		Effort: cmp.Or(s.Effort, lower.Effort), MaxOutputTokens: cmp.Or(s.MaxOutputTokens, lower.MaxOutputTokens),
		Temperature: cmp.Or(s.Temperature, lower.Temperature), Seed: cmp.Or(s.Seed, lower.Seed),
		ParallelToolCalls: cmp.Or(s.ParallelToolCalls, lower.ParallelToolCalls),
	}
}
