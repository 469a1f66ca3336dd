package shell

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// removers are programs that take away the files that they name.
var removers = set("rm srm shred wipe unlink rmdir")

// search: find deletes, or has rm delete, whatever lies below a folder.
func search(args []string) string {
	for len(args) > 0 && slices.Contains([]string{"-H", "-L", "-P"}, args[0]) {
		args = args[1:]
	}
	action := slices.IndexFunc(args, isAction)
	if action < 0 || !slices.Contains(args, "-delete") && !execsRemover(args[action:]) {
		return ""
	}
	tests := args[:action] // what stands behind an action is looked at too late
	from := slices.IndexFunc(tests, func(a string) bool { return strings.HasPrefix(a, "-") || a == "(" || a == "!" })
	if from < 0 {
		from = len(tests)
	}
	folders := tests[:from]
	if len(folders) == 0 {
		folders = []string{"."}
	}
	byName, byAny := narrowed(tests[from:], nameTests), narrowed(tests[from:], narrowTests)
	for _, folder := range folders {
		all := !byName
		if here(folder) || leftovers[path.Clean(folder)] {
			all = !byAny
		}
		if all && (precious(folder) || here(folder)) || vital(folder) {
			return "It removes what lies below " + quoted(folder) + "."
		}
	}
	return ""
}

// searchByName: fd -x rm removes what lies below a folder and has a name. Its first word is the pattern for the name.
func searchByName(args []string) string {
	action := slices.IndexFunc(args, oneOf("-x", "-X", "--exec", "--exec-batch"))
	if action < 0 || !slices.ContainsFunc(args[action:], func(a string) bool { return removers[path.Base(a)] }) {
		return ""
	}
	operands := slices.DeleteFunc(slices.Clone(args[:action]), func(a string) bool { return strings.HasPrefix(a, "-") })
	if len(operands) == 0 {
		return "It removes what lies below this folder."
	}
	for _, folder := range operands[1:] {
		if vital(folder) || precious(folder) && !namesSome(operands[0]) {
			return "It removes what lies below " + quoted(folder) + "."
		}
	}
	return ""
}

// isAction reports whether find does something with what it found so far.
func isAction(arg string) bool {
	return arg == "-delete" || slices.Contains([]string{"-exec", "-execdir", "-ok", "-okdir"}, arg)
}

// Tests of find, each with a value but -empty.
var (
	nameTests   = set("-name -iname -path -ipath -wholename -iwholename -regex -iregex")
	narrowTests = set(`-name -iname -path -ipath -wholename -iwholename -regex -iregex -mtime -mmin -ctime -cmin -atime -amin -size -empty
		-newer -user`)
	classes = regexp.MustCompile(`\[[^]]*\]`)
)

// narrowed reports whether an expression of find leaves most files out, by one of these tests: all of it, or each alternative of
// a pair of brackets, depends on one.
func narrowed(expression []string, tests map[string]bool) bool {
	inside, group, mixed := false, false, false // brackets: whether they have such a test, and whether another one
	all := false
	for i := 0; i < len(expression); i++ {
		arg := expression[i]
		negated := i > 0 && (expression[i-1] == "!" || expression[i-1] == "-not")
		narrows := tests[arg] && !negated && (!nameTests[arg] || i+1 < len(expression) && namesSome(expression[i+1]))
		switch {
		case arg == "(" && (inside || negated), !inside && (arg == "-o" || arg == "-or" || arg == ","):
			return false
		case arg == "(":
			inside, group, mixed = true, false, false
		case arg == ")":
			inside, all = false, all || group && !mixed
		case narrows && inside:
			group = true
		case narrows:
			all = true
		case inside && strings.HasPrefix(arg, "-") && arg != "-o" && arg != "-or":
			mixed = true
		}
		if tests[arg] && arg != "-empty" {
			i++
		}
	}
	return all
}

// namesSome reports whether a pattern has a letter or a digit of a name in it: * is all names.
func namesSome(pattern string) bool {
	return strings.ContainsFunc(classes.ReplaceAllString(pattern, ""), func(c rune) bool { return unicode.IsLetter(c) || unicode.IsDigit(c) })
}

// execsRemover reports whether find starts a program that takes files away: what stands behind -exec, before ; or +.
func execsRemover(args []string) bool {
	execs := false
	for _, arg := range args {
		switch {
		case isAction(arg):
			execs = true
		case arg == ";", arg == "+":
			execs = false
		case execs && removers[path.Base(arg)]:
			return true
		}
	}
	return false
}
