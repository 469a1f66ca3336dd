package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"slices"

	"signoff/api"
	"signoff/internal/admission"
	"signoff/internal/domain"
	"signoff/internal/environments"
	"signoff/internal/mcp"
	"signoff/internal/profiles"
	"signoff/internal/sandbox"
	"signoff/internal/secrets"
	"signoff/internal/store"
)

// profiles judges the operator's agent profiles as requests, and warns of stored ones that they hide.
func (d *diagnosis) profiles(
	ctx context.Context, config Config, file configFile, vault *secrets.Vault, servers *mcp.Catalog, known *environments.Catalog, box *sandbox.Sandbox,
) {
	operators, err := file.openProfiles(d.masker)
	if err != nil {
		d.bad("agent profiles", err)
		return
	}
	if len(operators) == 0 || servers == nil || known == nil { // the latter were said above
		return
	}
	admitted, closeAll, err := file.judge(config, vault, d.masker, servers, known, box)
	if err != nil { // said above
		return
	}
	defer closeAll()
	for _, name := range slices.Sorted(maps.Keys(operators)) {
		what, err := "agent profile "+name, judgeProfile(ctx, admitted, operators[name])
		switch {
		case domain.CodeOf(err) == domain.CodeAgentUnavailable || domain.CodeOf(err) == domain.CodeEnvironmentUnavailable:
			d.note(what, "requests cannot use it: "+domain.FailureOf(err).Message)
		case err != nil:
			d.bad(what, file.mistake(atProfile(name, err)))
		default:
			d.good(what, descriptionOf(operators[name]))
		}
	}
	d.hiddenProfiles(ctx, config, operators)
}

func descriptionOf(profile profiles.Operator) string {
	var definition api.AgentProfileDefinition
	if err := json.Unmarshal(profile.Definition, &definition); err != nil { // unreachable: it was judged
		return ""
	}
	return cmp.Or(api.Or(definition.Description, ""), string(definition.Source.Type))
}

// judge returns an admission that judges definitions. It has no executions, files and templates, which only requests name.
func (f configFile) judge(
	config Config, vault *secrets.Vault, masker *secrets.Masker, servers *mcp.Catalog, known *environments.Catalog, box *sandbox.Sandbox,
) (admitted *admission.Admission, closeAll func(), err error) {
	tools, err := f.openTools()
	if err != nil {
		return nil, nil, err
	}
	settings, err := f.openSettings()
	if err != nil {
		return nil, nil, err
	}
	files, err := f.openWorkspace(config)
	if err != nil {
		return nil, nil, err
	}
	registeredAgents, err := f.openAgents(config, servers, known, box, masker)
	if err != nil {
		return nil, nil, err
	}
	registeredModels, err := f.openModels(tools, masker, nil, nil)
	if err != nil {
		registeredAgents.Close()
		return nil, nil, err
	}
	return admission.New(admission.Config{
			Environments: known, Models: models{registeredModels, f.Models.Models}, Agents: agents{registeredAgents}, Tools: shownTools{tools},
			Secrets: knownSecrets{vault}, Masker: masker, Workspace: files, Settings: settings, MCPServers: mcpServers{servers},
		}), func() {
			registeredModels.Close()
			registeredAgents.Close()
		}, nil
}

// hiddenProfiles warns of profiles that keys have made under names of the operator's.
func (d *diagnosis) hiddenProfiles(ctx context.Context, config Config, operators map[string]profiles.Operator) {
	if _, err := os.Stat(config.storeConfig().Path); config.DatabaseURL == "" && errors.Is(err, fs.ErrNotExist) {
		return
	}
	s, err := store.Open(ctx, config.storeConfig())
	if err != nil { // said above
		return
	}
	defer s.Close()
	if s.CheckSchema(ctx) != nil { // said above
		return
	}
	for _, name := range slices.Sorted(maps.Keys(operators)) {
		stored, err := s.AgentProfilesNamed(ctx, name)
		if err != nil {
			d.bad("agent profile "+name, err)
		}
		for _, p := range stored {
			if operators[name].Of(p.Tenant) {
				d.note("agent profile "+name, "it hides the profile that tenant "+string(p.Tenant)+" has made over HTTP under this name; rename one of them")
			}
		}
	}
}
