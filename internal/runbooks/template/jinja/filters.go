package jinja

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// filters are MiniJinja's, by name.
var filters map[string]*operation

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
	}
	aliases := map[string]*operation{
		"count": {run: length}, "length": {run: length},
		"d":       {params: "value boolean", run: fallback, lenient: true},
		"default": {params: "value boolean", run: fallback, lenient: true},
		"e":       {run: escape}, "escape": {run: escape},
	}
	maps.Copy(filters, aliases)
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
func batch(c *call) any {
	size, list := c.whole(0, 0), c.inList()
	if size <= 0 {
		failf("batch needs a size above 0")
	}
	batches := []any{}
	for part := range slices.Chunk(list, size) {
		part = slices.Clone(part)
		for c.has(1) && len(part) < min(size, maxRange) {
			part = append(part, c.args[1])
		}
		batches = append(batches, part)
	}
	return batches
}

// columns cuts a list into a number of lists.
func columns(c *call) any {
	count, list := c.whole(0, 0), c.inList()
	if count <= 0 || count > maxRange {
		failf("slice needs a number from 1 to %d", maxRange)
	}
	slices, at := []any{}, 0
	for i := range count {
		size := len(list) / count
		longer := i < len(list)%count
		if longer {
			size++
		}
		column := append([]any{}, list[at:at+size]...)
		if at += size; c.has(1) && !longer && len(list)%count > 0 {
			column = append(column, c.args[1])
		}
		slices = append(slices, column)
	}
	return slices
}

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

func edge(list []any, i int) any {
	if len(list) == 0 {
		return &undefined{}
	}
	return list[i]
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
func attribute(value any, path string) any {
	for step := range strings.SplitSeq(path, ".") {
		value = field(value, step, path)
	}
	return value
}

// groups are pairs of a value and the items that have it, in the order of the values.
func groups(c *call) any {
	path := c.text(0, "")
	key := func(item any) any {
		value := attribute(item, path)
		if _, missing := value.(*undefined); missing && c.given[1] {
			return c.args[1]
		}
		refuseUndefined(value)
		return value
	}
	list := slices.Clone(c.inList())
	slices.SortStableFunc(list, func(a, b any) int { return compareFolded(key(a), key(b)) })
	all := []any{}
	for start := 0; start < len(list); {
		stop := start + 1
		for stop < len(list) && compareFolded(key(list[start]), key(list[stop])) == 0 {
			stop++
		}
		all = append(all, []any{key(list[start]), slices.Clone(list[start:stop])})
		start = stop
	}
	return all
}

// compareFolded compares texts without a look at their case.
func compareFolded(a, b any) int {
	x, okX := a.(string)
	y, okY := b.(string)
	if okX && okY {
		return strings.Compare(strings.ToLower(x), strings.ToLower(y))
	}
	return compare(a, b)
}

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

func pairs(c *call) any {
	values, ok := c.in.(map[string]any)
	if !ok {
		failf("%s needs a map, not %s", c.name, title(c.in))
	}
	list := []any{}
	for _, key := range keys(values) {
		list = append(list, []any{key, values[key]})
	}
	return list
}

func sortedPairs(c *call) any {
	list, at := pairs(c).([]any), 0 //nolint:errcheck,forcetypeassert // it is one
	if c.text(1, "key") == "value" {
		at = 1
	}
	by := ordering(c.flag(0))
	slices.SortStableFunc(list, func(a, b any) int {
		return by(a.([]any)[at], b.([]any)[at]) //nolint:errcheck,forcetypeassert // pairs are lists
	})
	if c.flag(2) {
		slices.Reverse(list)
	}
	return list
}

func ordering(caseSensitive bool) func(a, b any) int {
	if caseSensitive {
		return compare
	}
	return compareFolded
}

func join(c *call) any {
	list := c.inList()
	if path := c.text(1, ""); path != "" {
		list = attributes(list, path)
	}
	return joined(list, c.text(0, ""))
}

func attributes(list []any, path string) []any {
	found := make([]any, len(list))
	for i, item := range list {
		found[i] = attribute(item, path)
	}
	return found
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
func mapped(c *call) any {
	list := make([]any, len(c.inList()))
	path, byAttribute := c.named["attribute"]
	for i, item := range c.inList() {
		if byAttribute {
			list[i] = attribute(item, c.mustText(path))
			if _, missing := list[i].(*undefined); missing && c.named["default"] != nil {
				list[i] = c.named["default"]
			}
			continue
		}
		list[i] = applyFilter(c, item)
	}
	return list
}

func applyFilter(c *call, item any) any {
	name := c.text(0, "")
	filter, ok := filters[name]
	if !ok {
		failf("map needs the name of a filter, or attribute=")
	}
	return filter.apply(&call{machine: c.machine, scope: c.scope, name: name, in: item}, c.rest, c.named)
}

// chosen are the items, or those with an attribute, for which a test says wanted.
func chosen(c *call, byAttribute, wanted bool) any {
	test := 0
	if byAttribute {
		test = 1
	}
	name := c.text(test, "")
	list := []any{}
	for _, item := range c.inList() {
		value := item
		if byAttribute {
			value = attribute(item, c.text(0, ""))
		}
		if passes(c, name, value) == wanted {
			list = append(list, item)
		}
	}
	return list
}

func passes(c *call, name string, value any) bool {
	if name == "" {
		return truth(value)
	}
	test, ok := tests[name]
	if !ok {
		failf("%s needs the name of a test", c.name)
	}
	return truth(test.apply(&call{machine: c.machine, scope: c.scope, name: name, in: value}, c.rest, c.named))
}

func extreme(list []any, sign int) any {
	if len(list) == 0 {
		return &undefined{}
	}
	return slices.MaxFunc(list, func(a, b any) int { return sign * compare(a, b) })
}

func replace(c *call) any {
	return strings.ReplaceAll(c.inDisplayed(), display(c.args[0]), display(c.args[1]))
}

func reversed(c *call) any {
	list := slices.Clone(c.inList())
	slices.Reverse(list)
	if _, ok := c.in.(string); ok {
		return joined(list, "")
	}
	return list
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

func sorted(c *call) any {
	list, by := slices.Clone(c.inList()), ordering(c.flag(1))
	key := func(item any) any {
		if c.has(2) {
			item = attribute(item, c.text(2, ""))
		}
		refuseUndefined(item)
		return item
	}
	slices.SortStableFunc(list, func(a, b any) int { return by(key(a), key(b)) })
	if c.flag(0) {
		slices.Reverse(list)
	}
	return list
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

func sum(c *call) any {
	var total any = 0
	for _, item := range c.inList() {
		refuseUndefined(item)
		total = arithmetic("+", total, item)
	}
	return total
}

func trim(c *call, cut func(s, characters string) string, space func(string) string) any {
	if c.has(0) {
		return cut(c.inDisplayed(), c.text(0, ""))
	}
	return space(c.inDisplayed())
}

func unique(c *call) any {
	list, by, path := []any{}, ordering(c.flag(0)), c.text(1, "")
	seen := map[string]bool{}
	for _, item := range c.inList() {
		key := item
		if path != "" {
			key = attribute(item, path)
		}
		refuseUndefined(key)
		mark := title(key) + display(key)
		if number, ok := asFloat(key); ok {
			mark = display(number)
		}
		if by("a", "A") == 0 {
			mark = strings.ToLower(mark)
		}
		if !seen[mark] {
			seen[mark] = true
			list = append(list, item)
		}
	}
	return list
}

var escaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#x27;", "/", "&#x2f;")

func escape(c *call) any { return escaper.Replace(c.inDisplayed()) }
