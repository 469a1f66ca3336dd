package jinja

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// filters are MiniJinja's, by name.
var filters map[string]*operation

// Some of them run others by name, which Go takes for a circle if they stand in the declaration.
func init() {
	filters = map[string]*operation{
		"abs":        {run: absolute},
		"attr":       {params: "name", need: 1, run: func(c *call) any { return field(c.in, c.args[0], "") }},
		"batch":      {params: "size fill", need: 1, run: batch},
		"bool":       {run: func(c *call) any { return truth(c.in) }},
		"capitalize": {run: func(c *call) any { return capitalized(c.inDisplayed()) }},
		"dictsort":   {params: "case_sensitive by reverse", run: sortedPairs},
		"first":      {run: func(c *call) any { return edge(c.inList(), 0) }},
		"float":      {params: "default", run: toFloat},
		"groupby":    {params: "attribute default", need: 1, run: groups},
		"indent":     {params: "width first blank", need: 1, run: indent},
		"int":        {params: "default", run: toInt},
		"items":      {run: pairs},
		"join":       {params: "separator attribute", run: join},
		"last":       {run: func(c *call) any { return edge(c.inList(), len(c.inList())-1) }},
		"lines":      {run: func(c *call) any { return lines(c.inText()) }},
		"list":       {run: func(c *call) any { return slices.Clone(c.inList()) }},
		"lower":      {run: func(c *call) any { return strings.ToLower(c.inDisplayed()) }},
		"map":        {params: "filter*", run: mapped},
		"max":        {run: func(c *call) any { return extreme(c.inList(), 1) }},
		"min":        {run: func(c *call) any { return extreme(c.inList(), -1) }},
		"pprint":     {run: func(c *call) any { return pretty(c.in, 0) }},
		"reject":     {params: "test*", run: func(c *call) any { return chosen(c, false, false) }},
		"rejectattr": {params: "attribute test*", need: 1, run: func(c *call) any { return chosen(c, true, false) }},
		"replace":    {params: "old new", need: 2, run: replace},
		"reverse":    {run: reversed},
		"round":      {params: "precision", run: round},
		"select":     {params: "test*", run: func(c *call) any { return chosen(c, false, true) }},
		"selectattr": {params: "attribute test*", need: 1, run: func(c *call) any { return chosen(c, true, true) }},
		"slice":      {params: "count fill", need: 1, run: columns},
		"sort":       {params: "reverse case_sensitive attribute", run: sorted},
		"split":      {params: "separator maximum", run: split},
		"string":     {run: func(c *call) any { return c.inDisplayed() }},
		"sum":        {run: sum},
		"title":      {run: func(c *call) any { return titled(c.inDisplayed()) }},
		"tojson":     {params: "indent", run: toJSON},
		"trim":       {params: "characters", run: func(c *call) any { return trim(c, strings.Trim, strings.TrimSpace) }},
		"unique":     {params: "case_sensitive attribute", run: unique},
		"upper":      {run: func(c *call) any { return strings.ToUpper(c.inDisplayed()) }},
		"urlencode":  {run: urlencode},
		"safe":       {run: func(c *call) any { return c.in }},
		"length":     {run: length},
		"default":    {params: "value boolean", run: fallback, lenient: true},
		"escape":     {run: escape},
	}
	for short, long := range map[string]string{"count": "length", "d": "default", "e": "escape"} {
		filters[short] = filters[long]
	}
}

func absolute(c *call) any {
	switch v := c.in.(type) {
	case int:
		return max(v, -v)
	case float64:
		return math.Abs(v)
	}
	failf("abs needs a number, not %s", title(c.in))
	return nil
}

// batch cuts a list into lists of a size.
// columns cuts a list into a number of lists.
func capitalized(s string) string {
	first, size := utf8.DecodeRuneInString(s)
	if size == 0 {
		return ""
	}
	return string(unicode.ToUpper(first)) + strings.ToLower(s[size:])
}

