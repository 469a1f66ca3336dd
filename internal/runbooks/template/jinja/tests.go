package jinja

import (
	"strings"
	"unicode"
)

// tests are the names that may follow "is".
var tests map[string]*operation

func init() {
	tests = map[string]*operation{
		"boolean":      op("", 0, kindIs("true or false")),
		"containing":   op("part", 1, func(c *call) any { return c.contains(c.in, c.args[0]) }),
		"defined":      rawOp("", 0, func(c *call) any { return isDefined(c.in) }),
		"divisibleby":  op("number", 1, divisible),
		"endingwith":   op("end", 1, func(c *call) any { return strings.HasSuffix(c.inText(), c.text(0, "")) }),
		"escaped":      rawOp("", 0, isSafe),
		"even":         op("", 0, parity(0)),
		"false":        op("", 0, func(c *call) any { return c.in == false }),
		"filter":       op("", 0, func(c *call) any { return filters[c.inText()] != nil }),
		"float":        op("", 0, func(c *call) any { _, is := c.in.(float64); return is }),
		"integer":      op("", 0, func(c *call) any { _, is := c.in.(int); return is }),
		"iterable":     op("", 0, iterable),
		"lower":        op("", 0, without(unicode.IsUpper)),
		"mapping":      op("", 0, kindIs("a map")),
		"none":         op("", 0, func(c *call) any { return c.in == nil }),
		"number":       op("", 0, kindIs("a number")),
		"odd":          op("", 0, parity(1)),
		"safe":         rawOp("", 0, isSafe),
		"sequence":     op("", 0, sequential),
		"startingwith": op("start", 1, func(c *call) any { return strings.HasPrefix(c.inText(), c.text(0, "")) }),
		"string":       op("", 0, kindIs("a text")),
		"test":         op("", 0, func(c *call) any { return tests[c.inText()] != nil }),
		"true":         op("", 0, func(c *call) any { return c.in == true }),
		"undefined":    rawOp("", 0, func(c *call) any { return !isDefined(c.in) }),
		"upper":        op("", 0, without(unicode.IsLower)),
	}
	for operator, names := range map[string]string{
		"==": "eq equalto sameas ==", "!=": "ne !=", "<": "lt lessthan <", "<=": "le <=", ">": "gt greaterthan >", ">=": "ge >=", "in": "in",
	} {
		holds := operators[operator]
		for name := range strings.FieldsSeq(names) {
			tests[name] = rawOp("right", 1, func(c *call) any { return holds(c.run, c.in, c.args[0]) })
		}
	}
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
		return ok && x&1 == rest
	}
}

func isSafe(c *call) any {
	refuse(c.in)
	_, is := c.in.(safe)
	return is
}

func iterable(c *call) any {
	switch c.in.(type) {
	case nil, string, []any, *sequence, *dict:
		return true
	}
	return false
}

func sequential(c *call) any {
	special, is := c.in.(*sequence)
	return title(c.in) == "a list" && (!is || !special.iterator)
}

// without reports whether a text has no letter of the wrong case.
func without(wrong func(rune) bool) func(c *call) any {
	return func(c *call) any {
		s, ok := c.in.(string)
		c.scan(len(s))
		return ok && !strings.ContainsFunc(s, wrong)
	}
}
