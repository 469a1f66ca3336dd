package http

import (
	"context"
	"encoding/json"
	"fmt"

	"signoff/api"
	"signoff/internal/admission"
	"signoff/internal/audit"
	"signoff/internal/domain"
	"signoff/internal/profiles"
	"signoff/internal/store"
)

// Profiles finds and changes agent profiles. One of another tenant is domain.CodeNotFound.
type Profiles interface {
	// Read returns the newest version of a profile, and with a version that one, although the profile may be deleted.
	Read(ctx context.Context, tenant domain.TenantID, name string, version int) (domain.AgentProfile, error)
	List(ctx context.Context, tenant domain.TenantID, after string, limit int) (store.Page[domain.AgentProfile], error)
	// Create is domain.CodeConflict for a name that is taken.
	Create(ctx context.Context, p domain.AgentProfile, channel string) (domain.AgentProfile, error)
	// Replace makes the version behind p.Version. It is domain.CodeConflict where that is not the newest, or the profile is the operator's.
	Replace(ctx context.Context, p domain.AgentProfile, channel string) (domain.AgentProfile, error)
	Delete(ctx context.Context, tenant domain.TenantID, name string, by domain.Actor, channel string) error
}

var _ Profiles = (*profiles.Service)(nil)

// profileHandlers answer the routes of agent profiles.
type profileHandlers struct {
	profiles  Profiles
	admission *admission.Admission
}

// list leaves out system prompts and schemas: five hundred of them would be a response of a hundred megabytes.
func (h profileHandlers) list(ctx context.Context, request paged) (responder, error) {
	page, err := h.profiles.List(ctx, principalOf(ctx).Tenant, request.Cursor, request.Limit)
	if err != nil {
		return nil, err
	}
	items := make([]api.AgentProfile, len(page.Items))
	for i, p := range page.Items {
		if items[i], err = toProfile(p); err != nil {
			return nil, err
		}
		items[i].Definition.SystemPrompt, items[i].Definition.OutputSchema = nil, nil
	}
	return okJSON(api.AgentProfilePage{Items: items, NextCursor: textOrNull(page.Next)}), nil
}

type profilePath struct {
	Name string `path:"name"`
}

type getProfile struct {
	profilePath
	Version int `query:"version"`
}

func (h profileHandlers) get(ctx context.Context, request getProfile) (responder, error) {
	return profileAnswer(h.profiles.Read(ctx, principalOf(ctx).Tenant, request.Name, request.Version))
}

type createProfile struct {
	Body api.CreateAgentProfile
}

func (h profileHandlers) create(ctx context.Context, request createProfile) (responder, error) {
	p, err := h.admitted(ctx, request.Body.Name, request.Body.Definition)
	if err != nil {
		return nil, err
	}
	if err := h.admission.RefuseSecrets("/name", p.Name); err != nil {
		return nil, err
	}
	if p, err = h.profiles.Create(ctx, p, audit.ByAPI); err != nil {
		return nil, err
	}
	shown, err := toProfile(p)
	return createdJSON("/agent-profiles/"+p.Name, shown).with("ETag", etag(int64(p.Version))), err
}

type replaceProfile struct {
	profilePath
	IfMatch *string `header:"If-Match"`
	Body    api.ReplaceAgentProfile
}

// replace makes the next version of a profile whose newest version the client has read.
func (h profileHandlers) replace(ctx context.Context, request replaceProfile) (responder, error) {
	if _, err := h.profiles.Read(ctx, principalOf(ctx).Tenant, request.Name, 0); err != nil {
		return nil, err
	}
	version, err := ifMatch(request.IfMatch, "agent profile")
	if err != nil {
		return nil, err
	}
	p, err := h.admitted(ctx, request.Name, request.Body.Definition)
	if err != nil {
		return nil, err
	}
	p.Version = int(version)
	return profileAnswer(h.profiles.Replace(ctx, p, audit.ByAPI))
}

func (h profileHandlers) delete(ctx context.Context, request profilePath) (responder, error) {
	by := principalOf(ctx)
	return noContent{}, h.profiles.Delete(ctx, by.Tenant, request.Name, by.Actor, audit.ByAPI)
}

// admitted is a profile that holds no more than its maker's key may request.
func (h profileHandlers) admitted(ctx context.Context, name string, definition api.AgentProfileDefinition) (domain.AgentProfile, error) {
	by := principalOf(ctx)
	admitted, err := h.admission.AdmitProfile(ctx, by, "/definition", definition)
	return domain.AgentProfile{Tenant: by.Tenant, Name: name, Definition: admitted, Grants: by.Grants(), By: by.Actor}, err
}

func profileAnswer(p domain.AgentProfile, err error) (responder, error) {
	if err != nil {
		return nil, err
	}
	shown, err := toProfile(p)
	answer := okJSON(shown)
	if p.Version > 0 {
		answer = answer.with("ETag", etag(int64(p.Version)))
	}
	return answer, err
}

func toProfile(p domain.AgentProfile) (api.AgentProfile, error) {
	shown := api.AgentProfile{Name: p.Name, Origin: api.AgentProfileOriginOperator, Digest: p.Digest(), DeletedAt: timeOrNull(p.Deleted)}
	if p.Version > 0 {
		shown.Origin, shown.Version, shown.CreatedAt, shown.CreatedBy = api.AgentProfileOriginApi, &p.Version, new(api.Time(p.Created)), &p.By
	}
	if err := json.Unmarshal(p.Definition, &shown.Definition); err != nil {
		return shown, fmt.Errorf("http: the definition of the agent profile %s: %w", p.Name, err)
	}
	return shown, nil
}

func toUsedProfile(p *domain.ProfileName) *api.UsedProfile {
	if p == nil {
		return nil
	}
	used := api.UsedProfile{Name: p.Name, Digest: p.Digest}
	if p.Version > 0 {
		used.Version = &p.Version
	}
	return &used
}
