package launch

import (
	"maps"
	"slices"
)

// Lookup reads a variable of Signoff's own environment.
type Lookup = func(name string) (value string, set bool)

// Inside are the variables of the server that a program in an environment gets. The proxy of the server is not its own.
var Inside = []string{"PATH", "LANG", "LC_ALL", "LC_CTYPE", "TERM", "TZ"}

// certificates name files, which an environment may not show.
var certificates = []string{"SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS"}

// PassOn returns the variables that the server has of these.
func PassOn(lookup Lookup, names []string) map[string]string {
	env := map[string]string{}
	for _, name := range names {
		if value, set := lookup(name); set {
			env[name] = value
		}
	}
	return env
}

// VariablesInside are what every program in an environment gets of the server's; shows reports whether a file is there inside.
func VariablesInside(lookup Lookup, shows func(path string) bool) map[string]string {
	env := PassOn(lookup, Inside)
	for name, file := range PassOn(lookup, certificates) {
		if shows(file) {
			env[name] = file
		}
	}
	if path, set := env["PATH"]; set {
		env["PATH"] = AbsolutePath(path)
	}
	return env
}

// Lines writes variables as processes get them.
func Lines(env map[string]string) []string {
	all := make([]string, 0, len(env))
	for _, name := range slices.Sorted(maps.Keys(env)) {
		all = append(all, name+"="+env[name])
	}
	return all
}
