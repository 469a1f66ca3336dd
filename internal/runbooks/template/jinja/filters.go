package jinja

import (
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Some of them run others by name, which Go takes for a circle if they stand in the declaration.
func init() {
	filters = map[string]*operation{
		"abs":        op("", 0, absolute),
		"attr":       op("name", 1, func(c *call) any { return item(constant(c.args[0]), func() string { return "" })(c.run, c.in) }),
		"batch":      op("size fill", 1, batch),
		"bool":       op("", 0, func(c *call) any { return truth(c.in) }),
		"capitalize": op("", 0, func(c *call) any { return c.capitalized(c.inDisplayed()) }),
		"default":    rawOp("value boolean", 0, fallback),
		"dictsort":   op("case_sensitive by reverse", 0, sortedPairs),
		"escape":     rawOp("", 0, escape),
		"first":      op("", 0, func(c *call) any { return edge(c.inList(), 0) }),
		"float":      op("default", 0, toFloat),
		"groupby":    op("attribute default case_sensitive", 1, groups),
		"indent":     op("width first blank", 0, indent),
		"int":        op("default", 0, toInt),
		"items":      op("", 0, pairs),
		"join":       op("separator attribute", 0, join),
		"last":       op("", 0, func(c *call) any { return edge(c.inList(), len(c.inList())-1) }),
		"length":     op("", 0, length),
		"lines":      op("", 0, func(c *call) any { return c.lines(c.inText(), "\r\n") }),
		"list":       op("", 0, func(c *call) any { return c.clone(c.inList()) }),
		"lower":      op("", 0, func(c *call) any { return c.lower(c.inDisplayed()) }),
		"map":        op("filter*", 0, mapped),
		"max":        op("", 0, func(c *call) any { return c.extreme(1) }),
		"min":        op("", 0, func(c *call) any { return c.extreme(-1) }),
		"pprint":     op("", 0, func(c *call) any { return c.written(pretty, c.in) }),
		"reject":     op("test*", 0, func(c *call) any { return c.chosen(0, false) }),
		"rejectattr": op("attribute test*", 1, func(c *call) any { return c.chosen(1, false) }),
		"replace": op("old new", 2, func(c *call) any {
			return c.replace(c.inDisplayed(), c.display(c.args[0]), c.display(c.args[1]), -1)
		}),
		"reverse":    op("", 0, reversed),
		"round":      op("precision", 0, round),
		"safe":       rawOp("", 0, marked),
		"select":     op("test*", 0, func(c *call) any { return c.chosen(0, true) }),
		"selectattr": op("attribute test*", 1, func(c *call) any { return c.chosen(1, true) }),
		"slice":      op("count fill", 1, columns),
		"sort":       op("reverse case_sensitive attribute", 0, sorted),
		"split":      op("separator maximum", 0, func(c *call) any { return &sequence{items: split(c), iterator: true} }),
		"string":     rawOp("", 0, toText),
		"sum":        op("", 0, sum),
		"title":      op("", 0, func(c *call) any { return c.titled(c.inDisplayed()) }),
		"tojson":     op("indent", 0, toJSON),
		"trim":       op("characters", 0, func(c *call) any { return trim(c, c.inDisplayed(), strings.Trim, strings.TrimSpace) }),
		"unique":     op("case_sensitive attribute", 0, unique),
		"upper":      op("", 0, func(c *call) any { return c.upper(c.inDisplayed()) }),
		"urlencode":  op("", 0, urlencode),
	}
	for short, long := range map[string]string{"count": "length", "d": "default", "e": "escape"} {
		filters[short] = filters[long]
	}
}

func absolute(c *call) any {
	switch v := c.in.(type) {
	case int:
		if v != math.MinInt {
			return max(v, -v)
		}
	case float64:
		return math.Abs(v)
	}
	failf("abs needs a number, not %s", title(c.in))
	return nil
}

func fallback(c *call) any {
	if isDefined(c.in) && (!c.flag(1) || truth(c.in)) {
		return c.in
	}
	if !c.given(0) {
		return ""
	}
	return c.args[0]
}

func toFloat(c *call) any {
	if f, ok := c.number(); ok {
		return f
	}
	return c.otherwise()
}

func toInt(c *call) any {
	in := asNumber(c.in)
	if s, isText := in.(string); isText && len(s) < 100 {
		if n, err := strconv.Atoi(strings.TrimSpace(s)); err == nil {
			return n
		}
	}
	if n, ok := in.(int); ok {
		return n
	}
	if f, ok := c.number(); ok && math.Abs(f) < math.MaxInt64 {
		return int(f)
	}
	return c.otherwise()
}

// number converts a value to a number: none is 0, and a text is parsed.
func (c *call) number() (float64, bool) {
	switch v := asNumber(c.in).(type) {
	case nil:
		return 0, true
	case string:
		f, err := strconv.ParseFloat(strings.TrimSpace(v[:min(len(v), 400)]), 64)
		return f, err == nil && len(v) <= 400
	default:
		return float(v)
	}
}

func (c *call) otherwise() any {
	if !c.given(0) {
		failf("%s cannot read %s as a number", c.name, title(c.in))
	}
	return c.args[0]
}

func round(c *call) any {
	switch v := c.in.(type) {
	case int:
		return v
	case float64:
		scale := math.Pow(10, float64(c.whole(0, 0)))
		return math.Round(v*scale) / scale
	}
	failf("round needs a number, not %s", title(c.in))
	return nil
}

func length(c *call) any {
	switch v := c.in.(type) {
	case string:
		c.scan(len(v))
		return utf8.RuneCountInString(v)
	case *dict:
		return len(v.keys)
	}
	list, isList := listed(c.in)
	if !isList {
		failf("%s has no length", title(c.in))
	}
	return len(list)
}

// What makes texts.

func toText(c *call) any {
	refuse(c.in)
	if s, isSafe := c.in.(safe); isSafe {
		return s
	}
	return c.inDisplayed()
}

func marked(c *call) any {
	refuse(c.in)
	return safe(c.inDisplayed())
}

func escape(c *call) any {
	refuse(c.in)
	if s, isSafe := c.in.(safe); isSafe {
		return s
	}
	s, out, plain := c.inDisplayed(), &buffer{Budget: c.Budget}, 0
	for i := range len(s) {
		if escaped := entities[s[i]]; escaped != "" {
			out.add(s[plain:i])
			out.add(escaped)
			plain = i + 1
		}
	}
	out.add(s[plain:])
	return safe(out.text.String())
}

var entities = map[byte]string{'&': "&amp;", '<': "&lt;", '>': "&gt;", '"': "&quot;", '\'': "&#x27;", '/': "&#x2f;"}

func indent(c *call) any {
	width := c.whole(0, 0)
	if width > maxRange {
		failf("indent needs a width of at most %d", maxRange)
	}
	space, out := c.repeat(" ", width), &buffer{Budget: c.Budget}
	rest, more := strings.TrimSuffix(c.inText(), "\n"), true
	for first := true; more; first = false {
		var line string
		line, rest, more = strings.Cut(rest, "\n")
		if (!first || c.flag(1)) && (line != "" || c.flag(2)) {
			out.add(space)
		}
		if out.add(line); more {
			out.add("\n")
		}
	}
	return out.text.String()
}

func trim(c *call, s string, cut func(s, characters string) string, space func(string) string) any {
	if !c.has(0) {
		return space(s)
	}
	characters := c.text(0, "")
	c.scan(len(s) * min(len(characters), 256))
	return cut(s, characters)
}

const unreserved = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/"

// urlencode escapes a text, or makes a query of a map.
func urlencode(c *call) any {
	out := &buffer{Budget: c.Budget}
	values, isMap := c.in.(*dict)
	if !isMap {
		percent(out, c.inDisplayed())
		return out.text.String()
	}
	for i, key := range values.keys {
		if i > 0 {
			out.add("&")
		}
		percent(out, c.display(key))
		out.add("=")
		percent(out, c.display(values.values[i]))
	}
	return out.text.String()
}

func percent(out *buffer, s string) {
	const hex = "0123456789ABCDEF"
	for i := range len(s) {
		if strings.IndexByte(unreserved, s[i]) >= 0 {
			out.add(s[i : i+1])
			continue
		}
		high, low := s[i]>>4, s[i]&15
		out.add("%")
		out.add(hex[high : high+1])
		out.add(hex[low : low+1])
	}
}

// What makes texts of lists, and lists of texts.

func join(c *call) any {
	list := c.inList()
	if path := c.text(1, ""); path != "" {
		found := c.list(len(list))
		for _, item := range list {
			found = append(found, c.attribute(item, path))
		}
		list = found
	}
	return c.joined(list, c.text(0, ""))
}

func split(c *call) []any {
	s, limit := c.inText(), c.whole(1, -1)
	switch separator := c.text(0, ""); {
	case separator != "":
		return c.split(s, separator, min(limit, maxRange)+1)
	case c.has(0): // there is nothing before each character, and behind the last one
		return append(append(append(c.list(len(s)+2), ""), c.items(s)...), "")
	}
	parts := c.list(0)
	for s = strings.TrimSpace(s); s != ""; s = strings.TrimSpace(s) {
		end := strings.IndexFunc(s, unicode.IsSpace)
		if end < 0 || limit >= 0 && len(parts) == limit {
			end = len(s)
		}
		c.allocate(textSize)
		parts, s = append(c.grow(parts), s[:end]), s[end:]
	}
	return parts
}

// lines cuts a text behind each line break, and these characters off the end of each line.
func (c *call) lines(s, cut string) []any {
	list := c.list(0)
	for line := range strings.Lines(s) {
		c.allocate(textSize)
		list = append(c.grow(list), strings.TrimRight(line, cut))
	}
	return list
}
