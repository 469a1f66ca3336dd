package shell

import (
	"slices"
	"strings"
)

// anyArg finds one argument that is reason enough.
func anyArg(why string, is func(string) bool) func([]string) string {
	return func(args []string) string {
		if slices.ContainsFunc(args, is) {
			return why
		}
		return ""
	}
}

func oneOf(words ...string) func(string) bool {
	return func(arg string) bool { return slices.Contains(words, arg) }
}

// unless is a catastrophe without one of these arguments.
func unless(why string, harmless ...string) func([]string) string {
	return func(args []string) string {
		if slices.ContainsFunc(args, oneOf(harmless...)) {
			return ""
		}
		return why
	}
}

// commanded is a catastrophe with one of these sub-commands.
func commanded(why string, verbs ...string) func([]string) string {
	return func(args []string) string {
		for _, verb := range verbs {
			if _, found := follow(args, verb); found {
				return why
			}
		}
		return ""
	}
}

// cluster reports whether an argument has one of these letters among its options.
func cluster(arg, letters string) bool {
	return len(arg) > 1 && arg[0] == '-' && arg[1] != '-' && strings.ContainsAny(arg, letters)
}

func recursive(args []string) bool {
	return slices.ContainsFunc(args, func(a string) bool {
		return cluster(a, "rR") || len(a) > 4 && strings.HasPrefix("--recursive", a)
	})
}
