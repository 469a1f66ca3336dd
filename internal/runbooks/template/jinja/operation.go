package jinja

import (
	"slices"
	"strings"
)

// operation is anything that takes values and gives one: a filter, a test, a method, a function.
type operation struct {
	params []string // names of the parameters
	need   int      // how many of them must be given
	rest   bool     // any number of arguments more may follow
	raw    bool     // what comes in may be undefined, and keeps the mark of a safe text
	run    func(c *call) any
}

// op is an operation; a * behind the names of its parameters is the rest. The first of them must be given.
func op(params string, need int, run func(c *call) any) *operation {
	names, rest := strings.CutSuffix(params, "*")
	return &operation{params: strings.Fields(names), need: need, rest: rest, run: run}
}

// rawOp is an operation that accepts an undefined value.
func rawOp(params string, need int, run func(c *call) any) *operation {
	o := op(params, need, run)
	o.raw = true
	return o
}

// call is one use of an operation.
type call struct {
	*run
	name  string
	in    any   // the input
	args  []any // for each parameter its argument, or notGiven
	rest  []any
	named []binding // of a call with any number of arguments
}

type notGiven struct{}

// apply gives each argument to its parameter and runs the operation.
func (o *operation) apply(r *run, name string, in any, args []any, named []binding) any {
	r.step(2 + len(args) + len(named))
	r.allocate(callSize + slotSize*len(o.params))
	if !o.raw {
		refuse(in)
		in = unmarked(in)
		for i := range args {
			refuse(args[i])
		}
		for i := range named {
			refuse(named[i].value)
		}
	}
	c := &call{run: r, name: name, in: in, args: make([]any, len(o.params)), named: named}
	for i := range c.args {
		if c.args[i] = any(notGiven{}); i < len(args) {
			c.args[i] = args[i]
		}
	}
	if len(args) > len(o.params) {
		if !o.rest {
			failf("%s takes %d arguments, not %d", name, len(o.params), len(args))
		}
		c.rest = args[len(o.params):]
	}
	for _, arg := range named {
		switch i := slices.Index(o.params, arg.name); {
		case i >= 0 && !c.given(i):
			c.args[i] = arg.value
		case i >= 0 || !o.rest:
			failf("%s takes no argument %s", name, arg.name)
		}
	}
	for i := range o.need {
		if !c.given(i) {
			failf("%s needs the argument %s", name, o.params[i])
		}
	}
	return o.run(c)
}

// What an operation asks of its arguments.

func (c *call) given(i int) bool { return c.args[i] != any(notGiven{}) }

func (c *call) has(i int) bool { return c.given(i) && c.args[i] != nil }

// argument is an argument as it came, or nil.
func (c *call) argument(i int) any {
	if !c.has(i) {
		return nil
	}
	return unmarked(c.args[i])
}

func (c *call) text(i int, otherwise string) string {
	if !c.has(i) {
		return otherwise
	}
	return c.mustText(c.args[i])
}

func (c *call) mustText(value any) string {
	s, ok := unmarked(value).(string)
	if !ok {
		failf("%s needs a text, not %s", c.name, title(value))
	}
	return s
}

func (c *call) whole(i, otherwise int) int {
	if !c.has(i) {
		return otherwise
	}
	n, ok := c.args[i].(int)
	if !ok {
		failf("%s needs a whole number, not %s", c.name, title(c.args[i]))
	}
	return n
}

func (c *call) flag(i int) bool { return c.has(i) && truth(c.args[i]) }

// inText is its input, which must be a text.
func (c *call) inText() string {
	s := c.mustText(c.in)
	c.scan(len(s))
	return s
}

// inDisplayed is its input, as it would be printed.
func (c *call) inDisplayed() string {
	s := c.display(c.in)
	c.scan(len(s))
	return s
}

func (c *call) inList() []any { return c.items(c.in) }

// option is an argument with a name that is no parameter.
func (c *call) option(name string) (any, bool) {
	for _, arg := range c.named {
		if arg.name == name {
			return arg.value, true
		}
	}
	return nil, false
}

// filters are MiniJinja's, by name.
var filters map[string]*operation
