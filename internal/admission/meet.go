package admission

import (
	"slices"
	"strings"

	"signoff/internal/domain"
)

// The functions here intersect two settings without an error, because a ceiling bounds a definition that somebody else has written.

// meetCeilings intersects two ceilings. Rules and the bash policy are those of the first one: those of the second hold anyway, as an ancestor's.
func meetCeilings(c, most domain.Ceiling) domain.Ceiling {
	met := domain.Ceiling{Capabilities: c.Capabilities.Within(most.Capabilities), Tools: c.Tools, Rules: c.Rules}
	met.Tools.Enabled = meetTools(c.Tools.Enabled, most.Tools.Enabled)
	met.MCPServers, met.Secrets = intersection(c.MCPServers, most.MCPServers), intersection(c.Secrets, most.Secrets)
	for _, choice := range c.Environments {
		if other := environmentNamed(most, choice.Name); other != nil {
			met.Environments = append(met.Environments, meetChoices(*other, choice))
		}
	}
	return met
}

// meetChoices is the part of an environment that both choices leave.
func meetChoices(one, other domain.EnvironmentChoice) domain.EnvironmentChoice {
	return domain.EnvironmentChoice{
		Name: one.Name, ReadOnly: one.ReadOnly || other.ReadOnly, Mounts: meetNames(one.Mounts, other.Mounts), Hosts: meet(one.Hosts, other.Hosts, coversHost),
	}
}

// meetNames intersects two lists; nil is everything.
func meetNames(one, other []string) []string {
	return meet(one, other, func(pattern, name string) bool { return pattern == name })
}

// meetTools intersects two lists of tools; nil is everything.
func meetTools(one, other []string) []string {
	return meet(one, other, func(pattern, name string) bool { return enables([]string{pattern}, name) })
}

// coversHost reports whether a pattern covers a host, or all hosts of another pattern.
func coversHost(pattern, host string) bool {
	below, several := strings.CutPrefix(pattern, "*")
	return pattern == host || several && strings.HasSuffix(host, below)
}

// meet intersects two lists of patterns; nil is everything.
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

// intersection intersects two lists; an empty list is nothing.
func intersection(one, other []string) []string {
	return slices.DeleteFunc(slices.Clone(one), func(name string) bool { return !slices.Contains(other, name) })
}

// narrowedList is the part of a list that is in another one, too; nil stays nil.
func narrowedList(list *[]string, most []string) *[]string {
	if list == nil {
		return nil
	}
	return new(intersection(*list, most))
}
