package admission

import (
	"context"
	"encoding/json"
	"fmt"

	"signoff/api"
	"signoff/internal/domain"
)

// Bounds of the list of agents, which the model reads in every request.
const (
	maxDelegateOptions     = 50
	maxDelegateDescription = 300 // characters
)

// DelegateOptions lists the agents that an execution may delegate to, for its model: agent profiles first, then models and agents of the server.
func (a *Admission) DelegateOptions(ctx context.Context, of domain.Execution) ([]domain.DelegateOption, error) {
	delegation := of.Request.Delegation
	if delegation == nil {
		return nil, nil
	}
	profiles, err := a.delegateProfiles(ctx, of.Tenant, delegation.Profiles)
	if err != nil {
		return nil, err
	}
	var options []domain.DelegateOption
	for _, profile := range profiles {
		var definition api.AgentProfileDefinition
		if err := json.Unmarshal(profile.Definition, &definition); err != nil {
			return nil, fmt.Errorf("admission: the definition of the agent profile %s: %w", profile.Name, err)
		}
		options = append(options, domain.DelegateOption{
			Profile: profile.Name, Description: firstCharacters(api.Or(definition.Description, ""), maxDelegateDescription), Source: definition.Source.Source,
			Capabilities: withDelegate(definition.Delegation != nil, toCapabilities(definition.Capabilities, *a.config.Settings.Capabilities)),
		})
	}
	if delegation.Sources {
		options = append(options, a.sources()...)
	}
	var usable []domain.DelegateOption
	for _, option := range options {
		if option.Source.Type == domain.SourceACP && delegation.Ceiling.Tools.Enabled != nil { // it brings its own tools
			continue
		}
		may := option.Source.Type == domain.SourceInternal && of.Depth()+1 < domain.MaxDelegationDepth
		option.Capabilities = withDelegate(may, option.Capabilities.Within(delegation.Ceiling.Capabilities))
		usable = append(usable, option)
	}
	return usable[:min(len(usable), maxDelegateOptions)], nil
}

// withDelegate returns capabilities, with delegate denied unless the agent may delegate.
func withDelegate(may bool, c domain.Capabilities) domain.Capabilities {
	if !may {
		c.Delegate = domain.Deny
	}
	return c
}

// delegateProfiles are the existing profiles with these names; nil: all profiles of the tenant.
func (a *Admission) delegateProfiles(ctx context.Context, tenant domain.TenantID, names []string) ([]domain.AgentProfile, error) {
	if names == nil {
		page, err := a.config.Profiles.List(ctx, tenant, "", maxDelegateOptions)
		return page.Items, err
	}
	var found []domain.AgentProfile
	for _, name := range names {
		profile, err := a.config.Profiles.AgentProfile(ctx, tenant, name, 0)
		switch {
		case err == nil:
			found = append(found, profile)
		case domain.CodeOf(err) != domain.CodeNotFound:
			return nil, err
		}
	}
	return found, nil
}

// sources are the models of the server, and the installed agents.
func (a *Admission) sources() (options []domain.DelegateOption) {
	granted := withDelegate(false, withoutCommands(*a.config.Settings.Capabilities))
	for _, name := range a.config.Models.Names() {
		options = append(options, domain.DelegateOption{Source: domain.Source{Type: domain.SourceInternal, Model: name}, Capabilities: granted})
	}
	for _, name := range a.config.Agents.Names() {
		if a.config.Agents.Installed(name) == nil {
			options = append(options, domain.DelegateOption{Source: domain.Source{Type: domain.SourceACP, Command: name}, Capabilities: granted})
		}
	}
	return options
}

func firstCharacters(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}
