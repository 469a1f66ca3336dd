package shell

import (
	"slices"
	"strconv"
	"strings"
)

// wrapper looks behind a command that runs another one.
type wrapper func(r *reading, c *call)

// shells run their arguments or input as scripts.
var shells = set("sh bash dash ash zsh ksh mksh fish csh tcsh rbash")

// wrappers are filled in init, because they call each other by way of [reading.call].
var wrappers map[string]wrapper

func init() {
	wrappers = map[string]wrapper{
		"nohup":   transparent(options{}, 0),
		"setsid":  transparent(options{flags: "cfw", long: []string{"ctty", "fork", "wait"}}, 0),
		"nice":    transparent(options{flags: "0123456789", values: "n", valued: []string{"adjustment"}}, 0),
		"ionice":  transparent(options{flags: "t", values: "cn", long: []string{"ignore"}, valued: []string{"class", "classdata"}}, 0),
		"time":    transparent(options{flags: "pv", values: "f", long: []string{"portability", "verbose"}, valued: []string{"format"}}, 0),
		"timeout": transparent(options{flags: "v", values: "ks", long: []string{"foreground", "preserve-status", "verbose"}, valued: []string{"kill-after", "signal"}}, 1),
		"stdbuf":  transparent(options{values: "ioe", valued: []string{"input", "output", "error"}}, 0),
		"builtin": transparent(options{}, 0),
		"exec":    transparent(options{}, 0),
		"command": (*reading).throughCommand,
		"env":     (*reading).throughEnv,
		"xargs":   (*reading).throughXargs,
		"find":    (*reading).throughFind,
		"eval":    (*reading).throughEval,
		"sudo":    guarded(options{flags: "nEHSkKbBP", values: "ugpChrtTR", long: []string{"non-interactive", "preserve-env", "set-home"}, valued: []string{"user", "group"}}),
		"doas":    guarded(options{flags: "n", values: "u"}),
		"busybox": guarded(options{}),
		"toybox":  guarded(options{}),
	}
	for name := range shells {
		wrappers[name] = (*reading).throughShell
	}
	for name := range mutators {
		wrappers[name] = (*reading).mutates
	}
	for name := range carriers {
		wrappers[name] = (*reading).carries
	}
}

// transparent is a wrapper that changes nothing of what the command does; skip words stand before the command.
func transparent(known options, skip int) wrapper {
	return func(r *reading, c *call) {
		p := known.parse(c.args(), true)
		r.refuseOdd(c, p)
		for _, before := range p.operands[:min(skip, len(p.operands))] {
			if before.kind != plain {
				r.unclear("The arguments of %s are not certain.", c.name())
			}
		}
		r.inner(c, p.operands[min(skip, len(p.operands)):])
	}
}

// guarded is a wrapper that changes what the command may do: it stays in the list, and needs a rule of its own.
func guarded(known options) wrapper {
	return func(r *reading, c *call) {
		p := known.parse(c.args(), true)
		r.refuseOdd(c, p)
		if !c.runs {
			c.runs = true
			r.note(c)
		}
		r.inner(c, r.environment(p.operands))
	}
}

func (r *reading) refuseOdd(c *call, p parsed) {
	if odd, found := p.odd(); found {
		r.unclear("What %s does with its option %s is not known.", c.name(), quoted(odd.name))
	}
}

// inner judges the command behind a wrapper. Where xargs would add the command itself, nothing is known.
func (r *reading) inner(c *call, words []word) {
	if len(words) > 0 {
		r.call(call{words: words, open: c.open, deep: c.deep + 1})
		return
	}
	if c.open {
		r.unclear("Which command %s runs is known only when it runs.", c.name())
	}
	if !c.runs {
		r.note(c)
	}
}

func (r *reading) throughCommand(c *call) {
	known := options{flags: "pvV"}
	p := known.parse(c.args(), true)
	r.refuseOdd(c, p)
	if !p.has("v", "V") {
		r.inner(c, p.operands)
	} else if !c.runs {
		r.note(c)
	}
}

func (r *reading) throughEnv(c *call) {
	known := options{flags: "i0", values: "uCS", long: []string{"ignore-environment", "null"}, valued: []string{"unset", "chdir", "split-string"}}
	p := known.parse(c.args(), true)
	r.refuseOdd(c, p)
	for _, split := range p.valuesOf("S", "split-string") {
		r.unclear("env takes a word apart into a command.")
		r.guess(strings.Join(append([]string{split.text}, texts(p.operands)...), " "))
	}
	if p.has("C", "chdir") {
		r.moved = true
		r.unclear("env changes the folder.")
	}
	r.inner(c, r.environment(p.operands))
}

// environment takes NAME=value words off, and looks at each.
func (r *reading) environment(words []word) []word {
	for len(words) > 0 {
		name, value, assigns := strings.Cut(words[0].text, "=")
		if !assigns {
			break
		}
		if words[0].kind != plain || !harmlessVariable(name, value) {
			r.unclear("The variable %s may change what runs.", quoted(name))
		}
		words = words[1:]
	}
	return words
}

