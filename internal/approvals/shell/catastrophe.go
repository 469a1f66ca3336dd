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
	for _, target := range s.targets {
		if why := Ruins(target); why != "" {
			return why
		}
	}
	if s.Commands == nil && piped.MatchString(s.line) {
		return "It runs what it downloads."
	}
	return ""
}

// Targets are the files whose contents the line writes or takes away, as written, in the folder that it changes to. They are
// for [Ruins], with where their links lead: what cannot be told of a name is in it.
func (s Script) Targets() []string { return s.targets }

// piped finds a download into a shell where the line cannot be parsed.
var piped = regexp.MustCompile(`\b(curl|wget)\b[^\n]*\|\s*(sudo\s+)?(ba|da|z|k)?sh\b`)

// disaster returns why one command is a catastrophe.
func disaster(c Command) string {
	name := unversioned(c.name())
	if len(c.Words) == 2 && (c.Words[1] == "--help" || c.Words[1] == "--version") {
		return ""
	}
	if check, found := disasters[name]; found {
		return check(c.Words[1:])
	}
	switch {
	case strings.HasPrefix(name, "mkfs"):
		return formatting(c.Words[1:])
	case slices.Contains(always, name):
		return name + " takes away a system, its data or its users."
	case sqlClients[name] && dropsData(c):
		return "It drops data of a database."
	}
	return ""
}

// always are programs that are catastrophes whatever their arguments are.
var always = strings.Fields(`cfdisk blkdiscard reboot halt poweroff userdel deluser groupdel delgroup killall5 dropdb dropuser lvremove vgremove pvremove`)

