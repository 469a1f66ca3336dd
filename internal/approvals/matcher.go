package approvals

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"signoff/internal/domain"
	"signoff/internal/egress"
)

// CheckMatcher returns the mistake in a matcher that a client wrote.
func CheckMatcher(m domain.Matcher) error {
	switch {
	case coversAll(m):
		return domain.Invalid("/matcher", "A matcher that names nothing would cover everything; name a tool, a class, a path, a command, a host or an MCP server.")
	case m.Class != "" && !slices.Contains(domain.Classes, m.Class):
		return domain.Invalid("/matcher/class", "There is no class %q.", m.Class)
	case m.Path != "" && !filepath.IsAbs(m.Path):
		return domain.Invalid("/matcher/path", "The path of a matcher is absolute.")
	case m.Path != "" && (m.Path != filepath.Clean(m.Path) || !readable(m.Path)):
		return domain.Invalid("/matcher/path", "The path is no glob that could match: it has no .. and no /., no slash at its end, no braces, "+
			"at most %d groups of stars, and at most %d bytes.", maxStars, maxGlob)
	case m.Command != "" && !plainCommand(m.Command):
		return domain.Invalid("/matcher/command", `The command is words with one space between them, and perhaps " *" at the end for whatever follows.`)
	case m.Host != "" && (!egress.Pattern(m.Host) || m.Host != strings.ToLower(m.Host)):
		return domain.Invalid("/matcher/host", "The host is a name in small letters, *.name for all below it, an address, or *; without a scheme and without a port.")
	default:
		return checkArguments(m)
	}
}

// coversAll reports whether a matcher names nothing of a call. One that names an agent alone would cover all of its calls.
func coversAll(m domain.Matcher) bool {
	m.Agent, m.Environment, m.EnvironmentDigest = "", "", ""
	return m.Empty()
}

// plainCommand reports whether a pattern means what it looks like: a star elsewhere, or a quote, would match only itself.
func plainCommand(pattern string) bool {
	words := strings.TrimSuffix(pattern, " *")
	return words != "" && words == strings.Join(strings.Fields(words), " ") && !strings.ContainsAny(words, "*?'\"`$\\;|&<>(){}")
}

// Describe describes the calls that a matcher covers.
func Describe(m domain.Matcher) string {
	what := "every call"
	switch {
	case m.ArgumentsHash != "":
		what = "exactly this call"
	case m.Tool != "":
		what = "every call of " + m.Tool
	}
	if m.Agent == internalAgent {
		what += " by the internal agent"
	} else if m.Agent != "" {
		what += " by the agent " + m.Agent
	}
	for _, part := range []struct{ about, value string }{
		{" with the capability ", string(m.Class)}, {" on ", m.Path}, {" to the host ", m.Host}, {" of the MCP server ", m.Server},
		{" in the environment ", m.Environment},
	} {
		if part.value != "" {
			what += part.about + part.value
		}
	}
	if words, open := strings.CutSuffix(m.Command, " *"); open {
		what += " whose commands all begin with “" + words + "”"
	} else if m.Command != "" {
		what += " that runs “" + m.Command + "” and nothing else"
	}
	joint := " whose argument "
	for _, name := range slices.Sorted(maps.Keys(m.Arguments)) {
		what += joint + name + " matches “" + m.Arguments[name] + "”"
		joint = ", and "
	}
	return what
}
