package shell

import (
	"regexp"
	"slices"
	"strings"
)

// Signals that take nothing down: to the first process, which reads its settings again, and to all.
var (
	gentle = set("0 1 HUP USR1 CHLD CONT WINCH")
	signal = regexp.MustCompile(`^-(SIG)?([A-Z][A-Z0-9+-]+|[0-9]+)$`)
)

// killing: a signal to the first process, or to all of them.
func killing(args []string) string {
	sent := "TERM"
	switch {
	case len(args) == 0, slices.Contains([]string{"-l", "-L", "--list", "--table"}, args[0]):
		return ""
	case len(args) > 2 && slices.Contains([]string{"-s", "-n", "--signal"}, args[0]):
		sent, args = strings.TrimPrefix(args[1], "SIG"), args[2:]
	case len(args) > 1 && signal.MatchString(args[0]):
		sent, args = signal.FindStringSubmatch(args[0])[2], args[1:]
	}
	for _, arg := range args {
		if arg == "1" && !gentle[sent] || arg == "-1" && sent != "0" {
			return "It kills everything."
		}
	}
	return ""
}

// namingProcesses are the options of pkill. Users, groups and terminals alone name all that runs there.
var namingProcesses = options{flags: "AcefhHilnovwxV0123456789", values: "dFgGPstuUr", long: []string{"inverse"}, valued: []string{"signal", "euid", "uid", "group", "pgroup", "parent", "session", "terminal", "ns", "pidfile", "runstates"}}

// killingByName: pkill of a pattern that everything matches, of the processes that a machine needs, or of all of a user.
func killingByName(args []string) string {
	sent := "TERM"
	if len(args) > 0 && signal.MatchString(args[0]) {
		sent, args = signal.FindStringSubmatch(args[0])[2], args[1:]
	}
	p := namingProcesses.parse(wordsOf(args), false)
	for _, given := range p.valuesOf("signal") {
		sent = strings.TrimPrefix(given.text, "SIG")
	}
	all := p.has("v", "inverse") || len(p.operands) == 0 && p.has("u", "U", "euid", "uid")
	for _, pattern := range texts(p.operands) {
		all = all || strings.Trim(pattern, "^.*$") == ""
		if slices.Contains([]string{"init", "systemd", "sshd"}, pattern) && !gentle[sent] {
			return "It kills what the machine needs: " + pattern + "."
		}
	}
	if all && sent != "0" {
		return "It kills everything."
	}
	return ""
}