func (r *reading) throughXargs(c *call) {
	known := options{
		flags: "0rtxo", values: "nLPIdEs",
		long:   []string{"null", "no-run-if-empty", "verbose", "exit"},
		valued: []string{"max-args", "max-procs", "delimiter", "max-chars"},
	}
	p := known.parse(c.args(), true)
	r.refuseOdd(c, p)
	words := p.operands
	if len(words) == 0 {
		words = []word{{text: "echo"}}
	}
	inner := call{words: slices.Clone(words), open: true, deep: c.deep + 1}
	for _, mark := range p.valuesOf("I") {
		for i, w := range inner.words {
			if mark.text == "" || strings.Contains(w.text, mark.text) {
				inner.words[i].kind = wild
			}
		}
	}
	r.call(inner)
}

// throughEval: eval joins its words and reads them once more.
func (r *reading) throughEval(c *call) {
	if c.open {
		r.unclear("What eval runs is known only when it runs.")
	}
	script := word{text: strings.Join(texts(c.args()), " ")}
	for _, arg := range c.args() {
		script.kind = max(script.kind, arg.kind)
	}
	r.script(script)
}

// throughShell reads the script of sh -c. sh and bash read what is clear here in the same way; other shells do not.
func (r *reading) throughShell(c *call) {
	if justVersion(c.args()) && !c.runs {
		r.note(c)
		return
	}
	if c.name() != "sh" && c.name() != "bash" && c.name() != "dash" && c.name() != "ash" {
		r.unclear("%s may read the script in its own way.", c.name())
	}
	known := options{flags: "ceux", values: "o", long: []string{"norc", "noprofile", "posix"}}
	p := known.parse(c.args(), true)
	r.refuseOdd(c, p)
	switch {
	case c.open:
		r.unclear("What %s runs is known only when it runs.", c.name())
	case len(p.operands) > 0 && strings.HasPrefix(p.operands[0].text, "+"):
		r.unclear("%s takes a word with a plus as an option.", c.name())
	case p.has("c") && len(p.operands) > 0:
		outside := r.folder
		r.positional(p.operands[1:])
		r.script(p.operands[0])
		r.positional(nil)
		r.folder = outside
		return
	case len(p.operands) == 0:
		r.unclear("%s runs what it reads.", c.name())
	}
	if !c.runs {
		c.runs = true
		r.note(c)
	}
	for _, operand := range p.operands {
		if strings.ContainsAny(operand.text, " \n;") {
			r.guess(operand.text)
		}
	}
}

// positional remembers the arguments of a script: $0, $1 and so on, and $@ for all but the first.
func (r *reading) positional(args []word) {
	for _, name := range strings.Fields("0 1 2 3 4 5 6 7 8 9 @ *") {
		delete(r.vars, name)
	}
	for i, arg := range args[:min(len(args), 10)] {
		r.assignChoice(strconv.Itoa(i), []string{arg.text})
	}
	if len(args) > 1 {
		r.assignChoice("@", texts(args[1:]))
		r.assignChoice("*", texts(args[1:]))
	}
}

// mutators are builtins that change the shell itself, so that what follows may be something else than it seems.
var mutators = set(`
	source . alias unalias trap enable hash bind complete compgen compopt shopt declare typeset export local readonly
	unset read mapfile readarray getopts let fc history coproc function select nameref wait set
`)

func (r *reading) mutates(c *call) {
	if c.name() == "set" && harmlessSet(texts(c.args())) || c.name() == "wait" && len(c.args()) == 0 {
		return
	}
	r.unclear("%s changes how the shell runs what follows.", c.name())
	r.note(c)
	r.suspect(c.args())
}

// harmlessSet reports whether set switches on nothing but strictness and tracing.
func harmlessSet(args []string) bool {
	for _, arg := range args {
		switch arg {
		case "-e", "-u", "-x", "-o", "-eu", "-ex", "-eux", "-euo", "-euxo", "-eo", "+e", "+x", "+u",
			"pipefail", "errexit", "nounset", "xtrace":
		default:
			return false
		}
	}
	return len(args) > 0
}

// carriers run other commands somewhere else, later, or under supervision. They are not taken apart: they need a rule
// that names them, and deny rules see whatever of their words may be a command.
var carriers = set(`
	ssh su runuser pkexec setpriv capsh chroot unshare nsenter proot fakeroot firejail bwrap setarch linux32 linux64
	strace ltrace gdb lldb valgrind perf rr watch script expect unbuffer rlwrap parallel entr at batch flock taskset
	chrt numactl prlimit systemd-run start-stop-daemon daemonize screen tmux dtach cpulimit torsocks proxychains
	proxychains4 hyperfine xvfb-run dbus-run-session nerdctl crictl lxc lxc-attach machinectl vagrant multipass
	socat nc ncat mosh rsync npx bunx pnpx uvx pipx bundle poetry uv pipenv conda nix-shell watchexec nodemon
	chronic ts time-limit softlimit setuidgid su-exec gosu tini dumb-init cgexec xterm
`)

func (r *reading) carries(c *call) {
	if !c.runs {
		c.runs = true
		r.note(c)
	}
	r.suspect(c.args())
}

// justVersion reports whether a program is only asked for its version.
func justVersion(args []word) bool {
	return len(args) == 1 && (args[0].text == "--version" || args[0].text == "-V" || args[0].text == "version")
}

// suspect shows deny rules every word that may begin a command, and every word that may be a script.
func (r *reading) suspect(args []word) {
	for i, arg := range args {
		if r.over {
			return // also to measure what is left takes its time
		}
		if strings.ContainsAny(arg.text, " \n;|&") {
			r.guess(arg.text)
		} else if speakable(arg.text) {
			r.shade(args[i:])
		}
	}
}