// titled begins each word with a capital, where punctuation ends a word, too.
func titled(s string) string {
	start := true
	return strings.Map(func(r rune) rune {
		begins := start
		start = unicode.IsSpace(r) || r < utf8.RuneSelf && unicode.IsPunct(r) || strings.ContainsRune("$+<=>^`|~", r)
		if begins {
			return unicode.ToUpper(r)
		}
		return unicode.ToLower(r)
	}, s)
}

func fallback(c *call) any {
	_, missing := c.in.(*undefined)
	if !missing && (!c.flag(1) || truth(c.in)) {
		return c.in
	}
	if !c.given[0] {
		return ""
	}
	return c.args[0]
}

func toFloat(c *call) any {
	switch v := c.in.(type) {
	case bool:
		return float64(rank(v) - 1)
	case string:
		if f, err := strconv.ParseFloat(strings.TrimSpace(v), 64); err == nil {
			return f
		}
	default:
		if f, ok := asFloat(v); ok {
			return f
		}
	}
	return orDefault(c)
}

func toInt(c *call) any {
	switch v := c.in.(type) {
	case bool:
		return rank(v) - 1
	case int:
		return v
	case float64:
		if math.Abs(v) < math.MaxInt64 {
			return int(v)
		}
	case string:
		if n, err := strconv.Atoi(strings.TrimSpace(v)); err == nil {
			return n
		}
		if f, err := strconv.ParseFloat(strings.TrimSpace(v), 64); err == nil && math.Abs(f) < math.MaxInt64 {
			return int(f)
		}
	}
	return orDefault(c)
}

func orDefault(c *call) any {
	if !c.given[0] {
		failf("%s cannot read %s as a number", c.name, title(c.in))
	}
	return c.args[0]
}

// attribute reads a.b.0 below a value.
// groups are pairs of a value and the items that have it, in the order of the values.
// compareFolded compares texts without a look at their case.
func indent(c *call) any {
	space := strings.Repeat(" ", min(max(c.whole(0, 0), 0), maxRange))
	all := strings.Split(strings.TrimSuffix(c.inText(), "\n"), "\n")
	for i, line := range all {
		if (i > 0 || c.flag(1)) && (line != "" || c.flag(2)) {
			all[i] = space + line
		}
	}
	return strings.Join(all, "\n")
}

func length(c *call) any {
	switch v := c.in.(type) {
	case string:
		return utf8.RuneCountInString(v)
	case map[string]any:
		return len(v)
	case []any:
		return len(v)
	}
	failf("%s has no length", title(c.in))
	return nil
}

func lines(s string) any {
	list := []any{}
	for line := range strings.Lines(s) {
		list = append(list, strings.TrimRight(line, "\r\n"))
	}
	return list
}

// mapped applies a filter to each item, or takes an attribute of each.
// chosen are the items, or those with an attribute, for which a test says wanted.
func replace(c *call) any {
	return strings.ReplaceAll(c.inDisplayed(), display(c.args[0]), display(c.args[1]))
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

func split(c *call) any {
	var parts []string
	limit := c.whole(1, -1)
	switch s := c.inText(); {
	case !c.has(0) && limit < 0:
		parts = strings.Fields(s)
	case !c.has(0):
		parts = fieldsN(s, limit+1)
	case limit < 0:
		parts = strings.Split(s, c.text(0, ""))
	default:
		parts = strings.SplitN(s, c.text(0, ""), limit+1)
	}
	list := []any{}
	for _, part := range parts {
		list = append(list, part)
	}
	return list
}

// fieldsN is strings.Fields with the rest in the last of n parts.
func fieldsN(s string, n int) []string {
	var parts []string
	for s = strings.TrimSpace(s); s != ""; s = strings.TrimSpace(s) {
		end := strings.IndexFunc(s, unicode.IsSpace)
		if end < 0 || len(parts) == n-1 {
			return append(parts, s)
		}
		parts, s = append(parts, s[:end]), s[end:]
	}
	return parts
}

func trim(c *call, cut func(s, characters string) string, space func(string) string) any {
	if c.has(0) {
		return cut(c.inDisplayed(), c.text(0, ""))
	}
	return space(c.inDisplayed())
}

var escaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#x27;", "/", "&#x2f;")

func escape(c *call) any { return escaper.Replace(c.inDisplayed()) }
