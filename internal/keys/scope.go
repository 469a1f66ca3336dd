package keys

import (
	"slices"
	"strings"

	"signoff/internal/domain"
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
	PoliciesRead          Scope = "policies:read"          // permission rules, and dry runs
	PoliciesWrite         Scope = "policies:write"         // permission rules, also by remembering a decision for all executions
	MemoryRead            Scope = "memory:read"
	MemoryWrite           Scope = "memory:write"
	AuditRead             Scope = "audit:read"
	MetricsRead           Scope = "metrics:read"
	WebhooksWrite         Scope = "webhooks:write" // webhooks: see, create, delete, redeliver
)

// Scopes lists every scope.
var Scopes = []Scope{
	ExecutionsRead, ExecutionsWrite, ExecutionsCancel, EventsRead, ApprovalsRead, ApprovalsDecide,
	ApprovalsDecideUnseen, AgentsRead, EnvironmentsUse, PoliciesRead, PoliciesWrite, MemoryRead, MemoryWrite, AuditRead, MetricsRead,
	WebhooksWrite,
}

// ParseScopes checks names and returns them sorted, each once. No scope at all is an error: such a key opens nothing.
func ParseScopes(names []string) ([]Scope, error) {
	var scopes []Scope
	for _, name := range names {
		scope := Scope(strings.TrimSpace(name))
		if !slices.Contains(Scopes, scope) {
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

func scopeNames() string {
	names := make([]string, len(Scopes))
	for i, scope := range Scopes {
		names[i] = string(scope)
	}
	return strings.Join(names, ", ")
}
