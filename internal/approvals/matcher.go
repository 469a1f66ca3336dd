package approvals

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"signoff/internal/approvals/shell"
	"signoff/internal/domain"
)

// CheckMatcher tells what is wrong with a matcher that a client wrote.
func CheckMatcher(m domain.Matcher) error {
	switch {
	case m == domain.Matcher{}:
		return domain.Invalid("/matcher", "A matcher that names nothing would cover everything; name a tool, a class, a path, a command, a host or an MCP server.")
	case m.Class != "" && !slices.Contains(domain.Classes, m.Class):
		return domain.Invalid("/matcher/class", "There is no class %q.", m.Class)
	case m.Path != "" && !filepath.IsAbs(m.Path):
		return domain.Invalid("/matcher/path", "The path of a matcher is absolute.")
	case m.Path != "" && (!doublestar.ValidatePattern(m.Path) || strings.Contains(m.Path, "/../") || strings.HasSuffix(m.Path, "/..")):
		return domain.Invalid("/matcher/path", "The path is no glob that could match.")
	case m.Command != "" && !plainCommand(m.Command):
		return domain.Invalid("/matcher/command", `The command is words with one space between them, and perhaps " *" at the end for whatever follows.`)
	default:
		return nil
	}
}

// plainCommand tells whether a pattern is what it looks like: a star elsewhere, or a quote, would match itself and not
// what its author thinks of.
func plainCommand(pattern string) bool {
	words := strings.TrimSuffix(pattern, " *")
	return words != "" && words == strings.Join(strings.Fields(words), " ") && !strings.ContainsAny(words, "*?'\"`$\\;|&<>(){}")
}

// rule finds the first rule with this effect that covers the call.
func (j *judging) rule(effect domain.Verdict) (domain.PermissionRule, bool) {
	for _, rule := range slices.Concat(j.written, j.Rules) {
		if rule.Effect == effect && rule.Active(j.now) && j.covers(rule.Matcher, effect == domain.Allow) {
			return rule, true
		}
	}
	return domain.PermissionRule{}, false
}

// covers tells whether a matcher is about the call. To be allowed, all that the call does must be covered; to be held
// back, a part is enough.
func (j *judging) covers(m domain.Matcher, whole bool) bool {
	switch {
	case m == domain.Matcher{},
		m.ArgumentsHash != "" && m.ArgumentsHash != j.hash,
		m.Tool != "" && m.Tool != j.call.Tool,
		m.Class != "" && !j.ofClass(m.Class, whole),
		m.Server != "" && m.Server != j.call.Action.Server,
		m.Path != "" && !matched(j.call.Action.Paths, whole, func(path string) bool { return inGlob(m.Path, path) }),
		m.Host != "" && !matched(j.call.Action.Hosts, whole, func(host string) bool { return inDomain(m.Host, host) }),
		m.Command != "" && !matched(j.script.Commands, whole, func(c shell.Command) bool { return begins(m.Command, c, whole) }):
		return false
	}
	return !whole || m.ArgumentsHash != "" || j.foreseen(m)
}

// foreseen tells whether a rule that was not made for exactly this call may allow it: it must be plain what the call
// does, and nothing of it may be what the rule does not speak of. Who said yes to every git log has not said yes to one
// that writes its output to a file, or that gets a secret.
func (j *judging) foreseen(m domain.Matcher) bool {
	if len(j.script.Unclear) > 0 || len(j.call.Action.Secrets) > 0 {
		return false
	}
	if len(j.call.Action.Hosts) > 0 && m.Host == "" && m.Tool != "" && j.call.Class != domain.ClassNetwork {
		return false
	}
	return m.Command == "" || (len(j.script.Writes) == 0 && len(j.call.Action.Hosts) == 0)
}

func (j *judging) ofClass(class domain.Class, whole bool) bool {
	if whole {
		return len(j.needs) == 1 && j.needs[0] == class
	}
	return slices.Contains(j.needs, class)
}

// matched tells whether all parts match, or, for a restriction, one of them. Where there is none, nothing does.
func matched[T any](parts []T, all bool, is func(T) bool) bool {
	if all {
		return len(parts) > 0 && !slices.ContainsFunc(parts, func(part T) bool { return !is(part) })
	}
	return slices.ContainsFunc(parts, is)
}

func inGlob(pattern, path string) bool {
	matches, err := doublestar.Match(pattern, path)
	return err == nil && matches
}

func inDomain(pattern, host string) bool {
	pattern, host = strings.ToLower(pattern), strings.TrimSuffix(strings.ToLower(host), ".")
	if suffix, wild := strings.CutPrefix(pattern, "*"); wild {
		return strings.HasSuffix(host, suffix)
	}
	return pattern == host
}

// begins tells whether a command is one that the pattern means. To restrict, /bin/rm is rm.
func begins(pattern string, command shell.Command, exact bool) bool {
	words, open := strings.CutSuffix(pattern, " *")
	wanted, got := strings.Fields(words), command.Words
	if len(got) < len(wanted) || (!open && len(got) != len(wanted)) {
		return false
	}
	if !exact && len(got) > 0 {
		got = append([]string{filepath.Base(got[0])}, got[1:]...)
	}
	return slices.Equal(got[:len(wanted)], wanted)
}

// Describe says in words what a matcher covers.
func Describe(m domain.Matcher) string {
	what := "every call"
	switch {
	case m.ArgumentsHash != "":
		what = "exactly this call"
	case m.Tool != "":
		what = "every call of " + m.Tool
	}
	for _, part := range []struct{ about, value string }{
		{" that needs the capability ", string(m.Class)}, {" on ", m.Path}, {" to the host ", m.Host}, {" of the MCP server ", m.Server},
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
	return what
}
