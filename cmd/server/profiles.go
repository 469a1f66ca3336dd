package main

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"signoff/api"
	"signoff/internal/admission"
	"signoff/internal/domain"
	"signoff/internal/http/contract"
	"signoff/internal/keys"
	"signoff/internal/launch"
	"signoff/internal/profiles"
	"signoff/internal/secrets"
)

// openProfiles reads the section agentProfiles. An entry is a definition as the API takes it, and may name the tenants that use it.
func (f configFile) openProfiles(masker *secrets.Masker) (map[string]profiles.Operator, error) {
	if len(f.AgentProfiles) == 0 {
		return nil, nil
	}
	document, err := contract.Load()
	if err != nil {
		return nil, err
	}
	opened := map[string]profiles.Operator{}
	for _, name := range slices.Sorted(maps.Keys(f.AgentProfiles)) {
		profile, err := openProfile(document["PUT /agent-profiles/{name}"], name, f.AgentProfiles[name])
		if err != nil {
			return nil, f.mistake(atProfile(name, err))
		}
		profile.Definition = masker.JSON(profile.Definition)
		opened[name] = profile
	}
	return opened, nil
}

func openProfile(operation *contract.Operation, name string, entry map[string]any) (opened profiles.Operator, err error) {
	if !launch.NameForm.MatchString(name) {
		return opened, domain.Invalid("/definition", "%q is not a name for an agent profile; a name has up to 64 letters, digits, hyphens and underscores, and begins with a letter", name)
	}
	definition := maps.Clone(entry)
	if tenants, given := definition["tenants"]; given {
		delete(definition, "tenants")
		raw, err := json.Marshal(tenants)
		if err != nil || json.Unmarshal(raw, &opened.Tenants) != nil || len(opened.Tenants) == 0 {
			return opened, domain.Invalid("/definition/tenants", "this is a list of tenants, of one at least; without it all may use the profile")
		}
	}
	raw, err := json.Marshal(map[string]any{"definition": definition})
	if err != nil {
		return opened, domain.Invalid("/definition", "the profile %s cannot be read", name).With(err)
	}
	value, err := contract.ParseJSON(raw)
	if err != nil {
		return opened, err
	}
	if err := operation.CheckBody(value); err != nil {
		return opened, err
	}
	var body api.ReplaceAgentProfile
	if err := json.Unmarshal(raw, &body); err != nil {
		return opened, domain.Invalid("/definition", "the profile %s cannot be read", name).With(err)
	}
	opened.AgentProfile = domain.AgentProfile{Name: name, Definition: domain.Encode(body.Definition), Grants: profiles.Grants}
	return opened, nil
}

// atProfile moves the pointers of a definition to its place in the file.
func atProfile(name string, err error) error {
	return domain.Repoint(err, func(pointer string) string {
		return domain.Pointer("agentProfiles", name) + strings.TrimPrefix(pointer, "/definition")
	})
}

// checkProfiles judges the operator's profiles as requests. What this machine lacks is a warning: the file may be that of several machines, and a
// request that uses the profile is refused with the reason.
func (f configFile) checkProfiles(ctx context.Context, admitted *admission.Admission, operators map[string]profiles.Operator) error {
	for _, name := range slices.Sorted(maps.Keys(operators)) {
		err := judgeProfile(ctx, admitted, operators[name])
		switch domain.CodeOf(err) {
		case domain.CodeAgentUnavailable, domain.CodeEnvironmentUnavailable:
			slog.Warn("an agent profile cannot be used on this machine", "profile", name, "why", domain.FailureOf(err).Message)
		default:
			if err != nil {
				return f.mistake(atProfile(name, err))
			}
		}
	}
	return nil
}

// judgeProfile judges a profile as a request of each tenant that it names, or of the default tenant: they may have other MCP servers.
func judgeProfile(ctx context.Context, admitted *admission.Admission, profile profiles.Operator) error {
	var definition api.AgentProfileDefinition
	if err := json.Unmarshal(profile.Definition, &definition); err != nil {
		return err
	}
	tenants := profile.Tenants
	if tenants == nil {
		tenants = []domain.TenantID{domain.DefaultTenant}
	}
	for _, tenant := range tenants {
		operator := keys.Principal{Tenant: tenant, Scopes: profile.Grants}
		if _, err := admitted.AdmitProfile(ctx, operator, "/definition", definition); err != nil {
			return err
		}
	}
	return nil
}
