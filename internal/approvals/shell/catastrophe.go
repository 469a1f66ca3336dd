package shell

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// Catastrophe returns why the line always asks a person, or "". It is a second net below rules and capabilities: what
// it catches takes away a system, its data, or other people's work, and cannot be undone. See the package's text for
// the set. It looks into what is unclear as far as it can guess.
func (s Script) Catastrophe() string {
	if len(s.alarms) > 0 {
		return s.alarms[0]
	}
	for _, c := range s.Readings() {
		if why := disaster(c); why != "" {
			return why
		}
	}
	for _, target := range slices.Concat(s.targets, s.Writes) {
		if why := ruins(target); why != "" {
			return why
		}
	}
	if s.Commands == nil && piped.MatchString(s.line) {
		return "It runs what it downloads."
	}
	return ""
}

// piped finds a download into a shell where the line cannot be parsed.
var piped = regexp.MustCompile(`\b(curl|wget)\b[^\n]*\|\s*(sudo\s+)?(ba|da|z|k)?sh\b`)

// disaster returns why one command is a catastrophe.
func disaster(c Command) string {
	name := c.name()
	if check, found := disasters[name]; found {
		return check(c.Words[1:])
	}
	switch {
	case strings.HasPrefix(name, "mkfs"), slices.Contains(always, name):
		return name + " takes away a system, its data or its users."
	case sqlClients[name] && drops.MatchString(c.Text):
		return "It drops data of a database."
	}
	return ""
}

// always are programs that are catastrophes whatever their arguments are.
var always = strings.Fields(`mke2fs mkswap wipefs sfdisk cfdisk gdisk sgdisk blkdiscard shutdown reboot halt poweroff
	userdel deluser groupdel delgroup killall5 dropdb lvremove vgremove pvremove`)

// disasters are checks of the arguments of one program.
var disasters = map[string]func(args []string) string{
	"rm": removal, "chmod": ownership, "chown": ownership, "chgrp": ownership,
	"mv": displacement, "find": search, "git": rewriting,
	"dd":        anyArg("It writes to a device.", func(a string) bool { return strings.HasPrefix(a, "of=") && device(a[3:]) }),
	"shred":     anyArg("It overwrites a device or a system file.", func(a string) bool { return device(a) || system(a) }),
	"init":      anyArg("It stops the machine.", oneOf("0", "6")),
	"telinit":   anyArg("It stops the machine.", oneOf("0", "6")),
	"systemctl": anyArg("It stops the machine.", oneOf("reboot", "poweroff", "halt", "kexec", "rescue", "emergency", "isolate")),
	"kill":      killing,
	"pkill":     anyArg("It kills everything.", oneOf(".", ".*", "-u", "-U", "init", "systemd", "sshd")),
	"fdisk":     unless("It changes partitions.", "-l", "--list", "-lu"),
	"parted":    unless("It changes partitions.", "-l", "--list", "print"),
	"iptables":  firewall, "ip6tables": firewall,
	"nft":        anyArg("It takes the firewall down.", oneOf("flush")),
	"ufw":        anyArg("It takes the firewall down.", oneOf("disable", "reset")),
	"crontab":    anyArg("It removes all scheduled jobs.", func(a string) bool { return cluster(a, "r") }),
	"kubectl":    cluster8s,
	"oc":         cluster8s,
	"rsync":      mirroring,
	"mysqladmin": anyArg("It drops data of a database.", oneOf("drop")),
	"redis-cli":  anyArg("It drops data of a database.", func(a string) bool { return oneOf("flushall", "flushdb")(strings.ToLower(a)) }),
	"cryptsetup": anyArg("It makes a disk unreadable.", oneOf("luksFormat", "erase", "luksErase")),
	"mongosh":    anyArg("It drops data of a database.", func(a string) bool { return strings.Contains(a, "dropDatabase") }),
}

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

// cluster tells whether an argument has one of these letters among its options.
func cluster(arg, letters string) bool {
	return len(arg) > 1 && arg[0] == '-' && arg[1] != '-' && strings.ContainsAny(arg, letters)
}

func recursive(args []string) bool {
	return slices.ContainsFunc(args, func(a string) bool {
		return cluster(a, "rR") || len(a) > 4 && strings.HasPrefix("--recursive", a)
	})
}

