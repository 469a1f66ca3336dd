package shell

import (
	"slices"
	"strings"
)

// options are the options of a program that matter to us.
type options struct {
	flags  string   // letters without a value
	values string   // letters with a value
	long   []string // names without their dashes
	valued []string // names that take a value, as the next word or behind an equals sign
}

// option is one option of a command.
type option struct {
	name  string // a letter, or a name without its dashes
	value word
	given bool // it has a value
	known bool
}

// parsed is a command's arguments, taken apart.
type parsed struct {
	options  []option
	operands []word
}

// parse takes arguments apart as getopt does. With inOrder, the first operand ends the options, as in wrappers.
func (o options) parse(args []word, inOrder bool) parsed {
	var p parsed
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		switch {
		case arg.text == "--":
			p.operands = append(p.operands, args...)
			return p
		case strings.HasPrefix(arg.text, "--"):
			args = o.longOption(&p, arg, args)
		case len(arg.text) > 1 && arg.text[0] == '-':
			args = o.cluster(&p, arg, args)
		case inOrder:
			p.operands = append(append(p.operands, arg), args...)
			return p
		default:
			p.operands = append(p.operands, arg)
		}
	}
	return p
}

func (o options) longOption(p *parsed, arg word, rest []word) []word {
	name, value, given := strings.Cut(arg.text[2:], "=")
	found := option{name: name, value: word{value, arg.kind}, given: given, known: arg.kind == plain}
	switch {
	case slices.Contains(o.valued, name):
		if !given && len(rest) > 0 {
			found.value, found.given = rest[0], true
			rest = rest[1:]
		}
	case !slices.Contains(o.long, name):
		found.known = false
	}
	p.options = append(p.options, found)
	return rest
}

// cluster takes -abc apart: letters without a value, until one has the rest, or the next word, as its value.
func (o options) cluster(p *parsed, arg word, rest []word) []word {
	letters := arg.text[1:]
	for i := range len(letters) {
		found := option{name: letters[i : i+1], known: arg.kind == plain}
		if strings.Contains(o.values, found.name) {
			found.given = true
			switch {
			case i+1 < len(letters):
				found.value = word{letters[i+1:], arg.kind}
			case len(rest) > 0:
				found.value = rest[0]
				rest = rest[1:]
			}
			p.options = append(p.options, found)
			return rest
		}
		found.known = found.known && strings.Contains(o.flags, found.name)
		p.options = append(p.options, found)
	}
	return rest
}

// odd returns the first option that is not known.
func (p parsed) odd() (option, bool) {
	at := slices.IndexFunc(p.options, func(o option) bool { return !o.known })
	if at < 0 {
		return option{}, false
	}
	return p.options[at], true
}

// has reports whether one of these options is there.
func (p parsed) has(names ...string) bool {
	return slices.ContainsFunc(p.options, func(o option) bool { return slices.Contains(names, o.name) })
}

// valuesOf returns the values of these options.
func (p parsed) valuesOf(names ...string) []word {
	var values []word
	for _, o := range p.options {
		if o.given && slices.Contains(names, o.name) {
			values = append(values, o.value)
		}
	}
	return values
}

// harm are options that make a program write or run something. A letter is looked for anywhere in a cluster, and a name
// also where it is shortened, as getopt allows: rather one question too many.
type harm struct {
	letters string
	long    []string
}

// in returns the first argument that is, or may be, harmful.
func (h harm) in(args []word) (string, bool) {
	for _, arg := range args {
		if h.is(arg.text) {
			return arg.text, true
		}
	}
	return "", false
}

func (h harm) is(arg string) bool {
	if name, long := strings.CutPrefix(arg, "--"); long {
		name, _, _ = strings.Cut(name, "=")
		return name != "" && slices.ContainsFunc(h.long, func(l string) bool { return strings.HasPrefix(l, name) })
	}
	return len(arg) > 1 && arg[0] == '-' && strings.ContainsAny(arg[1:], h.letters)
}
