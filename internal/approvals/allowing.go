package approvals

import (
	"slices"

	"signoff/internal/approvals/shell"
	"signoff/internal/domain"
	"signoff/internal/egress"
)

// first finds the first rule with this effect that covers the call.
func (j *judging) first(effect domain.Verdict, covers func(domain.PermissionRule) bool) *domain.PermissionRule {
	rules := j.all()
	for i := range rules {
		if j.ctx.Err() != nil {
			return nil // nothing that is found now is a judgement any more
		}
		if effect == domain.Allow && rules[i].Scope == "" && j.does(domain.ClassHost) {
			continue // a request does not allow what it asks for on the host
		}
		if rules[i].Effect == effect && rules[i].Active(j.now) && covers(rules[i]) {
			return &rules[i]
		}
	}
	return nil
}

// all are the rules of the request, and the later ones.
func (p Policy) all() []domain.PermissionRule { return slices.Concat(p.written, p.Rules) }

// allows reports whether a rule with this matcher lets the call run: all that the call does must be covered. What holds a
// call back is another question; see restricts.
func (j *judging) allows(m domain.Matcher) bool {
	action := j.call.Action
	switch {
	case coversAll(m), !j.isMeant(m), !j.allowsHere(m),
		m.ArgumentsHash == "" && j.does(domain.ClassHost), // on the host, one call says nothing about the next
		m.Class != "" && !j.allowsClass(m),
		m.Path != "" && !every(action.Paths, func(path string) bool { return inGlob(m.Path, path) == certain }),
		!j.argumentsAllowed(m.Arguments),
		m.Host != "" && !every(action.Hosts, func(host string) bool { return egress.Covers([]string{m.Host}, host) }),
		m.Command != "" && !every(j.script.Commands, func(c shell.Command) bool { return begins(m.Command, c.Words) }):
		return false
	}
	return m.ArgumentsHash != "" || j.foreseen(m)
}

// allowsHere reports whether a rule was made for the environment of the call. What was seen in one environment says nothing about another, where the same
// command reads other files. A rule that names no environment is older than environments, when there was only the workspace. A rule for
// a definition covers what requests leave of it, and nothing after it has changed.
func (j *judging) allowsHere(m domain.Matcher) bool {
	e := j.Environment
	switch {
	case m.Environment == "" && m.ArgumentsHash != "" && m.ArgumentsHash == j.hash:
		return true // the hash names the environment
	case e == nil:
		return m.Environment == ""
	case m.Environment == "":
		return e.Name == string(domain.ViewWorkspace) && e.Risk() == domain.ViewWorkspace
	}
	return m.Environment == e.Name && m.EnvironmentDigest != "" && (m.EnvironmentDigest == e.Digest() || m.EnvironmentDigest == e.Whole)
}

// isMeant compares the single-valued fields.
func (j *judging) isMeant(m domain.Matcher) bool {
	for _, field := range []struct{ wanted, is string }{
		{m.Agent, j.agent}, {m.ArgumentsHash, j.hashFor(m)}, {m.Tool, toolFor(m, j.call)}, {m.Server, j.call.Action.Server},
	} {
		if field.wanted != "" && field.wanted != field.is {
			return false
		}
	}
	return true
}

// toolFor is the name of the call's tool that a rule would use. The name that a model knows an MCP tool by may be shortened, and another one in another
// execution; a rule that names the server can name the tool as the server does.
func toolFor(m domain.Matcher, call domain.ToolCall) string {
	if call.MCP != nil && m.Server != "" && m.Tool == call.MCP.Tool {
		return call.MCP.Tool
	}
	return call.Tool
}

// hashFor is the hash of the call that a rule would name.
func (j *judging) hashFor(m domain.Matcher) string {
	if m.Environment == "" && j.older != "" && m.ArgumentsHash == j.older {
		return j.older
	}
	return j.hash
}

// allowsClass reports whether the call takes no other power than this one. Exactly this call may take more, since all of
// it was seen; but it must be called the same: the hash does not say whether an agent calls it a reading or a command.
func (j *judging) allowsClass(m domain.Matcher) bool {
	return m.Class == j.call.Class && (m.ArgumentsHash != "" || len(j.needs) == 1)
}

// foreseen reports whether a rule that was not made for exactly this call may allow it: the effects of the call must be clear, and
// the rule must cover all of them. An approval of every git log does not cover one that writes its output to a file, or that gets a
// secret; an approval of a file does not cover a command beside it.
func (j *judging) foreseen(m domain.Matcher) bool {
	action := j.call.Action
	switch {
	case len(j.script.Unclear) > 0 || len(action.Secrets) > 0,
		m.Tool != "" && m.Host == "" && len(action.Hosts) > 0 && j.call.Class != domain.ClassNetwork,
		m.Path != "" && m.Command == "" && action.Command != "",
		m.Command != "" && len(j.script.Writes)+len(action.Hosts) > 0:
		return false
	}
	return true
}

// every reports whether there are parts, and all of them are so.
func every[T any](parts []T, is func(T) bool) bool {
	return len(parts) > 0 && !slices.ContainsFunc(parts, func(part T) bool { return !is(part) })
}
