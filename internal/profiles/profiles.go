// Package profiles has the named agents: the operator's, from the configuration file, and those that keys have made, from the store.
//
// The operator's profiles win the name: one that a key has made under the same name, before the operator wrote it down, is hidden.
package profiles

import (
	"context"
	"maps"
	"slices"

	"signoff/internal/audit"
	"signoff/internal/domain"
	"signoff/internal/keys"
	"signoff/internal/store"
)

// Grants are the scopes that the operator's profiles are judged by.
var Grants = []string{string(keys.EnvironmentsUse), string(keys.MCPUse), string(keys.ProfilesUse)}

// Operator is a profile of the configuration file.
type Operator struct {
	domain.AgentProfile
	Tenants []domain.TenantID // nil: all
}

// Of reports whether requests of the tenant can use the profile.
func (o Operator) Of(tenant domain.TenantID) bool {
	return o.Tenants == nil || slices.Contains(o.Tenants, tenant)
}

// Store stores the profiles that keys have made. A profile of another tenant is domain.CodeNotFound.
type Store interface {
	AgentProfile(ctx context.Context, tenant domain.TenantID, name string, version int) (domain.AgentProfile, error)
	AgentProfiles(ctx context.Context, tenant domain.TenantID, after string, limit int) (store.Page[domain.AgentProfile], error)
	CreateAgentProfile(ctx context.Context, p domain.AgentProfile, record domain.AuditRecord) (domain.AgentProfile, error)
	ReplaceAgentProfile(ctx context.Context, p domain.AgentProfile, record domain.AuditRecord) (domain.AgentProfile, error)
	DeleteAgentProfile(ctx context.Context, tenant domain.TenantID, name string, record domain.AuditRecord) error
}

var _ Store = (*store.Store)(nil)

// Service finds and changes profiles. All methods may be called at once.
type Service struct {
	store    Store
	operator map[string]Operator
}

// NewService returns a service with the operator's profiles by name.
func NewService(s Store, operator map[string]Operator) *Service { return &Service{s, operator} }

// AgentProfile returns a version of a profile that requests can use; version 0 is the newest. Where there is none it is domain.CodeNotFound.
func (s *Service) AgentProfile(ctx context.Context, tenant domain.TenantID, name string, version int) (domain.AgentProfile, error) {
	if o, is := s.operators(tenant, name); is {
		if version != 0 {
			return domain.AgentProfile{}, notFound()
		}
		return o, nil
	}
	p, err := s.store.AgentProfile(ctx, tenant, name, version)
	if err == nil && p.Deleted != nil {
		return domain.AgentProfile{}, notFound()
	}
	return p, err
}

// Read is AgentProfile for readers: a version can be read although its profile is deleted, or hidden by one of the operator.
func (s *Service) Read(ctx context.Context, tenant domain.TenantID, name string, version int) (domain.AgentProfile, error) {
	if o, is := s.operators(tenant, name); is && version == 0 {
		return o, nil
	}
	return s.store.AgentProfile(ctx, tenant, name, version)
}

// List returns a page of profiles: on the first one those of the operator, by name, and then those of the tenant, the newest first.
func (s *Service) List(ctx context.Context, tenant domain.TenantID, after string, limit int) (store.Page[domain.AgentProfile], error) {
	page, err := s.store.AgentProfiles(ctx, tenant, after, limit)
	if err != nil {
		return page, err
	}
	page.Items = slices.DeleteFunc(page.Items, func(p domain.AgentProfile) bool {
		_, hidden := s.operators(tenant, p.Name)
		return hidden
	})
	if after != "" {
		return page, nil
	}
	var all []domain.AgentProfile
	for _, name := range slices.Sorted(maps.Keys(s.operator)) {
		if o, is := s.operators(tenant, name); is {
			all = append(all, o)
		}
	}
	page.Items = append(all, page.Items...)
	return page, nil
}

// Create makes a profile. A name that is taken is domain.CodeConflict.
func (s *Service) Create(ctx context.Context, p domain.AgentProfile, channel string) (domain.AgentProfile, error) {
	if err := s.refuseOperators(p.Tenant, p.Name); err != nil {
		return p, err
	}
	return s.store.CreateAgentProfile(ctx, p, audit.AgentProfile("agentProfile.created", p, channel))
}

// Replace makes the version behind p.Version. If that is not the newest one any more, it is domain.CodeConflict.
func (s *Service) Replace(ctx context.Context, p domain.AgentProfile, channel string) (domain.AgentProfile, error) {
	if err := s.refuseOperators(p.Tenant, p.Name); err != nil {
		return p, err
	}
	return s.store.ReplaceAgentProfile(ctx, p, audit.AgentProfile("agentProfile.replaced", p, channel))
}

// Delete hides a profile.
func (s *Service) Delete(ctx context.Context, tenant domain.TenantID, name string, by domain.Actor, channel string) error {
	if err := s.refuseOperators(tenant, name); err != nil {
		return err
	}
	return s.store.DeleteAgentProfile(ctx, tenant, name, audit.AgentProfile("agentProfile.deleted", domain.AgentProfile{Name: name, By: by}, channel))
}

func (s *Service) operators(tenant domain.TenantID, name string) (domain.AgentProfile, bool) {
	o, known := s.operator[name]
	return o.AgentProfile, known && o.Of(tenant)
}

func (s *Service) refuseOperators(tenant domain.TenantID, name string) error {
	if _, is := s.operators(tenant, name); is {
		return domain.Errorf(domain.CodeConflict, "The agent profile %q is the operator's, in the server's configuration file; choose another name.", name)
	}
	return nil
}

func notFound() error {
	return domain.Errorf(domain.CodeNotFound, "There is no such agent profile.")
}
