package shell

import (
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Programs whose output is code that nobody has seen, and programs that run what they read.
var (
	fetchers     = set("curl wget fetch aria2c http https nc ncat")
	decoders     = set("base64 base32 xxd openssl gunzip zcat uudecode")
	interpreters = set("python python2 python3 perl ruby node php lua")
	sqlClients   = set("psql mysql mariadb sqlite3 sqlcmd clickhouse-client cqlsh")
)

// mongoDrops is what takes data away in the shells of MongoDB.
var mongoDrops = regexp.MustCompile(`\.(dropDatabase|drop)\s*\(|\.(deleteMany|remove)\s*\(\s*\{\s*\}`)

// drops is SQL that takes away what no transaction brings back.
var drops = regexp.MustCompile(`(?i)\b(drop\s+(database|schema|table|owned)|truncate\s+(table\s+)?\w)`)

// compared is a text in SQL that something is compared with. Where comments or other quotes could make a text of what is none,
// nothing is taken for one.
var (
	compared = regexp.MustCompile(`(?i)(\bi?like|[=<>~]\*?)\s*'([^']|'')*'`)
	disguise = regexp.MustCompile("--|/\\*|[#\"`\\\\$]")
)

// dropsData reports whether a command has SQL that drops data, other than as a text that something is compared with.
func dropsData(c Command) bool {
	if !drops.MatchString(c.Text) {
		return false
	}
	left := slices.Clone(c.Words)
	for i, word := range left {
		if !disguise.MatchString(word) {
			left[i] = compared.ReplaceAllString(word, "")
		}
	}
	return drops.MatchString(strings.Join(left, " "))
}

// piped notes a pipe from the network, or out of a disguise, into a shell, and SQL into a client.
func (r *reading) piped(left, right []Command) {
	if len(left) == 0 {
		return
	}
	fetches, decodes := anyOf(left, fetchers), anyOf(left, decoders)
	destroys := slices.ContainsFunc(right, func(c Command) bool { return sqlClients[c.name()] }) &&
		slices.ContainsFunc(left, func(c Command) bool { return r.spend(len(c.Text)) && dropsData(c) })
	if anyOf(right, feeders) {
		for _, fed := range left {
			r.feeds(produced(fed), right)
		}
	}
	if slices.ContainsFunc(right, func(c Command) bool { return shells[c.name()] && readsCode(c) }) {
		for _, printer := range left {
			if name := printer.name(); name == "echo" || name == "printf" {
				r.guess(unescape(strings.Join(printer.Words[1:], " ")))
			}
		}
	}
	for _, c := range right {
		name := c.name()
		switch {
		case readsCode(c) && fetches:
			r.alarm("It runs what it downloads: " + name + " reads from the network.")
		case readsCode(c) && decodes:
			r.alarm("It runs what it decodes: " + name + " reads a hidden script.")
		case sqlClients[name] && destroys:
			r.alarm("It drops data of a database.")
		}
	}
}

// feeders make arguments of what they read.
var feeders = set("xargs parallel")

// produced are the names that a command prints, as far as that can be told: those of echo, what find begins with, the folder
// that pwd and ls are about.
func produced(c Command) []string {
	args := c.Words[1:]
	switch c.name() {
	case "echo", "printf":
		var names []string
		for _, arg := range args {
			names = append(names, strings.Fields(strings.NewReplacer(`\n`, " ", `\0`, " ", "%s", " ").Replace(arg))...)
		}
		return names
	case "find", "fd":
		end := slices.IndexFunc(args, func(a string) bool { return strings.HasPrefix(a, "-") })
		if end < 0 {
			return append([]string{"."}, args...)[min(1, len(args)):]
		}
		return slices.DeleteFunc(slices.Clone(args[:end]), here) // a part of this folder: which one is not known
	case "pwd":
		return []string{"."}
	case "ls":
		names := []string{}
		for _, arg := range args {
			if !strings.HasPrefix(arg, "-") {
				names = append(names, strings.TrimSuffix(arg, "/")+"/*")
			}
		}
		if len(names) == 0 {
			names = append(names, "*")
		}
		return names
	}
	return nil
}

// feeds notes what commands do with names that they read as their arguments.
func (r *reading) feeds(names []string, commands []Command) {
	if len(names) == 0 {
		return
	}
	for _, c := range commands {
		if len(c.Words) == 0 || feeders[c.name()] || !r.spend(len(c.Text)+10*len(names)) {
			continue
		}
		if why := disaster(newCommand(slices.Concat(c.Words, names), true)); why != "" {
			r.alarm(why)
		}
	}
}

// alarm notes, once, a catastrophe of structure.
func (r *reading) alarm(why string) {
	if len(r.alarms) < maxUnclear && !slices.Contains(r.alarms, why) {
		r.alarms = append(r.alarms, why)
	}
}

func anyOf(commands []Command, names map[string]bool) bool {
	return slices.ContainsFunc(commands, func(c Command) bool { return names[c.name()] })
}

// readsCode reports whether a command runs what it reads from its input.
func readsCode(c Command) bool {
	if interpreters[c.name()] {
		return len(c.Words) == 1 || c.Words[1] == "-"
	}
	return shells[c.name()] && !slices.ContainsFunc(c.Words[1:], func(w string) bool {
		return !strings.HasPrefix(w, "-") || strings.HasPrefix(w, "-c")
	})
}

// substituted notes a download that becomes words of a shell: sh -c "$(curl …)", bash <(curl …), eval "$(wget …)".
func (r *reading) substituted(words []word, within []Command) {
	if len(words) == 0 || !anyOf(within, fetchers) {
		return
	}
	for _, w := range words {
		if shells[w.text] || w.text == "eval" || w.text == "source" || w.text == "." {
			r.alarm("It runs what it downloads: " + w.text + " gets it as its script.")
			return
		}
	}
}

// bomb notes a function that starts itself twice: each copy starts two more, until nothing else runs.
func (r *reading) bomb(declared *syntax.FuncDecl, body []Command) {
	if declared.Name == nil {
		return
	}
	calls := 0
	for _, c := range body {
		if len(c.Words) > 0 && c.Words[0] == declared.Name.Value {
			calls++
		}
	}
	background := false
	syntax.Walk(declared.Body, func(node syntax.Node) bool {
		if !r.spend(1) {
			return false
		}
		if stmt, ok := node.(*syntax.Stmt); ok && stmt.Background {
			background = true
		}
		return true
	})
	if calls > 1 || calls == 1 && background {
		r.alarm("It is a fork bomb: a function that starts itself over and over.")
	}
}
