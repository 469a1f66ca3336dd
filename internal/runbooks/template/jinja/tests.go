package jinja

import (
	"strings"
	"unicode"
)

// tests are what may follow "is".
var tests map[string]*operation

func init() {
	tests = map[string]*operation{
		"boolean":      {run: kindIs("true or false")},
		"containing":   {params: "part", need: 1, run: func(c *call) any { return contains(c.in, c.args[0]) }},
		"defined":      {run: func(c *call) any { return isDefined(c.in) }, lenient: true},
		"divisibleby":  {params: "number", need: 1, run: divisible},
		"endingwith":   {params: "end", need: 1, run: func(c *call) any { return strings.HasSuffix(c.inText(), c.text(0, "")) }},
		"even":         {run: parity(0)},
		"false":        {run: func(c *call) any { return c.in == false }},
		"filter":       {run: func(c *call) any { return filters[c.inText()] != nil }},
		"float":        {run: func(c *call) any { _, is := c.in.(float64); return is }},
		"integer":      {run: func(c *call) any { _, is := c.in.(int); return is }},
		"iterable":     {run: iterable},
		"lower":        {run: func(c *call) any { return cased(c, unicode.IsUpper) }},
		"mapping":      {run: kindIs("a map")},
		"none":         {run: func(c *call) any { return c.in == nil }},
		"number":       {run: kindIs("a number")},
		"odd":          {run: parity(1)},
		"safe":         {run: func(c *call) any { return false }},
		"sequence":     {run: kindIs("a list")},
		"startingwith": {params: "start", need: 1, run: func(c *call) any { return strings.HasPrefix(c.inText(), c.text(0, "")) }},
		"string":       {run: kindIs("a text")},
		"test":         {run: func(c *call) any { return tests[c.inText()] != nil }},
		"true":         {run: func(c *call) any { return c.in == true }},
		"undefined":    {run: func(c *call) any { return !isDefined(c.in) }, lenient: true},
		"upper":        {run: func(c *call) any { return cased(c, unicode.IsLower) }},
	}
	tests["escaped"] = tests["safe"]
	for operator, names := range map[string]string{
		"==": "eq equalto ==", "!=": "ne !=", "<": "lt lessthan <", "<=": "le <=", ">": "gt greaterthan >", ">=": "ge >=", "in": "in",
	} {
		for name := range strings.FieldsSeq(names) {
			tests[name] = operators[operator]
		}
	}
	tests["sameas"] = tests["eq"]
}

func runTest(c *call) any {
	name := c.text(0, "")
	return tests[name].apply(&call{machine: c.machine, scope: c.scope, name: name, in: c.in}, c.rest, c.named)
}

func isDefined(value any) bool {
	_, missing := value.(*undefined)
	return !missing
}

func kindIs(kind string) func(c *call) any {
	return func(c *call) any { return title(c.in) == kind }
}

func divisible(c *call) any {
	x, ok := c.in.(int)
	by := c.whole(0, 0)
	return ok && by != 0 && x%by == 0
}

func parity(rest int) func(c *call) any {
	return func(c *call) any {
		x, ok := c.in.(int)
		return ok && remainder(x, 2) == rest
	}
}

func iterable(c *call) any {
	switch c.in.(type) {
	case string, []any, map[string]any:
		return true
	}
	return false
}

// cased tells whether a text has no letter of the wrong case.
func cased(c *call, wrong func(rune) bool) bool {
	s, ok := c.in.(string)
	return ok && !strings.ContainsFunc(s, wrong)
}
