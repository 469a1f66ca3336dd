package jinja

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// The methods are those of Python that MiniJinja has.

var textMethods = map[string]*operation{
	"capitalize": op("", 0, func(c *call) any { return c.capitalized(c.inText()) }),
	"count":      op("part", 1, func(c *call) any { return strings.Count(c.inText(), c.text(0, "")) }),
	"endswith":   op("end", 1, func(c *call) any { return affix(c, strings.HasSuffix) }),
	"find":       op("part", 1, func(c *call) any { return position(c, strings.Index) }),
	"isalnum":    op("", 0, every(func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) })),
	"isalpha":    op("", 0, every(unicode.IsLetter)),
	"isascii": op("", 0, func(c *call) any {
		return !strings.ContainsFunc(c.inText(), func(r rune) bool { return r > unicode.MaxASCII })
	}),
	"isdigit":   op("", 0, every(unicode.IsDigit)),
	"islower":   op("", 0, cased(unicode.IsLower, unicode.IsUpper)),
	"isnumeric": op("", 0, every(unicode.IsNumber)),
	"isspace":   op("", 0, every(unicode.IsSpace)),
	"isupper":   op("", 0, cased(unicode.IsUpper, unicode.IsLower)),
	"join":      op("items", 1, func(c *call) any { return c.joined(c.items(c.args[0]), c.inText()) }),
	"lower":     op("", 0, func(c *call) any { return c.lower(c.inText()) }),
	"lstrip":    op("characters", 0, func(c *call) any { return trim(c, c.inText(), strings.TrimLeft, trimStart) }),
	"replace": op("old new count", 2, func(c *call) any {
		return c.replace(c.inText(), c.text(0, ""), c.text(1, ""), c.whole(2, -1))
	}),
	"rfind":  op("part", 1, func(c *call) any { return position(c, strings.LastIndex) }),
	"rstrip": op("characters", 0, func(c *call) any { return trim(c, c.inText(), strings.TrimRight, trimEnd) }),
	"split":  op("separator maximum", 0, func(c *call) any { return split(c) }),
	"splitlines": op("keep", 0, func(c *call) any {
		if c.flag(0) {
			return c.lines(c.inText(), "")
		}
		return c.lines(c.inText(), "\r\n")
	}),
	"startswith": op("start", 1, func(c *call) any { return affix(c, strings.HasPrefix) }),
	"strip":      op("characters", 0, func(c *call) any { return trim(c, c.inText(), strings.Trim, strings.TrimSpace) }),
	"title":      op("", 0, func(c *call) any { return c.titled(c.inText()) }),
	"upper":      op("", 0, func(c *call) any { return c.upper(c.inText()) }),
}

var mapMethods = map[string]*operation{
	"get": op("key default", 1, func(c *call) any {
		if value, ok := c.lookup(c.in, c.args[0]); ok {
			return value
		}
		return c.argument(1)
	}),
	"items":  op("", 0, pairs),
	"keys":   op("", 0, func(c *call) any { return c.inList() }),
	"values": op("", 0, func(c *call) any { return c.in.(*dict).values }),
}

var listMethods = map[string]*operation{
	"count": op("item", 1, func(c *call) any {
		count := 0
		for _, item := range c.inList() {
			if c.equal(item, c.args[0]) {
				count++
			}
		}
		return count
	}),
}

func trimStart(s string) string { return strings.TrimLeftFunc(s, unicode.IsSpace) }
func trimEnd(s string) string   { return strings.TrimRightFunc(s, unicode.IsSpace) }

// affix asks for one text, or for any of a list.
func affix(c *call, has func(s, part string) bool) any {
	parts, several := listed(c.args[0])
	if !several {
		parts = c.args
	}
	for _, part := range parts {
		if has(c.inText(), c.mustText(part)) {
			return true
		}
	}
	return false
}

// position counts characters, not bytes; -1 where there is none.
func position(c *call, index func(s, part string) int) any {
	at := index(c.inText(), c.text(0, ""))
	if at < 0 {
		return at
	}
	return utf8.RuneCountInString(c.inText()[:at])
}

func every(is func(rune) bool) func(c *call) any {
	return func(c *call) any {
		return c.inText() != "" && !strings.ContainsFunc(c.inText(), func(r rune) bool { return !is(r) })
	}
}

func cased(right, wrong func(rune) bool) func(c *call) any {
	return func(c *call) any {
		return strings.ContainsFunc(c.inText(), right) && !strings.ContainsFunc(c.inText(), wrong)
	}
}
