package admission

import (
	"slices"
	"strings"

	"signoff/internal/domain"
)

// What meets here is taken from both sides without an error: a ceiling bounds a definition that somebody else has written.

// meetCeilings is what both ceilings have. Rules and the bash policy are the first one's: those of the second hold by themselves, as an ancestor's.
func meetCeilings(c, most domain.Ceiling) domain.Ceiling {
	met := domain.Ceiling{Capabilities: c.Capabilities.Within(most.Capabilities), Tools: c.Tools, Rules: c.Rules}
	met.Tools.Enabled = meetTools(c.Tools.Enabled, most.Tools.Enabled)
	met.MCPServers, met.Secrets = both(c.MCPServers, most.MCPServers), both(c.Secrets, most.Secrets)
	for _, choice := range c.Environments {
		if other := environmentNamed(most, choice.Name); other != nil {
			met.Environments = append(met.Environments, meetChoices(*other, choice))
		}
	}
	return met
}

// meetChoices is as much of an environment as both choices leave.
func meetChoices(one, other domain.EnvironmentChoice) domain.EnvironmentChoice {
	return domain.EnvironmentChoice{
		Name: one.Name, ReadOnly: one.ReadOnly || other.ReadOnly, Mounts: meetNames(one.Mounts, other.Mounts), Hosts: meet(one.Hosts, other.Hosts, coversHost),
	}
}

// meetNames is what is in both lists; nil is everything.
func meetNames(one, other []string) []string {
	return meet(one, other, func(pattern, name string) bool { return pattern == name })
}

// meetTools is what is in both lists of tools; nil is everything.
func meetTools(one, other []string) []string {
	return meet(one, other, func(pattern, name string) bool { return enables([]string{pattern}, name) })
}

// coversHost reports whether a pattern covers a host, or all that another pattern does.
func coversHost(pattern, host string) bool {
	below, several := strings.CutPrefix(pattern, "*")
	return pattern == host || several && strings.HasSuffix(host, below)
}

// meet is what two lists of patterns both cover; nil is everything.
func meet(one, other []string, covers func(pattern, name string) bool) []string {
	switch {
	case one == nil:
		return slices.Clone(other)
	case other == nil:
		return slices.Clone(one)
	}
	met := []string{}
	for _, lists := range [][2][]string{{one, other}, {other, one}} {
		for _, name := range lists[0] {
			covered := slices.ContainsFunc(lists[1], func(pattern string) bool { return covers(pattern, name) })
			if covered && !slices.Contains(met, name) {
				met = append(met, name)
			}
		}
	}
	return met
}

// both is what is in both lists, of which an empty one is nothing.
func both(one, other []string) []string {
	return slices.DeleteFunc(slices.Clone(one), func(name string) bool { return !slices.Contains(other, name) })
}

// shared is the part of a list that is in another one, too; nil stays nil.
func shared(list *[]string, most []string) *[]string {
	if list == nil {
		return nil
	}
	return new(both(*list, most))
}
