package llm

import (
	"fmt"
	"slices"
	"strings"

	"signoff/internal/domain"
	"signoff/internal/llm/provider"
)

// settings are what a model is asked with: what the request sets, and what its entry has for the rest. The operator may have lowered the limits since
// the request was accepted.
func (c *candidate) settings(source domain.Source) domain.ModelSettings {
	settings := source.ModelSettings().Over(c.model.Settings())
	if most := c.model.MaxOutputTokens; most > 0 {
		settings.MaxOutputTokens = min(settings.MaxOutputTokens, most)
	}
	if most := c.model.MaxEffort; most != "" && settings.Effort.Level() > most.Level() {
		settings.Effort = most
	}
	return settings
}

// rules are what the vendor of the model is known to have, beside these settings.
func (c *candidate) rules(beside domain.ModelSettings) provider.SettingRules {
	return rulesOf(c.provider, c.model, beside)
}

func rulesOf(of provider.Provider, m Model, beside domain.ModelSettings) provider.SettingRules {
	if of.Settings == nil {
		return provider.SettingRules{}
	}
	return of.Settings(m, beside)
}

// CheckSettings refuses a setting that one of the source's models cannot be asked with: its operator does not leave it open, or its vendor is known
// not to have it. Left out, a fallback would answer otherwise than was asked for.
func (r *Registry) CheckSettings(source domain.Source, pointer string) error {
	for _, name := range append([]string{source.Model}, source.Fallbacks...) {
		found, known := r.candidates[name]
		if !known {
			continue // of an execution of a server with another registry; opening it says so
		}
		if setting, wrong := found.refuses(source); wrong != "" {
			return domain.Invalid(pointer+domain.Pointer(setting), "%s", wrong)
		}
	}
	return nil
}

// refuses returns the first setting of a request that the model cannot be asked with, and why.
func (c *candidate) refuses(source domain.Source) (setting, why string) {
	wanted, name := source.ModelSettings(), c.model.Name
	open, rules := c.open(), c.rules(c.settings(source))
	for _, setting := range wanted.Names() {
		switch {
		case !slices.Contains(open, setting):
			return setting, fmt.Sprintf("The operator does not let requests set this for the model %s; they may set: %s.", name, listed(open))
		case !slices.Contains(rules.SettingNames(), setting):
			return setting, fmt.Sprintf("The model %s (%s) does not take this setting here; it takes %s.", name, c.model.Provider, listed(rules.SettingNames()))
		}
	}
	if wanted.Effort != "" && !slices.Contains(c.efforts(), wanted.Effort) {
		return domain.SettingEffort, fmt.Sprintf("The model %s does not take the effort %s; it takes %s.", name, wanted.Effort, listed(c.efforts()))
	}
	if most := c.model.MaxOutputTokens; most > 0 && wanted.MaxOutputTokens > most {
		return domain.SettingMaxOutputTokens, fmt.Sprintf("The operator lets an answer of the model %s have at most %d tokens.", name, most)
	}
	if window := c.model.ContextWindow; window > 0 && wanted.MaxOutputTokens >= window {
		return domain.SettingMaxOutputTokens, fmt.Sprintf("The window of the model %s has %d tokens for the conversation and its answer together; ask for fewer.", name, window)
	}
	return "", ""
}

// open are the settings that the operator leaves to requests.
func (c *candidate) open() []string {
	if c.model.RequestSettings == nil {
		return domain.SettingNames
	}
	return *c.model.RequestSettings
}

// takes are the settings that a request may set.
func (c *candidate) takes() (names []string) {
	of := c.rules(c.model.Settings()).SettingNames()
	for _, name := range c.open() {
		if slices.Contains(of, name) {
			names = append(names, name)
		}
	}
	return names
}

// efforts are the levels that a request may ask for.
func (c *candidate) efforts() (levels []domain.Effort) {
	rules := c.rules(c.model.Settings())
	for _, level := range domain.Efforts {
		if most := c.model.MaxEffort; most != "" && level.Level() > most.Level() {
			break
		}
		if _, has := rules.Effort(level); has {
			levels = append(levels, level)
		}
	}
	return levels
}

func listed[S ~string](names []S) string {
	if len(names) == 0 {
		return "none"
	}
	texts := make([]string, len(names))
	for i, name := range names {
		texts[i] = string(name)
	}
	return strings.Join(texts, ", ")
}

// checkSettings returns what is wrong with the settings of an entry.
func checkSettings(m Model, of provider.Provider) error {
	for field, level := range map[string]domain.Effort{"effort": m.Effort, "maxEffort": m.MaxEffort} {
		if level != "" && level.Level() < 0 {
			return domain.Invalid(m.Pointer(field), "the %s of model %q is %q; there are: %s", field, m.Name, level, listed(domain.Efforts))
		}
	}
	if m.MaxEffort != "" && m.Effort.Level() > m.MaxEffort.Level() {
		return domain.Invalid(m.Pointer("effort"), "the effort of model %q is %s, and requests may have at most %s", m.Name, m.Effort, m.MaxEffort)
	}
	if t := m.Temperature; t != nil && !(*t >= 0 && *t <= maxTemperature) { // NaN is in no range
		return domain.Invalid(m.Pointer("temperature"), "the temperature of model %q is not between 0 and %d", m.Name, maxTemperature)
	}
	if m.RequestSettings != nil {
		for i, name := range *m.RequestSettings {
			if !slices.Contains(domain.SettingNames, name) {
				return domain.Invalid(fmt.Sprintf("%s/%d", m.Pointer("requestSettings"), i), "model %q leaves the setting %q to requests; there are: %s",
					m.Name, name, listed(domain.SettingNames))
			}
		}
	}
	rules := rulesOf(of, m, m.Settings())
	for _, name := range m.Settings().Names() {
		if !slices.Contains(rules.SettingNames(), name) {
			return domain.Invalid(m.Pointer(name), "model %q has the setting %s, which the provider %s does not take here; it takes: %s",
				m.Name, name, m.Provider, listed(rules.SettingNames()))
		}
	}
	if _, has := rules.Effort(m.Effort); m.Effort != "" && !has {
		return domain.Invalid(m.Pointer("effort"), "model %q always reasons: its effort is one of %s", m.Name, listed(rules.Efforts))
	}
	return nil
}

// maxTemperature is the highest that any vendor takes, as in the document.
const maxTemperature = 2

// settings are those of the next request, as the vendor of its model has them.
func (t *turn) settings() domain.ModelSettings {
	asked := t.agent.models.asked()
	settings := asked.settings(t.agent.execution.Request.Source)
	return asked.rules(settings).Wire(settings)
}

// naming returns a failure that names the setting for which the vendor has refused the request, where there is one.
func (t *turn) naming(trouble *provider.Error) *provider.Error {
	setting := provider.RefusedSetting(trouble, t.settings())
	if setting == "" {
		return trouble
	}
	of := "of the model's entry"
	if slices.Contains(t.agent.execution.Request.Source.ModelSettings().Names(), setting) {
		of = "of the request"
	}
	named := *trouble
	named.Setting = setting
	named.Shown = domain.Errorf(trouble.Shown.Code, "The setting %s %s was refused. %s", setting, of, trouble.Shown.Message).With(trouble.Shown)
	return &named
}
