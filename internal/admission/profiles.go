package admission

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"signoff/api"
	"signoff/internal/domain"
	"signoff/internal/keys"
	"signoff/internal/store"
)

// Profiles finds agent profiles.
type Profiles interface {
	// AgentProfile returns a version that requests of the tenant can use; version 0 is the newest. Where there is none it is domain.CodeNotFound.
	AgentProfile(ctx context.Context, tenant domain.TenantID, name string, version int) (domain.AgentProfile, error)
	// List returns a page of profiles that requests of the tenant can use.
	List(ctx context.Context, tenant domain.TenantID, after string, limit int) (store.Page[domain.AgentProfile], error)
}

// AdmitProfile judges the definition of an agent profile as a request of the same key with the same fields, and returns it as it is stored. The
// pointers of errors begin with the place of the definition.
func (a *Admission) AdmitProfile(ctx context.Context, by keys.Principal, at string, definition api.AgentProfileDefinition) (json.RawMessage, error) {
	if definition.Source.Type == domain.SourceProfile {
		return nil, domain.Invalid(at+"/source/type", "An agent profile has a source of its own: internal or acp.")
	}
	body := bodyOfProfile(definition)
	body.Prompt, body.SystemPrompt = &api.PromptInput{Text: "x"}, definition.SystemPrompt
	request, err := a.assembleResolved(ctx, by, body)
	if err != nil {
		return nil, domain.Below(at, err)
	}
	definition.Source = api.Source{Source: definition.Source.Source}
	definition.Source.Command = request.Source.Command // by its name in the registry
	return a.config.Masker.JSON(domain.Encode(definition)), nil
}

// bodyOfProfile is a request with everything that a definition grants, but its system prompt: that is no template, as those of requests may be.
func bodyOfProfile(d api.AgentProfileDefinition) api.CreateExecution {
	return api.CreateExecution{
		Source: &d.Source, Capabilities: d.Capabilities, Tools: d.Tools, Environment: d.Environment, McpServers: d.McpServers, Secrets: d.Secrets,
		Memory: d.Memory, Budget: d.Budget, MaxIterations: d.MaxIterations, TimeoutSeconds: d.TimeoutSeconds,
		ApprovalTimeoutSeconds: d.ApprovalTimeoutSeconds, OutputSchema: d.OutputSchema, Delegation: d.Delegation,
	}
}

// assembleProfile assembles a request that uses an agent profile. The definition is judged by the grants of its maker's key and by what this server
// has now.
func (a *Admission) assembleProfile(ctx context.Context, by keys.Principal, body api.CreateExecution) (domain.Request, error) {
	var wrong fieldErrors
	if wrong.profileSource(*body.Source); len(wrong) > 0 {
		return domain.Request{}, wrong.error()
	}
	profile, err := a.usableProfile(ctx, by, *body.Source)
	if err != nil {
		return domain.Request{}, domain.At("/source/name", err)
	}
	var definition api.AgentProfileDefinition
	if err := json.Unmarshal(profile.Definition, &definition); err != nil {
		return domain.Request{}, fmt.Errorf("admission: the definition of the agent profile %s: %w", profile.Name, err)
	}
	narrowed, wrong := a.narrow(profile.Name, definition, body)
	if len(wrong) > 0 {
		return domain.Request{}, wrong.error()
	}
	request, err := a.assembleResolved(ctx, by.With(profile.Grants), narrowed)
	if err != nil {
		return request, blameProfile(profile.Name, body, err)
	}
	if body.Delegation != nil {
		delegation, wrong := narrowDelegation(profile.Name, *request.Delegation, *body.Delegation)
		if len(wrong) > 0 {
			return request, wrong.error()
		}
		if err := a.checkCeiling(delegation.Ceiling); err != nil {
			return request, err
		}
		request.Delegation = &delegation
	}
	request.Profile = &domain.ProfileName{Name: profile.Name, Version: profile.Version, Digest: profile.Digest()}
	request.SystemPrompt = api.Or(definition.SystemPrompt, "")
	if request.Model != nil && definition.Source.Model != "" {
		request.Model.From = domain.ModelFromProfile
	}
	return request, nil
}

// profileSource refuses what the source of the profile says.
func (f *fieldErrors) profileSource(source api.Source) {
	if source.Name == "" {
		f.add("/source/name", "is required for the type profile: a name of GET /agent-profiles")
	}
	f.refuse("is the agent profile's own and must not be sent", sentFields{
		{"/source/command", source.Command != ""}, {"/source/args", source.Args != nil}, {"/source/mode", source.Mode != ""},
		{"/source/options", source.Options != nil}, {"/source/fallbacks", source.Fallbacks != nil}, {"/source/settings", source.Settings != nil},
	})
}

func (a *Admission) usableProfile(ctx context.Context, by keys.Principal, source api.Source) (domain.AgentProfile, error) {
	if !by.MayUseProfile(source.Name) {
		return domain.AgentProfile{}, profileForbidden(source.Name)
	}
	return a.knownProfile(ctx, by.Tenant, source.Name, source.Version)
}

func profileForbidden(name string) error {
	return domain.Errorf(domain.CodeForbidden, "The agent profile %q takes a key with the scope %s, or %s:NAME of this profile.",
		name, keys.ProfilesUse, keys.ProfilesUse)
}

// knownProfile reads a profile; version 0 is the newest.
func (a *Admission) knownProfile(ctx context.Context, tenant domain.TenantID, name string, version int) (domain.AgentProfile, error) {
	reading, cancel := domain.WithCreationTime(ctx, domain.CreationTime)
	defer cancel()
	profile, err := a.config.Profiles.AgentProfile(reading, tenant, name, version)
	switch {
	case domain.CodeOf(err) != domain.CodeNotFound:
		return profile, err
	case version > 0:
		return profile, domain.Errorf(domain.CodeUnknownProfile, "There is no version %d of an agent profile %q that can be used.", version, name)
	default:
		return profile, domain.Errorf(domain.CodeUnknownProfile, "There is no agent profile %q.", name)
	}
}

// blameProfile moves errors about what the request has from its profile to the name of the profile.
func blameProfile(name string, body api.CreateExecution, err error) error {
	var coded *domain.Error
	if !errors.As(err, &coded) {
		return err
	}
	sent := map[string]bool{
		"capabilities": body.Capabilities != nil, "tools": body.Tools != nil, "environment": body.Environment != nil, "mcpServers": body.McpServers != nil,
		"secrets": body.Secrets != nil, "memory": body.Memory != nil, "budget": body.Budget != nil, "maxIterations": body.MaxIterations != nil,
		"timeoutSeconds": body.TimeoutSeconds != nil, "approvalTimeoutSeconds": body.ApprovalTimeoutSeconds != nil,
		"outputSchema": body.OutputSchema != nil, "delegation": false, "source": false,
	}
	blamed := *coded
	blamed.Details = nil
	for _, detail := range coded.Details {
		field, _, _ := strings.Cut(strings.TrimPrefix(detail.Pointer, "/"), "/")
		bySender, grantable := sent[field]
		ownModel := detail.Pointer == "/source/model" && body.Source.Model != ""
		if grantable && !bySender && !ownModel {
			message := fmt.Sprintf("The agent profile %s cannot be used here: %s (%s)", name, detail.Message, detail.Pointer)
			blamed.Message, detail = message, domain.Detail{Pointer: "/source/name", Message: message}
		}
		blamed.Details = append(blamed.Details, detail)
	}
	return &blamed
}
