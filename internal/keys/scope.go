package keys

import (
	"slices"
	"strings"

	"signoff/internal/domain"
	"signoff/internal/launch"
)

// Scope is one thing that a key may do.
type Scope string

const (
	ExecutionsRead        Scope = "executions:read"
	ExecutionsWrite       Scope = "executions:write" // create and delete
	ExecutionsCancel      Scope = "executions:cancel"
	EventsRead            Scope = "events:read"
	ApprovalsRead         Scope = "approvals:read"
	ApprovalsDecide       Scope = "approvals:decide"
	ApprovalsDecideUnseen Scope = "approvals:decideUnseen" // approve without naming the hash of what was shown
	AgentsRead            Scope = "agents:read"            // agents, models and tools
	EnvironmentsUse       Scope = "environments:use"       // other environments than the default one
	MCPUse                Scope = "mcp:use"                // MCP servers of the tenant: all, or with a name behind another colon that one
	ProfilesRead          Scope = "profiles:read"
	ProfilesWrite         Scope = "profiles:write"
	ProfilesUse           Scope = "profiles:use"   // agent profiles of the tenant: all, or with a name behind another colon that one
	PoliciesRead          Scope = "policies:read"  // permission rules, and dry runs
	PoliciesWrite         Scope = "policies:write" // permission rules, also by remembering a decision for all executions
	MemoryRead            Scope = "memory:read"
	MemoryWrite           Scope = "memory:write"
	AuditRead             Scope = "audit:read"
	MetricsRead           Scope = "metrics:read"
	WebhooksWrite         Scope = "webhooks:write"     // webhooks: see, create, delete, redeliver
	WorkspacesRestore     Scope = "workspaces:restore" // take files back to an earlier checkpoint
)

// Scopes lists every scope.
var Scopes = []Scope{
	ExecutionsRead, ExecutionsWrite, ExecutionsCancel, EventsRead, ApprovalsRead, ApprovalsDecide,
	ApprovalsDecideUnseen, AgentsRead, EnvironmentsUse, MCPUse, ProfilesRead, ProfilesWrite, ProfilesUse, PoliciesRead, PoliciesWrite, MemoryRead, MemoryWrite, AuditRead, MetricsRead,
	WebhooksWrite, WorkspacesRestore,
}

// ParseScopes checks names and returns them sorted, each once. No scope at all is an error: such a key opens nothing.
func ParseScopes(names []string) ([]Scope, error) {
	var scopes []Scope
	for _, name := range names {
		scope := Scope(strings.TrimSpace(name))
		if !slices.Contains(Scopes, scope) && !ofMCPServer(scope) && !ofProfile(scope) {
			return nil, domain.Invalid("scopes", "There is no scope %q; there are %s.", name, scopeNames())
		}
		scopes = append(scopes, scope)
	}
	if len(scopes) == 0 {
		return nil, domain.Invalid("scopes", "A key needs at least one scope of %s.", scopeNames())
	}
	slices.Sort(scopes)
	return slices.Compact(scopes), nil
}

// ofMCPServer reports whether the scope is about one MCP server.
func ofMCPServer(scope Scope) bool {
	server, is := strings.CutPrefix(string(scope), string(MCPUse)+":")
	return is && launch.NameForm.MatchString(server)
}

// ofProfile reports whether the scope is about one agent profile.
func ofProfile(scope Scope) bool {
	profile, is := strings.CutPrefix(string(scope), string(ProfilesUse)+":")
	return is && launch.NameForm.MatchString(profile)
}

// MayUseProfile reports whether the principal may use an agent profile of its tenant.
func (p Principal) MayUseProfile(profile string) bool {
	return p.May(ProfilesUse) || p.May(ProfilesUse+":"+Scope(profile))
}

// UsableProfiles are the agent profiles that the principal may use; nil: all of its tenant.
func (p Principal) UsableProfiles() []string {
	if p.May(ProfilesUse) {
		return nil
	}
	names := []string{}
	for _, scope := range p.Scopes {
		if name, is := strings.CutPrefix(scope, string(ProfilesUse)+":"); is {
			names = append(names, name)
		}
	}
	return names
}

// With returns the principal with the grants of an agent profile in the place of its own scopes for environments, MCP servers and agent profiles.
func (p Principal) With(grants []string) Principal {
	own := slices.DeleteFunc(slices.Clone(p.Scopes), func(scope string) bool { return ofGrant(Scope(scope)) })
	p.Scopes = append(own, grants...)
	return p
}

// Grants are the scopes by which the definition of an agent profile is judged.
func (p Principal) Grants() []string {
	return slices.DeleteFunc(slices.Clone(p.Scopes), func(scope string) bool { return !ofGrant(Scope(scope)) })
}

func ofGrant(scope Scope) bool {
	return scope == EnvironmentsUse || scope == MCPUse || ofMCPServer(scope) || scope == ProfilesUse || ofProfile(scope)
}

// MayUseMCP reports whether the principal may use an MCP server of its tenant.
func (p Principal) MayUseMCP(server string) bool {
	return p.May(MCPUse) || p.May(MCPUse+":"+Scope(server))
}

// MayUseSomeMCP reports whether there may be an MCP server that the principal may use.
func (p Principal) MayUseSomeMCP() bool {
	return p.May(MCPUse) || slices.ContainsFunc(p.Scopes, func(scope string) bool { return ofMCPServer(Scope(scope)) })
}

func scopeNames() string {
	names := make([]string, len(Scopes))
	for i, scope := range Scopes {
		names[i] = string(scope)
	}
	return strings.Join(names, ", ") + ", " + string(MCPUse) + ":SERVER, " + string(ProfilesUse) + ":NAME"
}
