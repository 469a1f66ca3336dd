package admission

import (
	"signoff/api"
	"signoff/internal/domain"
)

// This file reads what an execution may do: capabilities, tools, policy.

// permissions are the parts of a request that say what its tools may do.
type permissions struct {
	capabilities *api.Capabilities
	tools        *api.ToolSettings
	policy       *api.ExecutionPolicy
	safeMode     *bool
	secrets      *[]string
}

// into fills a request in. What contradicts itself was refused before, see [faults.permissions].
func (p permissions) into(request *domain.Request, unsaid domain.Capabilities) {
	request.Capabilities = toCapabilities(p.capabilities, unsaid)
	request.SafeModeOff = !api.Or(p.safeMode, true) || (p.capabilities != nil && api.Or(p.capabilities.AlwaysAllowTools, false))
	request.Secrets = api.Or(p.secrets, nil)
	if p.tools != nil {
		request.Tools = p.tools.WithDefaults()
	}
	if p.policy != nil {
		request.Unattended, request.Rules = api.Or(p.policy.Unattended, false), api.Or(p.policy.Rules, nil)
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

// permissions refuses what is said twice: nobody can tell which of the two was meant.
func (f *faults) permissions(p permissions) {
	if p.capabilities == nil {
		return
	}
	c := p.capabilities
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
	if c.AlwaysAllowTools != nil && p.safeMode != nil && *c.AlwaysAllowTools == *p.safeMode {
		f.add("/capabilities/alwaysAllowTools", "contradicts safeMode")
	}
}
