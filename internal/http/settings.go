package http

import (
	"cmp"

	"signoff/api"
	"signoff/internal/domain"
)

// This file is what an execution may do, between the contract's shapes and the domain's: capabilities, tools, policy.

// settings are the parts of a request that say what its tools may do.
type settings struct {
	capabilities *api.Capabilities
	tools        *api.ToolSettings
	policy       *api.ExecutionPolicy
	safeMode     *bool
	secrets      *[]string
}

// into fills a request in. What contradicts itself was refused before, see [faults.settings].
func (s settings) into(request *domain.Request, unsaid domain.Capabilities) {
	request.Capabilities = toCapabilities(s.capabilities, unsaid)
	request.SafeModeOff = !api.Or(s.safeMode, true) || (s.capabilities != nil && api.Or(s.capabilities.AlwaysAllowTools, false))
	request.Secrets = api.Or(s.secrets, nil)
	if s.tools != nil {
		request.Tools = filledTools(*s.tools)
	}
	if s.policy != nil {
		request.Unattended, request.Rules = api.Or(s.policy.Unattended, false), api.Or(s.policy.Rules, nil)
	}
}

func toCapabilities(body *api.Capabilities, granted domain.Capabilities) domain.Capabilities {
	if body == nil {
		return granted
	}
	for _, class := range []struct {
		into  *domain.Verdict
		named *domain.Verdict
		seed  *bool // true is allow, false is ask
	}{
		{&granted.Read, body.Read, body.ReadFiles}, {&granted.Write, body.Write, body.WriteFiles},
		{&granted.Execute, body.Execute, body.ExecuteCommands}, {&granted.Network, body.Network, nil},
		{&granted.MCP, body.Mcp, nil}, {&granted.Delegate, body.Delegate, nil},
	} {
		switch {
		case class.named != nil:
			*class.into = *class.named
		case class.seed != nil && *class.seed:
			*class.into = domain.Allow
		case class.seed != nil:
			*class.into = domain.Ask
		}
	}
	return granted
}

// filledTools has the defaults of a policy in the place of what was left out.
func filledTools(tools domain.ToolSettings) domain.ToolSettings {
	if tools.BashPolicy != nil {
		policy := *tools.BashPolicy
		policy.DenyBehavior, policy.Rules = cmp.Or(policy.DenyBehavior, domain.DenyHITL), listed(policy.Rules)
		tools.BashPolicy = &policy
	}
	return tools
}

// settings refuses what is said twice: nobody can tell which of the two was meant.
func (f *faults) settings(s settings) {
	if s.capabilities == nil {
		return
	}
	c := s.capabilities
	for _, twice := range []struct {
		name string
		both bool
	}{
		{"readFiles", c.Read != nil && c.ReadFiles != nil}, {"writeFiles", c.Write != nil && c.WriteFiles != nil},
		{"executeCommands", c.Execute != nil && c.ExecuteCommands != nil},
	} {
		if twice.both {
			f.add("/capabilities/"+twice.name, "must not come together with the class that it is the boolean of")
		}
	}
	if c.AlwaysAllowTools != nil && s.safeMode != nil && *c.AlwaysAllowTools == *s.safeMode {
		f.add("/capabilities/alwaysAllowTools", "contradicts safeMode")
	}
}

// ——— out ———

func showSettings(out *api.Execution, r domain.Request) {
	out.Capabilities = shownCapabilities(r.Capabilities)
	out.Tools, out.SafeMode = filledTools(r.Tools), !r.SafeModeOff
	out.Policy = api.ExecutionPolicy{Unattended: &r.Unattended, Rules: listOrNull(r.Rules)}
	out.Memory = api.MemorySettings{Enabled: &r.Memory}
	out.RunbookId, out.Secrets = textOrNull(r.RunbookID), append([]string{}, r.Secrets...)
	out.Retry = r.Retry
	if r.Budget != (domain.Budget{}) {
		out.Budget = &r.Budget
	}
}

// shownCapabilities names every class as it is judged, also where the request of an older server says nothing.
func shownCapabilities(c domain.Capabilities) domain.Capabilities {
	c.Write, c.Execute = cmp.Or(c.Write, domain.Deny), cmp.Or(c.Execute, domain.Deny)
	c.Network, c.MCP, c.Delegate = c.Of(domain.ClassNetwork), c.Of(domain.ClassMCP), c.Of(domain.ClassDelegate)
	return c
}
