package jinja

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// methodsOf are what can be called on a value of this kind: those of Python that MiniJinja's pycompat has.
func methodsOf(value any) map[string]*operation {
	switch value.(type) {
	case string:
		return textMethods
	case map[string]any:
		return mapMethods
	case []any:
		return listMethods
	}
	return nil
}

var textMethods = map[string]*operation{
	"capitalize": {run: func(c *call) any { return capitalized(c.inText()) }},
	"count":      {params: "part", need: 1, run: func(c *call) any { return strings.Count(c.inText(), c.text(0, "")) }},
	"endswith":   {params: "end", need: 1, run: func(c *call) any { return affix(c, strings.HasSuffix) }},
	"find":       {params: "part", need: 1, run: func(c *call) any { return position(c, strings.Index) }},
	"isalnum":    {run: every(func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) })},
	"isalpha":    {run: every(unicode.IsLetter)},
	"isascii": {run: func(c *call) any {
		return !strings.ContainsFunc(c.inText(), func(r rune) bool { return r > unicode.MaxASCII })
	}},
	"isdigit":    {run: every(unicode.IsDigit)},
	"islower":    {run: cases(unicode.IsLower, unicode.IsUpper)},
	"isnumeric":  {run: every(unicode.IsNumber)},
	"isspace":    {run: every(unicode.IsSpace)},
	"isupper":    {run: cases(unicode.IsUpper, unicode.IsLower)},
	"join":       {params: "items", need: 1, run: func(c *call) any { return joined(items(c.args[0]), c.inText()) }},
	"lower":      {run: func(c *call) any { return strings.ToLower(c.inText()) }},
	"lstrip":     {params: "characters", run: func(c *call) any { return trim(c, strings.TrimLeft, trimStart) }},
	"replace":    {params: "old new count", need: 2, run: replaceSome},
	"rfind":      {params: "part", need: 1, run: func(c *call) any { return position(c, strings.LastIndex) }},
	"rstrip":     {params: "characters", run: func(c *call) any { return trim(c, strings.TrimRight, trimEnd) }},
	"split":      {params: "separator maximum", run: split},
	"splitlines": {params: "keep", run: splitLines},
	"startswith": {params: "start", need: 1, run: func(c *call) any { return affix(c, strings.HasPrefix) }},
	"strip":      {params: "characters", run: func(c *call) any { return trim(c, strings.Trim, strings.TrimSpace) }},
	"title":      {run: func(c *call) any { return titled(c.inText()) }},
	"upper":      {run: func(c *call) any { return strings.ToUpper(c.inText()) }},
}

var mapMethods = map[string]*operation{
	"get":    {params: "key default", need: 1, run: getOr},
	"items":  {run: pairs},
	"keys":   {run: func(c *call) any { return c.inList() }},
	"values": {run: values},
}

var listMethods = map[string]*operation{
	"count": {params: "item", need: 1, run: countItems},
}

func trimStart(s string) string { return strings.TrimLeftFunc(s, unicode.IsSpace) }
func trimEnd(s string) string   { return strings.TrimRightFunc(s, unicode.IsSpace) }

// affix asks for one text, or for any of a list.
func affix(c *call, has func(s, part string) bool) any {
	parts, several := c.args[0].([]any)
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

func cases(right, wrong func(rune) bool) func(c *call) any {
	return func(c *call) any {
		return strings.ContainsFunc(c.inText(), right) && !strings.ContainsFunc(c.inText(), wrong)
	}
}

func replaceSome(c *call) any {
	return strings.Replace(c.inText(), c.text(0, ""), c.text(1, ""), c.whole(2, -1))
}

func splitLines(c *call) any {
	if !c.flag(0) {
		return lines(c.inText())
	}
	list := []any{}
	for line := range strings.Lines(c.inText()) {
		list = append(list, line)
	}
	return list
}

func getOr(c *call) any {
	if value, ok := lookup(c.in, c.args[0]); ok {
		return value
	}
	return c.args[1]
}

func values(c *call) any {
	list := []any{}
	for _, pair := range pairs(c).([]any) {
		list = append(list, pair.([]any)[1])
	}
	return list
}

func countItems(c *call) any {
	count := 0
	for _, item := range c.inList() {
		if equal(item, c.args[0]) {
			count++
		}
	}
	return count
}
