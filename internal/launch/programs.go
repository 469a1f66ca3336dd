package launch

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"signoff/internal/domain"
	"signoff/internal/egress"
)

var (
	// NameForm is the form of the names of agents and of MCP servers.
	NameForm     = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,63}$`)
	variableForm = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

// CheckProgram looks at what a place, which ends in a slash, says is to be run.
func CheckProgram(place, command string, args []string) error {
	switch {
	case command == "":
		return domain.Invalid(place+"command", "the program is missing")
	case strings.ContainsRune(command, filepath.Separator) && !filepath.IsAbs(command):
		return domain.Invalid(place+"command", "%q is neither the name of a program nor an absolute path", command)
	case strings.ContainsRune(command, 0):
		return domain.Invalid(place+"command", "the program's name holds a zero byte")
	}
	for i, argument := range args {
		if strings.ContainsRune(argument, 0) {
			return domain.Invalid(place+"args/"+strconv.Itoa(i), "the argument holds a zero byte")
		}
	}
	return nil
}

// CheckVariables keeps the server's own variables from agents: SIGNOFF_TOKEN opens the API, which approves, and
// SIGNOFF_DATABASE_URL the database behind it.
func CheckVariables(place string, env []string, setEnv map[string]string) error {
	for i, name := range env {
		if err := CheckVariable(place+"env/"+strconv.Itoa(i), name); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(setEnv)) {
		at := place + "setEnv" + domain.Pointer(name)
		if err := CheckVariable(at, name); err != nil {
			return err
		}
		if strings.ContainsRune(setEnv[name], 0) {
			return domain.Invalid(at, "the value holds a zero byte")
		}
	}
	return nil
}

// CheckVariable refuses a name that is none, is set in another way, or is Signoff's own; at is its place in the configuration.
func CheckVariable(at, name string) error {
	before, _, hasValue := strings.Cut(name, "=")
	switch {
	case hasValue && variableForm.MatchString(before):
		return domain.Invalid(at, "env holds names alone; a fixed value goes to setEnv: {%s: …}", before)
	case !variableForm.MatchString(name):
		return domain.Invalid(at, "%q is not the name of a variable", name)
	case name == "HOME":
		return domain.Invalid(at, "HOME is neither passed on nor set here: a program has a home of its own, and that of an agent is the field home")
	case strings.HasPrefix(name, "SIGNOFF_"):
		return domain.Invalid(at, "%s is the server's own and not passed on", name)
	}
	return nil
}

// CheckHosts looks at the public hosts that a program is to reach from its isolation.
func CheckHosts(place string, hosts []string) error {
	for i, host := range hosts {
		if host == "*" || !egress.Pattern(host) {
			return domain.Invalid(place+"hosts/"+strconv.Itoa(i), "%q is not a host that a program can be given: a name, an address, or *.name", host)
		}
	}
	return nil
}

// AbsolutePath leaves out the parts of a search path that depend on the folder: an agent starts in its workspace, where
// a file named git would then be run in place of git.
func AbsolutePath(path string) string {
	parts := slices.DeleteFunc(filepath.SplitList(path), func(part string) bool { return !filepath.IsAbs(part) })
	return strings.Join(parts, string(filepath.ListSeparator))
}

// FindProgram looks for a command on the PATH that lookup tells of, the server's, as a shell does it. It is empty where there is none.
func FindProgram(command string, lookup Lookup) string {
	if filepath.IsAbs(command) {
		return executable(command)
	}
	path, _ := lookup("PATH")
	for _, folder := range filepath.SplitList(AbsolutePath(path)) {
		if found := executable(filepath.Join(folder, command)); found != "" {
			return found
		}
	}
	return ""
}

func executable(path string) string {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Mode().Perm()&0o111 == 0 {
		return ""
	}
	return path
}

// Real is a path without links, as far as it exists.
func Real(path string) string {
	if resolved, err := filepath.EvalSymlinks(path); err == nil {
		return resolved
	}
	if folder := filepath.Dir(path); folder != path {
		return filepath.Join(Real(folder), filepath.Base(path))
	}
	return path
}

// ListNames ends a sentence about a name that is none.
func ListNames(names []string) string {
	if len(names) == 0 {
		return "there are none."
	}
	slices.Sort(names)
	return "there are: " + strings.Join(names, ", ") + "."
}