func removal(args []string) string {
	if slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, "--no-pres") }) {
		return "rm is told that the root folder may go."
	}
	deep := recursive(args)
	for _, arg := range args {
		if deep && (precious(arg) || here(arg)) {
			return "It removes " + quoted(arg) + " with everything in it."
		}
		if system(arg) {
			return "It removes a part of the system: " + quoted(arg) + "."
		}
	}
	return ""
}

func ownership(args []string) string {
	deep := recursive(args)
	for _, arg := range args {
		if precious(arg) && (deep || path.Clean(arg) == "/") || deep && system(arg) {
			return "It changes who may use " + quoted(arg) + ", with everything in it."
		}
	}
	return ""
}

func displacement(args []string) string {
	for _, arg := range args {
		if precious(arg) || system(arg) {
			return "It moves or replaces a part of the system: " + quoted(arg) + "."
		}
	}
	return ""
}

// search: find deletes, or has rm delete, whatever lies below a folder.
func search(args []string) string {
	deletes := slices.Contains(args, "-delete") || slices.Contains(args, "rm") || slices.Contains(args, "shred")
	narrow := slices.ContainsFunc(args, func(a string) bool {
		return slices.Contains([]string{"-name", "-iname", "-path", "-regex", "-mtime", "-mmin", "-size", "-empty", "-newer", "-user"}, a)
	})
	for _, arg := range args {
		if strings.HasPrefix(arg, "-") {
			break
		}
		if deletes && (precious(arg) || here(arg) && !narrow) {
			return "It removes what lies below " + quoted(arg) + "."
		}
	}
	return ""
}

func killing(args []string) string {
	for i, arg := range args {
		if arg == "1" || arg == "-1" && (i > 0 || len(args) == 1) {
			return "It kills everything."
		}
	}
	return ""
}

func firewall(args []string) string {
	for i, arg := range args {
		if arg == "-F" || arg == "--flush" || arg == "-X" || arg == "-P" && i+2 < len(args) && args[i+2] == "DROP" {
			return "It takes the firewall down, or the machine off the network."
		}
	}
	return ""
}

func cluster8s(args []string) string {
	if !slices.Contains(args, "delete") {
		return ""
	}
	return anyArg("It deletes a large part of a cluster.", oneOf("ns", "namespace", "namespaces", "--all", "--all=true", "-A",
		"--all-namespaces", "node", "nodes", "no", "pv", "pvc", "crd", "persistentvolume", "persistentvolumeclaim", "project", "projects"))(prefixed(args))
}

// prefixed cuts type/name into its type: namespace/prod is a namespace.
func prefixed(args []string) []string {
	out := make([]string, len(args))
	for i, arg := range args {
		out[i], _, _ = strings.Cut(arg, "/")
	}
	return out
}

// mirroring: rsync takes away what its source does not have.
func mirroring(args []string) string {
	deletes := slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, "--del") })
	for i, arg := range args {
		last := i == len(args)-1
		if last && deletes && (precious(arg) || hereFolder(arg)) || precious(arg) && slices.Contains(args, "--remove-source-files") {
			return "It removes what lies below " + quoted(arg) + "."
		}
	}
	return ""
}

// rewriting: git forgets, or makes others forget.
func rewriting(args []string) string {
	verb := slices.IndexFunc(args, func(a string) bool {
		return slices.Contains([]string{"push", "filter-branch", "filter-repo", "reflog", "gc", "update-ref"}, a)
	})
	if verb < 0 {
		return ""
	}
	rest := args[verb+1:]
	switch args[verb] {
	case "filter-branch", "filter-repo":
		return "It rewrites the history of a repository."
	case "reflog", "gc", "update-ref":
		return anyArg("It makes a repository forget.", func(a string) bool {
			return slices.Contains([]string{"expire", "delete", "-d"}, a) || strings.HasPrefix(a, "--prune=")
		})(rest)
	}
	return anyArg("It overwrites the history that others share.", func(a string) bool {
		return cluster(a, "fd") || strings.HasPrefix(a, "--force") || a == "--mirror" || a == "--delete" || a == "--prune" ||
			len(a) > 1 && (a[0] == '+' || a[0] == ':')
	})(rest)
}
