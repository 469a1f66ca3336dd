package admission

import (
	"signoff/api"
	"signoff/internal/domain"
)

// permissions are the parts of a request that say what an execution may do.
type permissions struct {
	capabilities *api.Capabilities
	tools        *api.ToolSettings
	policy       *api.ExecutionPolicy
	safeMode     *bool
	secrets      *[]string
}

// into fills a request in. What contradicts itself was refused before, see [fieldErrors.permissions].
func (p permissions) into(request *domain.Request, defaults domain.Capabilities) {
	request.Capabilities = toCapabilities(p.capabilities, defaults)
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
		{&granted.MCP, body.Mcp, nil}, {&granted.Delegate, body.Delegate, nil}, {&granted.Host, (*domain.Verdict)(body.Host), nil},
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

// permissions refuses contradictions.
func (f *fieldErrors) permissions(p permissions) {
	c := p.capabilities
	f.namedTwice("/capabilities", c)
	if c != nil && c.AlwaysAllowTools != nil && p.safeMode != nil && *c.AlwaysAllowTools == *p.safeMode {
		f.add("/capabilities/alwaysAllowTools", "contradicts safeMode")
	}
}

// namedTwice refuses a class that is given twice, because nobody can know which of the two was meant.
func (f *fieldErrors) namedTwice(at string, c *api.Capabilities) {
	if c == nil {
		return
	}
	f.refuse("must not come together with the class that it is the boolean of", sentFields{
		{at + "/readFiles", c.Read != nil && c.ReadFiles != nil}, {at + "/writeFiles", c.Write != nil && c.WriteFiles != nil},
		{at + "/executeCommands", c.Execute != nil && c.ExecuteCommands != nil},
	})
}
