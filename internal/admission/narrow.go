package admission

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"signoff/api"
	"signoff/internal/domain"
)

// narrowing collects what a request wants beyond its agent profile.
type narrowing struct {
	profile string
	fieldErrors
}

// narrow returns the request with what its agent profile grants in the place of what it leaves out. It may ask for less and never for more.
func (a *Admission) narrow(name string, d api.AgentProfileDefinition, body api.CreateExecution) (api.CreateExecution, fieldErrors) {
	n := narrowing{profile: name}
	n.permissions(permissions{body.Capabilities, body.Tools, body.Policy, body.SafeMode, body.Secrets})
	n.replaced(d, body)
	whole := body
	whole.SystemPrompt = nil
	whole.Delegation = d.Delegation // the request's own narrows it when it is resolved
	if d.OutputSchema != nil {
		whole.OutputSchema = d.OutputSchema
	}
	whole.Source = &api.Source{Source: d.Source.Source}
	whole.Source.Model = cmp.Or(d.Source.Model, body.Source.Model)
	whole.Tools = n.tools(d.Tools, body.Tools)
	whole.McpServers = n.names("/mcpServers", d.McpServers, body.McpServers)
	whole.Secrets = n.names("/secrets", d.Secrets, body.Secrets)
	whole.Environment = n.environment(a.defaultEnvironment(d), api.Or(d.Environment, domain.EnvironmentChoice{}), api.Or(body.Environment, domain.EnvironmentChoice{}))
	whole.Capabilities = n.capabilities(*a.config.Settings.Capabilities, d.Capabilities, body)
	whole.SafeMode = nil // the capabilities say it
	whole.Memory = n.memory(d.Memory, body.Memory)
	whole.Budget = n.budget(d.Budget, body.Budget)
	whole.MaxIterations = n.limit("/maxIterations", d.MaxIterations, body.MaxIterations)
	whole.TimeoutSeconds = n.limit("/timeoutSeconds", d.TimeoutSeconds, body.TimeoutSeconds)
	whole.ApprovalTimeoutSeconds = n.limit("/approvalTimeoutSeconds", d.ApprovalTimeoutSeconds, body.ApprovalTimeoutSeconds)
	return whole, n.fieldErrors
}

func (a *Admission) defaultEnvironment(d api.AgentProfileDefinition) string {
	name, err := a.environmentFor(d.Source.Source, domain.EnvironmentChoice{})
	if err != nil { // unreachable: nothing is chosen
		return ""
	}
	return name
}

func (n *narrowing) more(pointer string) {
	n.add(pointer, "is more than the agent profile "+n.profile+" grants; a request can only narrow it")
}

// replaced refuses the fields that would replace a part of the profile. A rule that allows would let calls run that the profile asks about.
func (n *narrowing) replaced(d api.AgentProfileDefinition, body api.CreateExecution) {
	n.refuse("must not be sent: it would replace a part of the agent profile "+n.profile, sentFields{
		{"/source/model", body.Source.Model != "" && d.Source.Model != ""},
		{"/systemPrompt", api.Or(body.SystemPrompt, "") != ""},
		{"/tools/bashPolicy", body.Tools != nil && body.Tools.BashPolicy != nil},
		{"/outputSchema", body.OutputSchema != nil && d.OutputSchema != nil},
	})
	if body.Delegation != nil && d.Delegation == nil {
		n.more("/delegation")
	}
	if body.Policy == nil {
		return
	}
	for i, rule := range api.Or(body.Policy.Rules, nil) {
		if rule.Effect == domain.Allow {
			n.more(fmt.Sprintf("/policy/rules/%d/effect", i))
		}
	}
}

func (n *narrowing) tools(granted, sent *api.ToolSettings) *api.ToolSettings {
	if sent == nil || sent.Enabled == nil {
		return granted
	}
	narrowed := api.Or(granted, api.ToolSettings{})
	narrowed.Enabled = n.enabled("/tools/enabled", narrowed.Enabled, sent.Enabled)
	return &narrowed
}

// enabled narrows a list of tools; nil is all.
func (n *narrowing) enabled(at string, granted, sent []string) []string {
	for i, name := range sent {
		if granted != nil && !enables(granted, name) {
			n.more(fmt.Sprintf("%s/%d", at, i))
		}
	}
	return sent
}

// enables reports whether a list of tools has a tool, or all tools of a name with a star.
func enables(list []string, name string) bool {
	return slices.ContainsFunc(list, func(pattern string) bool {
		prefix, several := strings.CutSuffix(pattern, "*")
		return pattern == name || several && strings.HasPrefix(name, prefix)
	})
}

func (n *narrowing) names(at string, granted, sent *[]string) *[]string {
	if sent == nil {
		return granted
	}
	for i, name := range *sent {
		if !slices.Contains(api.Or(granted, nil), name) {
			n.more(fmt.Sprintf("%s/%d", at, i))
		}
	}
	return sent
}

