package provider

import (
	"regexp"
	"slices"

	"signoff/internal/domain"
)

// SettingRules says which settings the vendor of a model is known to have. One that it does not have is refused before an execution begins, and not
// by the vendor in its first turn. The zero value is a vendor that nobody knows: it is sent everything.
type SettingRules struct {
	Known   bool
	Names   []string        // of what it has, if it is known
	Efforts []domain.Effort // the levels that it has, from the least to the most; nil = nobody knows, or they differ among its models
}

// NoSettings are the rules of a provider that asks nobody.
func NoSettings(Model, domain.ModelSettings) SettingRules { return SettingRules{Known: true} }

// SettingNames are the names of the settings that the vendor has, or may have.
func (r SettingRules) SettingNames() []string {
	if !r.Known {
		return domain.SettingNames
	}
	return r.Names
}

// Effort returns the level that the vendor is sent for another one: the next higher that it has, or else its highest. It is false for no reasoning
// where the vendor has only levels of reasoning.
func (r SettingRules) Effort(asked domain.Effort) (sent domain.Effort, has bool) {
	if r.Efforts == nil || slices.Contains(r.Efforts, asked) {
		return asked, true
	}
	if asked == domain.EffortNone {
		return "", false
	}
	for _, level := range r.Efforts {
		if level.Level() > asked.Level() {
			return level, true
		}
	}
	return r.Efforts[len(r.Efforts)-1], true
}

// Settings are what a request to the model has if nobody asks for something else.
func (m Model) Settings() domain.ModelSettings {
	return domain.ModelSettings{
		Effort: m.Effort, MaxOutputTokens: m.MaxOutputTokens, Temperature: m.Temperature, Seed: m.Seed, ParallelToolCalls: m.ParallelToolCalls,
	}
}

// Wire are the settings as a provider sends them, for a model with these rules: an effort is a level that the vendor has.
func (r SettingRules) Wire(s domain.ModelSettings) domain.ModelSettings {
	if s.Effort != "" {
		s.Effort, _ = r.Effort(s.Effort)
	}
	return s
}

// refusals finds the setting that a vendor speaks of when it refuses a request: by its name on the wire. Words that also stand in messages about
// something else, such as an item of type reasoning or the signature of a thought, are in none of them.
var refusals = []struct {
	name string
	said *regexp.Regexp
}{
	{domain.SettingEffort, regexp.MustCompile(`(?i)reasoning[_. ](effort|summary)|\beffort\b|output_config\.effort|thinking\.(type|budget|adaptive|enabled)|budget_tokens|clear_thinking`)},
	{domain.SettingMaxOutputTokens, regexp.MustCompile(`(?i)\bmax_(completion_|output_)?tokens\b`)},
	{domain.SettingTemperature, regexp.MustCompile(`(?i)\btemperature\b`)},
	{domain.SettingSeed, regexp.MustCompile(`(?i)\b(random_)?seed\b`)},
	{domain.SettingParallelToolCalls, regexp.MustCompile(`(?i)parallel_tool_(calls|use)`)},
}

// RefusedSetting returns the name of the setting, of those that a request had, that the vendor has refused it for; empty = it says of none.
func RefusedSetting(refused *Error, sent domain.ModelSettings) string {
	if !refused.Refused() {
		return ""
	}
	names := sent.Names()
	for _, r := range refusals {
		if slices.Contains(names, r.name) && r.said.MatchString(refused.Shown.Message) {
			return r.name
		}
	}
	return ""
}
