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
	request.SafeModeOff = !value(s.safeMode, true) || (s.capabilities != nil && value(s.capabilities.AlwaysAllowTools, false))
	request.Secrets = value(s.secrets, nil)
	if s.tools != nil {
		request.Tools = toToolSettings(*s.tools)
	}
	if s.policy != nil {
		request.Unattended = value(s.policy.Unattended, false)
		for _, rule := range value(s.policy.Rules, nil) {
			request.Rules = append(request.Rules, domain.RequestRule{Effect: domain.Verdict(rule.Effect), Matcher: toMatcher(rule.Matcher)})
		}
	}
}

func toCapabilities(body *api.Capabilities, granted domain.Capabilities) domain.Capabilities {
	if body == nil {
		return granted
	}
	for _, class := range []struct {
		into  *domain.Verdict
		named *api.CapabilityVerdict
		seed  *bool // true is allow, false is ask
	}{
		{&granted.Read, body.Read, body.ReadFiles}, {&granted.Write, body.Write, body.WriteFiles},
		{&granted.Execute, body.Execute, body.ExecuteCommands}, {&granted.Network, body.Network, nil},
		{&granted.MCP, body.Mcp, nil}, {&granted.Delegate, body.Delegate, nil},
	} {
		switch {
		case class.named != nil:
			*class.into = domain.Verdict(*class.named)
		case class.seed != nil && *class.seed:
			*class.into = domain.Allow
		case class.seed != nil:
			*class.into = domain.Ask
		}
	}
	return granted
}

func toToolSettings(body api.ToolSettings) domain.ToolSettings {
	settings := domain.ToolSettings{Enabled: value(body.Enabled, nil)}
	if body.BashPolicy == nil {
		return settings
	}
	settings.BashPolicy = &domain.BashPolicy{
		DefaultBehavior: domain.Verdict(body.BashPolicy.DefaultBehavior),
		DenyBehavior:    domain.DenyBehavior(value(body.BashPolicy.DenyBehavior, api.BashPolicyDenyBehavior(domain.DenyHITL))),
	}
	for _, rule := range value(body.BashPolicy.Rules, nil) {
		settings.BashPolicy.Rules = append(settings.BashPolicy.Rules, domain.BashRule{
			Name: rule.Name, Pattern: rule.Pattern, Action: domain.Verdict(rule.Action),
		})
	}
	return settings
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
	out.Capabilities = fromCapabilities(r.Capabilities)
	out.Tools, out.SafeMode = fromToolSettings(r.Tools), !r.SafeModeOff
	out.Policy = api.ExecutionPolicy{Unattended: &r.Unattended}
	for _, rule := range r.Rules {
		rules := append(value(out.Policy.Rules, nil), api.ExecutionRule{Effect: api.CapabilityVerdict(rule.Effect), Matcher: fromMatcher(rule.Matcher)})
		out.Policy.Rules = &rules
	}
	out.Memory = api.MemorySettings{Enabled: &r.Memory}
	out.RunbookId, out.Secrets = textOrNull(r.RunbookID), append([]string{}, r.Secrets...)
	if r.Retry != nil {
		out.Retry = &api.Retry{ForSeconds: r.Retry.ForSeconds}
	}
	if b := r.Budget; b != (domain.Budget{}) {
		out.Budget = &api.Budget{Tokens: numberOrNull(b.Tokens), Cost: numberOrNull(b.Cost), ToolCalls: numberOrNull(b.ToolCalls)}
	}
}

func fromCapabilities(c domain.Capabilities) api.GrantedCapabilities {
	return api.GrantedCapabilities{
		Read:     api.CapabilityVerdict(c.Read),
		Write:    api.CapabilityVerdict(cmp.Or(c.Write, domain.Deny)), // as it is judged where an old request says nothing
		Execute:  api.CapabilityVerdict(cmp.Or(c.Execute, domain.Deny)),
		Network:  api.CapabilityVerdict(c.Of(domain.ClassNetwork)),
		Mcp:      api.CapabilityVerdict(c.Of(domain.ClassMCP)),
		Delegate: api.CapabilityVerdict(c.Of(domain.ClassDelegate)),
	}
}

func numberOrNull[N int | int64 | float64](n N) *N {
	if n == 0 {
		return nil
	}
	return &n
}

func fromToolSettings(t domain.ToolSettings) api.ToolSettings {
	out := api.ToolSettings{}
	if t.Enabled != nil {
		out.Enabled = &t.Enabled
	}
	if t.BashPolicy == nil {
		return out
	}
	rules := []api.BashRule{}
	for _, r := range t.BashPolicy.Rules {
		rules = append(rules, api.BashRule{Name: r.Name, Pattern: r.Pattern, Action: api.BashRuleAction(r.Action)})
	}
	out.BashPolicy = &api.BashPolicy{
		DefaultBehavior: api.BashPolicyDefaultBehavior(t.BashPolicy.DefaultBehavior),
		DenyBehavior:    new(api.BashPolicyDenyBehavior(t.BashPolicy.DenyBehavior)), Rules: &rules,
	}
	return out
}