// disasters are checks of the arguments of one program.
var disasters = map[string]func(args []string) string{
	"rm": removal, "srm": removal, "wipe": removal, "setfacl": ownership,
	"fd": searchByName, "fdfind": searchByName, "tar": archiving, "bsdtar": archiving,
	"chmod": estranging, "chown": estranging, "chgrp": estranging, "chattr": ownership,
	"mv": displacement, "find": search, "git": rewriting,
	"dd":       anyArg("It writes to a device.", func(a string) bool { return strings.HasPrefix(a, "of=") && device(a[3:]) }),
	"shred":    anyArg("It overwrites a device or a system file.", func(a string) bool { return device(a) || system(a) }),
	"shutdown": unless("It stops the machine.", "-c", "-k", "--show"),
	"init":     anyArg("It stops the machine.", oneOf("0", "6")),
	"telinit":  anyArg("It stops the machine.", oneOf("0", "6")),
	"systemctl": commanded("It stops the machine.", "reboot", "poweroff", "halt", "kexec", "rescue", "emergency", "isolate",
		"start reboot.target", "start poweroff.target", "start halt.target"),
	"kill": killing, "pkill": killingByName,
	"mke2fs": formatting, "mkswap": formatting, "wipefs": wiping, "parted": partitioning,
	"fdisk":    listing("-l", "-lu", "-x", "--list", "--list-details", "-s", "--getsz"),
	"sfdisk":   listing("-l", "-d", "-J", "-F", "-V", "-s", "--list", "--dump", "--json", "--list-free", "--verify", "--show-size"),
	"gdisk":    listing("-l"),
	"sgdisk":   listing("-p", "-v", "-O", "-P", "--print", "--verify", "--print-mbr", "--pretend"),
	"iptables": firewall, "ip6tables": firewall,
	"nft":        anyArg("It takes the firewall down.", oneOf("flush")),
	"ufw":        anyArg("It takes the firewall down.", oneOf("disable", "reset")),
	"crontab":    anyArg("It removes all scheduled jobs.", func(a string) bool { return cluster(a, "r") || a == "/dev/null" }),
	"kubectl":    cluster8s,
	"oc":         cluster8s,
	"rsync":      mirroring,
	"mysqladmin": anyArg("It drops data of a database.", oneOf("drop")),
	"redis-cli":  anyArg("It drops data of a database.", func(a string) bool { return oneOf("flushall", "flushdb")(strings.ToLower(a)) }),
	"cryptsetup": anyArg("It makes a disk unreadable.", oneOf("luksFormat", "erase", "luksErase")),
	"mongosh":    anyArg("It drops data of a database.", mongoDrops.MatchString),
	"mongo":      anyArg("It drops data of a database.", mongoDrops.MatchString),
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

// ownership is about folders with all that they hold. A flag of chattr on one file is taken off as it was set.
func ownership(args []string) string {
	deep := recursive(args)
	for _, arg := range args {
		if precious(arg) && (deep || path.Clean(arg) == "/") || deep && system(arg) {
			return "It changes who may use " + quoted(arg) + ", with everything in it."
		}
	}
	return ""
}

// estranging: who gets another mode or owner of a file of the system may lock everybody out, or let everybody in.
func estranging(args []string) string {
	if why := ownership(args); why != "" {
		return why
	}
	at := slices.IndexFunc(args, func(a string) bool { return !strings.HasPrefix(a, "-") })
	for _, arg := range args {
		if system(arg) && !usual(args[at], arg) {
			return "It changes who may use a part of the system: " + quoted(arg) + "."
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

func firewall(args []string) string {
	for i, arg := range args {
		if arg == "-F" || arg == "--flush" || arg == "-X" || arg == "-P" && i+2 < len(args) && args[i+2] == "DROP" {
			return "It takes the firewall down, or the machine off the network."
		}
	}
	return ""
}

// kinds are what a cluster cannot be without, or has more than a process in.
var kinds = set(`ns namespace namespaces no node nodes pv persistentvolume persistentvolumes pvc persistentvolumeclaim persistentvolumeclaims
	crd crds customresourcedefinition customresourcedefinitions project projects`)

func cluster8s(args []string) string {
	rest, deletes := follow(args, "delete")
	if !deletes || dryRun(args, "") {
		return ""
	}
	// Kinds are named first, or each with its name: delete ns,pods x; delete ns/x pod/y.
	named := slices.ContainsFunc(rest, func(a string) bool { return strings.Contains(a, "/") && ofKind(a) })
	marked := make([]string, len(args))
	for i, arg := range args {
		if marked[i] = arg; ofKind(arg) {
			marked[i] = "<kind>"
		}
	}
	_, first := follow(marked, "delete <kind>")
	if named || first || slices.ContainsFunc(rest, isOption([]string{"--all", "--all-namespaces"})) || slices.Contains(rest, "-A") {
		return "It deletes a large part of a cluster."
	}
	return ""
}

// ofKind reports whether a resource is of these kinds, also with its name or its group: ns/prod, crds.apiextensions.k8s.io.
func ofKind(resource string) bool {
	resource, _, _ = strings.Cut(resource, "/")
	return slices.ContainsFunc(strings.Split(strings.ToLower(resource), ","), func(kind string) bool {
		kind, _, _ = strings.Cut(kind, ".")
		return kinds[kind]
	})
}

// mirrorOptions are the options of rsync.
var mirrorOptions = options{
	flags: "aAbcCdDgGhHiIjJklLmnNoOpPqrRsStuUvwWxXyz0468", values: "efTBM@",
	valued: strings.Fields(`rsh exclude include filter exclude-from include-from files-from temp-dir compare-dest copy-dest link-dest log-file
		log-file-format out-format max-size min-size bwlimit port partial-dir suffix backup-dir password-file chmod rsync-path timeout
		contimeout block-size modify-window compress-level info debug usermap groupmap chown iconv skip-compress address sockopts max-delete`),
}

// mirroring: rsync takes away what its source does not have, here or on another machine.
func mirroring(args []string) string {
	p := mirrorOptions.parse(wordsOf(args), false)
	operands := texts(p.operands)
	if len(operands) < 2 || p.has("n", "dry-run") {
		return ""
	}
	for i, operand := range operands {
		if machine, name, remote := strings.Cut(operand, ":"); remote && !strings.Contains(machine, "/") {
			if operand = name; name == "" {
				operand = "~"
			}
		}
		last := i == len(operands)-1
		deletes := last && slices.ContainsFunc(p.options, func(o option) bool { return strings.HasPrefix(o.name, "del") })
		if deletes && (precious(operand) || hereFolder(operand)) || !last && precious(operand) && p.has("remove-source-files") {
			return "It removes what lies below " + quoted(operand) + "."
		}
	}
	return ""
}

// archiving: tar takes away what it has put into an archive.
func archiving(args []string) string {
	if !slices.ContainsFunc(args, func(a string) bool { return abbreviates(a, "--remove-files", 5) }) {
		return ""
	}
	return anyArg("It removes what it archives.", func(a string) bool { return precious(a) || here(a) })(args)
}

// abbreviates reports whether an argument is an option, perhaps cut short to no less than so many bytes, perhaps with a value.
func abbreviates(arg, option string, least int) bool {
	name, _, _ := strings.Cut(arg, "=")
	return len(name) >= least && strings.HasPrefix(option, name)
}

// pushOptions are the options of git push.
var pushOptions = options{flags: "vqufdn46", values: "o", valued: []string{"push-option", "repo", "receive-pack", "exec"}}

// rewriting: git forgets, or makes others forget.
func rewriting(args []string) string {
	for _, verb := range []string{"filter-branch", "filter-repo"} {
		if _, found := follow(args, verb); found {
			return "It rewrites the history of a repository."
		}
	}
	for _, verb := range []string{"reflog", "gc", "update-ref"} {
		rest, found := follow(args, verb)
		if found && slices.ContainsFunc(rest, func(a string) bool {
			return slices.Contains([]string{"expire", "delete", "-d"}, a) || strings.HasPrefix(a, "--prune=")
		}) {
			return "It makes a repository forget."
		}
	}
	rest, pushes := follow(args, "push")
	if !pushes || pushOptions.parse(wordsOf(rest), false).has("n", "dry-run") && !slices.Contains(rest, "--no-dry-run") {
		return ""
	}
	return anyArg("It overwrites the history that others share.", func(a string) bool {
		return cluster(a, "fd") || strings.HasPrefix(a, "--force") || len(a) > 1 && (a[0] == '+' || a[0] == ':') ||
			slices.ContainsFunc([]string{"--force", "--mirror", "--delete", "--prune"}, func(o string) bool { return abbreviates(a, o, 4) })
	})(rest)
}
