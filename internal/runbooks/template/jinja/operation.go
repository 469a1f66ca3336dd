package jinja

import (
	"slices"
	"strings"

	"github.com/nikolalohinski/gonja/v2/exec"
)

// operation is anything that takes values and gives one: an operator, a filter, a test, a method, a function.
type operation struct {
	params  string // names of the parameters, with a * at the end where any number more may follow
	need    int    // how many of them must be given
	lenient bool   // undefined values may come in
	run     func(c *call) any
}

// call is one use of an operation.
type call struct {
	machine *machine
	scope   *exec.Context
	name    string
	in      any // what stands before it
	args    []any
	given   []bool
	rest    []any
	named   map[string]any // of a call with any number of arguments
}

// apply gives each argument to its parameter and runs the operation.
func (o *operation) apply(c *call, args []any, named map[string]any) any {
	if !o.lenient {
		refuseUndefined(append([]any{c.in}, args...)...)
		for _, value := range named {
			refuseUndefined(value)
		}
	}
	params, rest := strings.CutSuffix(o.params, "*")
	names := strings.Fields(params)
	c.args, c.given = make([]any, len(names)), make([]bool, len(names))
	for i := range min(len(args), len(names)) {
		c.args[i], c.given[i] = args[i], true
	}
	if len(args) > len(names) {
		if !rest {
			failf("%s takes %d arguments, not %d", c.name, len(names), len(args))
		}
		c.rest = args[len(names):]
	}
	o.assign(c, names, named, rest)
	for i := range o.need {
		if !c.given[i] {
			failf("%s needs the argument %s", c.name, names[i])
		}
	}
	return o.run(c)
}

func (o *operation) assign(c *call, names []string, named map[string]any, rest bool) {
	c.named = named
	for name, value := range named {
		i := slices.Index(names, name)
		switch {
		case i >= 0 && !c.given[i]:
			c.args[i], c.given[i] = value, true
		case i >= 0 || !rest:
			failf("%s takes no argument %s", c.name, name)
		}
	}
}

func refuseUndefined(values ...any) {
	for _, value := range values {
		if u, ok := value.(*undefined); ok {
			u.fail()
		}
	}
}

// What an operation asks of its arguments.

func (c *call) has(i int) bool { return c.given[i] && c.args[i] != nil }

func (c *call) text(i int, otherwise string) string {
	if !c.has(i) {
		return otherwise
	}
	return c.mustText(c.args[i])
}

func (c *call) mustText(value any) string {
	s, ok := value.(string)
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

// inText is what stands before it, which must be a text.
func (c *call) inText() string { return c.mustText(c.in) }

// inDisplayed is what stands before it, as it would be printed.
func (c *call) inDisplayed() string { return display(c.in) }

func (c *call) inList() []any { return items(c.in) }
