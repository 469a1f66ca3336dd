package registry

import (
	"cmp"
	"log/slog"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"signoff/internal/acp/settings"
	"signoff/internal/acp/wire"
	"signoff/internal/domain"
)

// bypass is a setting that lets an agent act without asking anybody. Where one stands in a configuration, people would be asked
// nothing and see it too late: the server does not start with it, unless the configuration says that it is wanted.
type bypass struct {
	place    string // below the configuration: args/1
	spelling string // as it stands there
	remedy   string // what to do about it; empty: take it out
	launcher bool   // it is the command, which may run anything
}

// findBypasses looks for everything in the tables. A variable that is passed on may hold one, too.
func (a *agent) findBypasses(lookup func(string) (string, bool)) []bypass {
	var found []bypass
	if launches(a.Command, a.Args) {
		found = append(found, bypass{place: "command", spelling: a.Command, launcher: true})
	}
	flag := ""
	for i, argument := range a.Args {
		if bypassArgument(flag, argument) {
			found = append(found, bypass{place: "args/" + strconv.Itoa(i), spelling: argument})
		}
		flag = argument
	}
	for i, name := range a.Env {
		value, set := lookup(name)
		if _, replaced := a.SetEnv[name]; set && !replaced && bypassVariable(name, value) {
			found = append(found, bypass{place: "env/" + strconv.Itoa(i), spelling: name})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(a.SetEnv)) {
		if bypassVariable(name, a.SetEnv[name]) {
			found = append(found, bypass{place: "setEnv/" + name, spelling: name})
		}
	}
	if bypassModeOf(a.name, a.argv(), a.mode()) {
		found = append(found, bypass{place: "mode", spelling: "mode " + a.mode()})
	}
	if len(found) == 0 && isAgent("opencode", a.name, a.argv()) && !openCodeAsked(a.variable(openCodePermission, lookup)) {
		found = append(found, bypass{
			place: "setEnv/" + openCodePermission, spelling: "these permissions of OpenCode",
			remedy: "Set " + openCodePermission + ` to {"*":"ask"} in setEnv, or have it ask for edit, bash and webfetch`,
		})
	}
	return found
}

// variable is what the agent gets of this name, or nothing.
func (a *agent) variable(name string, lookup func(string) (string, bool)) (value string) {
	if value, set := a.SetEnv[name]; set {
		return value
	}
	if slices.Contains(a.Env, name) {
		value, _ = lookup(name)
	}
	return value
}

func (a *agent) argv() []string { return append([]string{a.Command}, a.Args...) }

// isAgent tells whether a configuration of this name, or the program that it runs, is a built-in agent. A configuration of another name has nothing of
// the built-in one.
func isAgent(builtin, name string, argv []string) bool {
	return canonical(name) == builtin || canonical(programOf(argv)) == builtin
}

// judgeBypasses refuses a configuration that lets its agent act without asking, or whose launcher hides whether it does, and that does not
// say that this is wanted.
func (a *agent) judgeBypasses(lookup func(string) (string, bool), logger *slog.Logger) error {
	for _, found := range a.findBypasses(lookup) {
		switch {
		case a.AllowBypass && found.launcher:
			logger.Warn("nobody can tell whether an agent behind a launcher asks, and its configuration allows that", "agent", a.name,
				"with", found.spelling)
		case a.AllowBypass:
			logger.Warn("an agent acts without asking anybody, as its configuration allows", "agent", a.name, "with", found.spelling)
		case found.launcher:
			return domain.Invalid(a.pointer(found.place), "%q runs another program, so nobody can tell whether agent %q is told to act "+
				"without asking. Name the agent's own program; if the launcher is what you want, say so with allowBypass: true",
				found.spelling, a.name)
		default:
			return domain.Invalid(a.pointer(found.place), "with %s, agent %q acts without asking anybody. %s; if that "+
				"is what you want, say so with allowBypass: true", found.spelling, a.name, cmp.Or(found.remedy, "Take it out"))
		}
	}
	return nil
}

// warnOfOwnMode warns about a configuration that runs a well-known agent without a mode: the agent then works in its default mode,
// which may not ask for permission. The built-in configuration has a mode that asks.
func (a *agent) warnOfOwnMode(logger *slog.Logger) {
	if a.mode() != "" || a.AllowBypass {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(builtins)) {
		if known := builtins[name].config; known.Mode != nil && isAgent(name, a.name, a.argv()) {
			logger.Warn("no mode is set in which the agent asks, so that it works in one of its own", "agent", a.name,
				"program", known.Command, "askingMode", *known.Mode)
		}
	}
}

// bypassArgument tells whether an argument is a bypass, given the one before it, whose value it may be.
func bypassArgument(before, argument string) bool {
	if bypassText(argument) {
		return true
	}
	flag, value, joined := strings.Cut(argument, "=")
	switch {
	case !strings.HasPrefix(argument, "-"):
		return bypassValue(before, argument)
	case joined:
		return bypassValue(flag, value) || bypassGrant(flag) || bypassFlag(flag) && isOn(value)
	default:
		short := len(flag) > 2 && flag[1] != '-' && bypassValue(flag[:2], flag[2:]) // -anever
		return short || bypassGrant(flag) || bypassFlag(flag)
	}
}

// inTables tells whether an agent is known for which it is so.
func inTables(is func(bypassTable) bool) bool {
	for _, table := range bypassTables {
		if is(table) {
			return true
		}
	}
	return false
}

// bypassText looks for what gives an agent away wherever it stands.
func bypassText(text string) bool {
	text = compacted(text)
	return inTables(func(t bypassTable) bool {
		return slices.ContainsFunc(t.texts, func(part string) bool { return strings.Contains(text, compacted(part)) })
	})
}

// bypassFlag knows flags that need no value.
func bypassFlag(flag string) bool {
	short := strings.TrimPrefix(flag, "-")
	joined := !strings.HasPrefix(short, "-") && len(short) <= longestJoined && strings.Contains(short, "y") &&
		strings.Trim(strings.ToLower(short), shortFlags) == ""
	return joined || inTables(func(t bypassTable) bool { return matches(t.flags, flag) })
}

// bypassGrant knows flags whose value says what is done without asking.
func bypassGrant(flag string) bool {
	return inTables(func(t bypassTable) bool { return matches(t.grants, flag) })
}

// bypassValue knows flags that are harmless but for some of their values.
func bypassValue(flag, value string) bool {
	return inTables(func(t bypassTable) bool {
		for name, values := range t.values {
			if matches([]string{name}, flag) && matches(values, value) {
				return true
			}
		}
		return matches(t.modeFlags, flag) && bypassMode(value)
	})
}

// matches tells whether a flag or a mode is one of these.
func matches(patterns []string, word string) bool {
	isFlag, word := strings.HasPrefix(word, "-"), compacted(word)
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		if strings.HasPrefix(pattern, "-") != isFlag {
			return false
		}
		is, _ := path.Match(compacted(pattern), word)
		return is
	})
}

