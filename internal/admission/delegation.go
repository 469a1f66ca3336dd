package admission

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"signoff/api"
	"signoff/internal/approvals"
	"signoff/internal/domain"
	"signoff/internal/keys"
)

// ceilingAt is the JSON pointer to the ceiling in a body.
const ceilingAt = "/delegation/ceiling"

// delegation refuses settings that no execution may have.
func (f *fieldErrors) delegation(body api.CreateExecution) {
	if body.Delegation == nil {
		return
	}
	internal := body.Source == nil || body.Source.Type == domain.SourceInternal
	if !internal || api.Or(body.Kind, domain.KindAgent) != domain.KindAgent {
		f.add("/delegation", "belongs to the kind agent of the type internal: no other one delegates")
	}
	f.ceiling(api.Or(body.Delegation.Ceiling, api.DelegationCeiling{}))
}

func (f *fieldErrors) ceiling(ceiling api.DelegationCeiling) {
	f.namedTwice(ceilingAt+"/capabilities", ceiling.Capabilities)
	if c := ceiling.Capabilities; c != nil && api.Or(c.AlwaysAllowTools, false) {
		f.add(ceilingAt+"/capabilities/alwaysAllowTools", "must not be true: a child always has safe mode")
	}
	for i, rule := range api.Or(ceiling.Rules, nil) {
		if rule.Effect == domain.Allow {
			f.add(fmt.Sprintf("%s/rules/%d/effect", ceilingAt, i), "must be deny or ask: no rule of a ceiling allows anything")
		}
	}
	var names []string
	for i, choice := range api.Or(ceiling.Environments, nil) {
		if slices.Contains(names, choice.Name) {
			f.add(fmt.Sprintf("%s/environments/%d", ceilingAt, i), "must be another environment than those before it")
		}
		names = append(names, choice.Name)
	}
}

// setDelegation sets the delegation of an execution. If the ceiling exceeds the execution's own permissions, the sender needs the scopes for them.
func (a *Admission) setDelegation(by keys.Principal, request *domain.Request, wanted *api.Delegation) error {
	if wanted == nil {
		return nil
	}
	delegation := domain.Delegation{Profiles: by.UsableProfiles(), Sources: true, CancelOnEnd: api.Or(wanted.CancelOnEnd, false)}
	if wanted.Profiles != nil {
		for i, name := range *wanted.Profiles {
			if !by.MayUseProfile(name) {
				return domain.At(fmt.Sprintf("/delegation/profiles/%d", i), profileForbidden(name))
			}
		}
		delegation.Profiles, delegation.Sources = append([]string{}, *wanted.Profiles...), false
	}
	ceiling := api.Or(wanted.Ceiling, api.DelegationCeiling{})
	if err := a.mayGrant(by, ceiling); err != nil {
		return err
	}
	delegation.Ceiling = ceilingOf(ceiling, ownCeiling(*request))
	request.Delegation, request.Requires = &delegation, max(request.Requires, domain.RequiresDelegation)
	return a.checkCeiling(delegation.Ceiling)
}

// ownCeiling is an execution's own permissions as a ceiling. Rules that allow are left out: they are for that execution alone.
func ownCeiling(request domain.Request) domain.Ceiling {
	environment := request.Environment
	environment.Digest = ""
	own := domain.Ceiling{
		Capabilities: request.Capabilities, Tools: request.Tools, MCPServers: request.MCPServers, Secrets: request.Secrets,
		Environments: []domain.EnvironmentChoice{environment},
	}
	for _, rule := range request.Rules {
		if rule.Effect != domain.Allow {
			own.Rules = append(own.Rules, rule)
		}
	}
	return own
}

// ceilingOf is a ceiling whose missing fields come from another one.
func ceilingOf(wanted api.DelegationCeiling, byDefault domain.Ceiling) domain.Ceiling {
	ceiling := domain.Ceiling{
		Capabilities: toCapabilities(wanted.Capabilities, byDefault.Capabilities), Tools: byDefault.Tools,
		Rules:      slices.Concat(api.Or(wanted.Rules, nil), byDefault.Rules), // denials of the execution always hold below it
		MCPServers: api.Or(wanted.McpServers, byDefault.MCPServers), Secrets: api.Or(wanted.Secrets, byDefault.Secrets),
		Environments: api.Or(wanted.Environments, byDefault.Environments),
	}
	if wanted.Tools != nil {
		ceiling.Tools = wanted.Tools.WithDefaults()
	}
	return ceiling
}

// mayGrant refuses MCP servers and environments that the sender may not use.
func (a *Admission) mayGrant(by keys.Principal, ceiling api.DelegationCeiling) error {
	if err := a.checkMCPServers(by, api.Or(ceiling.McpServers, nil)); err != nil {
		return domain.Below(ceilingAt, err)
	}
	for i, choice := range api.Or(ceiling.Environments, nil) {
		if err := a.mayUse(by, domain.Source{Type: domain.SourceInternal}, choice); err != nil {
			return atEnvironment(i, err)
		}
	}
	return nil
}

// atEnvironment moves the pointers of an error about an environment to its place in a ceiling.
func atEnvironment(i int, err error) error {
	return domain.Repoint(err, func(pointer string) string {
		return fmt.Sprintf("%s/environments/%d%s", ceilingAt, i, strings.TrimPrefix(pointer, "/environment"))
	})
}