// environment is never nil: an execution that continues the session of another one would work in the environment of that one.
func (n *narrowing) environment(byDefault string, granted, sent domain.EnvironmentChoice) *domain.EnvironmentChoice {
	if sent.Name != "" && sent.Name != cmp.Or(granted.Name, byDefault) {
		n.more("/environment")
	}
	granted = n.choice("/environment", granted, sent)
	return &granted
}

// choice is the part of an environment that both choices leave.
func (n *narrowing) choice(at string, granted, sent domain.EnvironmentChoice) domain.EnvironmentChoice {
	granted.ReadOnly = granted.ReadOnly || sent.ReadOnly
	for _, list := range []struct {
		at      string
		granted *[]string
		sent    []string
	}{{at + "/mounts", &granted.Mounts, sent.Mounts}, {at + "/hosts", &granted.Hosts, sent.Hosts}} {
		if list.sent == nil {
			continue
		}
		if *list.granted != nil { // nil is everything that the environment has
			n.names(list.at, list.granted, &list.sent)
		}
		*list.granted = list.sent
	}
	return granted
}

// capabilities names each class, so that the server's defaults count only for those that the profile leaves out.
func (n *narrowing) capabilities(byDefault domain.Capabilities, profile *api.Capabilities, body api.CreateExecution) *api.Capabilities {
	sent := api.Or(body.Capabilities, api.Capabilities{})
	granted := toCapabilities(profile, byDefault)
	wanted := toCapabilities(&sent, granted)
	n.exceeding("/capabilities", granted, wanted, sent)
	trusted := profile != nil && api.Or(profile.AlwaysAllowTools, false)
	if !trusted && api.Or(sent.AlwaysAllowTools, false) {
		n.more("/capabilities/alwaysAllowTools")
	}
	if !trusted && !api.Or(body.SafeMode, true) {
		n.more("/safeMode")
	}
	trusted = trusted && api.Or(sent.AlwaysAllowTools, true) && !api.Or(body.SafeMode, false)
	return &api.Capabilities{
		Read: &wanted.Read, Write: &wanted.Write, Execute: &wanted.Execute, Network: &wanted.Network, Mcp: &wanted.MCP, Delegate: &wanted.Delegate,
		Host: new(api.CapabilitiesHost(wanted.Host)), AlwaysAllowTools: &trusted,
	}
}

// exceeding finds the classes whose sent verdict exceeds the granted one.
func (n *narrowing) exceeding(at string, granted, wanted domain.Capabilities, sent api.Capabilities) {
	seeds := map[domain.Class]string{} // the spelling that was sent
	for class, named := range map[domain.Class]struct {
		seed string
		sent *bool
	}{domain.ClassRead: {"readFiles", sent.ReadFiles}, domain.ClassWrite: {"writeFiles", sent.WriteFiles}, domain.ClassExecute: {"executeCommands", sent.ExecuteCommands}} {
		if named.sent != nil {
			seeds[class] = named.seed
		}
	}
	for _, class := range domain.Classes {
		if wanted.Of(class).Exceeds(granted.Of(class)) {
			n.more(at + "/" + cmp.Or(seeds[class], string(class)))
		}
	}
}

func (n *narrowing) memory(granted, sent *api.MemorySettings) *api.MemorySettings {
	if sent == nil || sent.Enabled == nil {
		return granted
	}
	if *sent.Enabled && (granted == nil || !api.Or(granted.Enabled, false)) {
		n.more("/memory/enabled")
	}
	return sent
}

func (n *narrowing) budget(granted, sent *api.Budget) *api.Budget {
	if sent == nil {
		return granted
	}
	bounds := api.Or(granted, api.Budget{})
	bounds.Tokens = smaller(n, "/budget/tokens", bounds.Tokens, sent.Tokens)
	bounds.Cost = smaller(n, "/budget/cost", bounds.Cost, sent.Cost)
	bounds.ToolCalls = smaller(n, "/budget/toolCalls", bounds.ToolCalls, sent.ToolCalls)
	bounds.Seconds = smaller(n, "/budget/seconds", bounds.Seconds, sent.Seconds)
	return &bounds
}

func (n *narrowing) limit(at string, granted, sent *int) *int {
	if sent == nil || granted == nil {
		return cmp.Or(sent, granted)
	}
	if *sent == 0 && *granted != 0 { // no limit
		n.more(at)
	}
	smaller(n, at, *granted, *sent)
	return sent
}

// smaller is the bound that was sent, or the granted one where none was; 0 is no bound.
func smaller[N int | int64 | float64](n *narrowing, at string, granted, sent N) N {
	if granted != 0 && sent > granted {
		n.more(at)
	}
	return cmp.Or(sent, granted)
}