// bypassMode knows the modes in which an agent acts without asking. An id may be an address, with the mode as its fragment.
func bypassMode(mode string) bool {
	return inTables(func(t bypassTable) bool { return matches(t.modes, modeWord(mode)) })
}

// bypassModeOf is bypassMode for one agent, whose modes may mean something of their own.
func bypassModeOf(name string, argv []string, mode string) bool {
	for builtin, table := range bypassTables {
		if isAgent(builtin, name, argv) && matches(table.ownModes, modeWord(mode)) {
			return true
		}
	}
	return bypassMode(mode)
}

func modeWord(mode string) string { return mode[strings.LastIndexByte(mode, '#')+1:] }

// bypassOption is bypassMode for the value of any option: agents could list what they have flags for among their options.
func bypassOption(agent string, argv []string, option domain.AgentOption, value string) bool {
	if option.Category == settings.CategoryMode {
		return bypassModeOf(agent, argv, value)
	}
	for _, name := range []string{option.ID, option.Name} {
		flag := "--" + name
		if bypassValue(flag, value) || (bypassFlag(flag) || bypassGrant(flag)) && isOn(value) {
			return true
		}
	}
	return false
}

// bypassRefused tells that a value is not to be had.
func bypassRefused(wanted settings.Selection, agent, value string) error {
	with := "In the mode"
	if wanted.Option != settings.CategoryMode {
		with = "With " + strconv.Quote(wire.Beginning(wanted.Option, 100)) + " set to"
	}
	return domain.Invalid(wanted.Pointer, "%s %q, agent %q acts without asking anybody, and the registry does "+
		"not allow that.", with, wire.Beginning(value, 100), agent)
}

// bypassVariable knows variables that do the same as the flags.
func bypassVariable(name, value string) bool {
	name = strings.ToUpper(name)
	return bypassText(value) || inTables(func(t bypassTable) bool {
		for pattern, bypasses := range t.variables {
			if is, _ := path.Match(pattern, name); is && bypasses(value) {
				return true
			}
		}
		return slices.ContainsFunc(t.modeVariables, func(pattern string) bool {
			is, _ := path.Match(pattern, name)
			return is && bypassMode(value)
		})
	})
}
