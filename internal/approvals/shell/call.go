package shell

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// call is a command that is being judged.
type call struct {
	words []word
	open  bool // further words follow that nobody knows: xargs adds them
	runs  bool // see [Command.Runs]
	deep  int  // wrappers around it
}

func (c *call) args() []word { return c.words[1:] }

// name is the program's name without its folder.
func (c *call) name() string { return path.Base(c.words[0].text) }

// call judges one command: what its program is, and what its arguments make of it.
func (r *reading) call(c call) {
	if r.over {
		return
	}
	first := c.words[0]
	if first.kind != plain || !speakable(first.text) {
		r.unclear("It is not certain which program %s is.", quoted(first.text))
		if r.spend(size(c.words)) {
			r.guess(unbraced.Replace(strings.Join(texts(c.words), " ")))
		}
		c.runs = true
		r.note(&c)
		return
	}
	c.runs = strings.Contains(first.text, "/")
	if unwrap, ok := wrappers[c.name()]; ok {
		r.through(&c, unwrap)
		return
	}
	if judge, known := programs[c.name()]; known {
		r.literal(&c, c.name())
		r.outputs(&c)
		judge(r, &c)
	} else {
		c.runs = true
	}
	r.note(&c)
}

// unbraced guesses what {rm,-rf,x} becomes.
var unbraced = strings.NewReplacer("{", " ", "}", " ", ",", " ")

// note adds the command as it was judged.
func (r *reading) note(c *call) {
	if !r.spend(size(c.words)) {
		return
	}
	command := newCommand(texts(c.words), c.runs)
	r.Commands = append(r.Commands, command)
	if slices.ContainsFunc(c.words, func(w word) bool { return w.kind == opaque }) {
		// What a variable holds is split at its blanks.
		r.shadeText(command.Text)
	}
}

// through looks behind a wrapper. The wrapper itself stays where it has a folder: /tmp/env is not env.
func (r *reading) through(c *call, unwrap wrapper) {
	if c.deep > maxDepth {
		r.unclear("Commands are wrapped too deeply to be judged.")
		c.runs = true
		r.note(c)
		r.suspect(c.args()[:min(len(c.args()), maxCommands)])
		return
	}
	if c.runs {
		r.note(c)
	} else {
		r.shade(c.words)
	}
	unwrap(r, c)
}

// inert are programs that no argument makes write or run anything. Their arguments may be patterns, and xargs may give
// them more.
var inert = set(`
	cat head tail ls dir vdir grep egrep fgrep wc cut tr nl tac rev fold fmt paste join comm expand unexpand od stat
	df du basename dirname realpath readlink md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cksum sum
	diff cmp echo true false : sleep uptime who w whoami groups id uname arch nproc free ps pgrep pidof vmstat
	lscpu lsmod getent printenv pwd type which whereis tty seq factor expr jq tsort column base64 base32 hexdump
	zcat bzcat xzcat exit return break continue shift times dirs help ulimit umask logname users pathchk
`)

// literal refuses patterns that could become options, unless no option does harm.
func (r *reading) literal(c *call, name string) {
	if inert[name] {
		return
	}
	if c.open {
		r.unclear("Which arguments %s gets is known only when it runs.", name)
	}
	for _, arg := range c.args() {
		if arg.kind == wild {
			r.unclear("The pattern %s may become an option of %s.", quoted(arg.text), name)
		}
	}
}

// outputFile are options by which a program writes a file beside what it is asked for: its log, a trace, a profile.
var outputFile = regexp.MustCompile(`^--?(log|out|output|trace|dump|report|profile|pid|metrics|audit|debug|error|stderr|stdout|cpu|mem|heap)[-_]?(file|dir|directory|path|profile)(=.*)?$`)

// outputs notes the files that a program writes by such an option, whatever else is known of the program.
func (r *reading) outputs(c *call) {
	args := c.args()
	for i, arg := range args {
		if !outputFile.MatchString(arg.text) || arg.text == "-path" || inert[c.name()] {
			continue
		}
		_, value, given := strings.Cut(arg.text, "=")
		switch {
		case given:
			r.write(word{value, arg.kind})
		case i+1 < len(args):
			r.write(args[i+1])
		}
		r.unclear("%s may write a file by %s.", c.name(), quoted(arg.text))
	}
}

// set returns the words of a text.
func set(text string) map[string]bool {
	words := map[string]bool{}
	for word := range strings.FieldsSeq(text) {
		words[word] = true
	}
	return words
}
