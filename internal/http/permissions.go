package http

import (
	"cmp"

	"signoff/api"
	"signoff/internal/domain"
)

// addPermissions adds what an execution may do: capabilities, tools, policy.
func addPermissions(out *api.Execution, r domain.Request) {
	out.Capabilities = effectiveCapabilities(r.Capabilities)
	out.Tools, out.SafeMode = r.Tools.WithDefaults(), !r.SafeModeOff
	out.Policy = api.ExecutionPolicy{Unattended: &r.Unattended, Rules: listOrNull(r.Rules)}
	out.Memory = api.MemorySettings{Enabled: &r.Memory}
	out.RunbookId, out.Secrets = textOrNull(r.RunbookID), append([]string{}, r.Secrets...)
	out.Retry = r.Retry
	if r.Budget != (domain.Budget{}) {
		out.Budget = &r.Budget
	}
}

// effectiveCapabilities returns the verdict for every class, even if the request was stored by an older server without it.
func effectiveCapabilities(c domain.Capabilities) domain.Capabilities {
	c.Write, c.Execute = cmp.Or(c.Write, domain.Deny), cmp.Or(c.Execute, domain.Deny)
	c.Network, c.MCP, c.Delegate = c.Of(domain.ClassNetwork), c.Of(domain.ClassMCP), c.Of(domain.ClassDelegate)
	c.Host = c.Of(domain.ClassHost)
	return c
}