// checkCeiling checks the names, patterns and rules of a ceiling.
func (a *Admission) checkCeiling(ceiling domain.Ceiling) error {
	for i, choice := range ceiling.Environments {
		if _, err := a.config.Environments.Choose(choice); err != nil {
			return atEnvironment(i, err)
		}
	}
	for i, name := range ceiling.Tools.Enabled {
		known := slices.Contains(a.config.Tools.Names(), name) || a.config.Tools.Missing(name) != "" || a.config.Tools.OfMCPServers(name, ceiling.MCPServers)
		if !known {
			return domain.Invalid(fmt.Sprintf("%s/tools/enabled/%d", ceilingAt, i),
				"There is no such tool; GET /tools lists the tools, and those of the ceiling's MCP servers are called mcp__SERVER__TOOL.")
		}
	}
	if err := a.RefuseSecrets(ceilingAt+"/tools/bashPolicy", ceiling.Tools.BashPolicy); err != nil {
		return err
	}
	if _, err := approvals.NewPolicy(domain.Request{Tools: ceiling.Tools}); err != nil {
		return domain.Below(ceilingAt+"/tools/bashPolicy", err)
	}
	for i, rule := range ceiling.Rules {
		at := fmt.Sprintf("%s/rules/%d", ceilingAt, i)
		if err := a.checkMatcher(at, rule.Matcher); err != nil {
			return err
		}
		if named := rule.Matcher.Environment; named != "" && environmentNamed(ceiling, named) == nil {
			return domain.Invalid(at+"/matcher/environment", "The rules of a ceiling are about its own environments, and %s is none of them.", named)
		}
	}
	return domain.At(ceilingAt+"/secrets", a.config.Secrets.Check(ceiling.Secrets))
}

// environmentNamed is the environment of a ceiling with that name; nil: there is none.
func environmentNamed(ceiling domain.Ceiling, name string) *domain.EnvironmentChoice {
	for i := range ceiling.Environments {
		if ceiling.Environments[i].Name == name {
			return &ceiling.Environments[i]
		}
	}
	return nil
}

// checkDelegates refuses profiles that do not exist. The names in a profile's definition are looked up when a child is created, because two profiles may
// name each other.
func (a *Admission) checkDelegates(ctx context.Context, by keys.Principal, wanted *api.Delegation) error {
	if wanted == nil {
		return nil
	}
	for i, name := range api.Or(wanted.Profiles, nil) {
		if _, err := a.knownProfile(ctx, by.Tenant, name, 0); err != nil {
			return domain.At(fmt.Sprintf("/delegation/profiles/%d", i), err)
		}
	}
	return nil
}

// narrowDelegation narrows the delegation of a request's profile.
func narrowDelegation(profile string, granted domain.Delegation, wanted api.Delegation) (domain.Delegation, fieldErrors) {
	n := narrowing{profile: profile}
	narrowed := granted
	narrowed.CancelOnEnd = api.Or(wanted.CancelOnEnd, granted.CancelOnEnd)
	if wanted.Profiles != nil {
		if granted.Profiles != nil {
			n.names("/delegation/profiles", &granted.Profiles, wanted.Profiles)
		}
		narrowed.Profiles, narrowed.Sources = *wanted.Profiles, false
	}
	if wanted.Ceiling != nil {
		narrowed.Ceiling = n.ceiling(granted.Ceiling, *wanted.Ceiling)
	}
	return narrowed, n.fieldErrors
}

// ceiling narrows a ceiling. The rules of both hold.
func (n *narrowing) ceiling(granted domain.Ceiling, wanted api.DelegationCeiling) domain.Ceiling {
	n.fieldErrors.ceiling(wanted)
	narrowed := ceilingOf(wanted, granted)
	n.exceeding(ceilingAt+"/capabilities", granted.Capabilities, narrowed.Capabilities, api.Or(wanted.Capabilities, api.Capabilities{}))
	narrowed.Tools = granted.Tools
	if wanted.Tools != nil && wanted.Tools.Enabled != nil {
		narrowed.Tools.Enabled = n.enabled(ceilingAt+"/tools/enabled", granted.Tools.Enabled, wanted.Tools.Enabled)
	}
	n.refuse("must not be sent: it would replace a part of the agent profile "+n.profile, sentFields{
		{ceilingAt + "/tools/bashPolicy", wanted.Tools != nil && wanted.Tools.BashPolicy != nil},
	})
	narrowed.Rules = slices.Concat(api.Or(wanted.Rules, nil), granted.Rules) // the request's first, so that pointers refer to them
	n.names(ceilingAt+"/mcpServers", &granted.MCPServers, wanted.McpServers)
	n.names(ceilingAt+"/secrets", &granted.Secrets, wanted.Secrets)
	if wanted.Environments != nil {
		narrowed.Environments = nil
		for i, choice := range *wanted.Environments {
			at := fmt.Sprintf("%s/environments/%d", ceilingAt, i)
			if whole := environmentNamed(granted, choice.Name); whole != nil {
				choice = n.choice(at, *whole, choice)
			} else {
				n.more(at)
			}
			narrowed.Environments = append(narrowed.Environments, choice)
		}
	}
	return narrowed
}
