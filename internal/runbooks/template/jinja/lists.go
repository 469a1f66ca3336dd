package jinja

import (
	"slices"
	"strings"
)

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

func columns(c *call) any {
	count, list := c.whole(0, 0), c.inList()
	if count <= 0 || count > maxRange {
		failf("slice needs a number from 1 to %d", maxRange)
	}
	all, at := []any{}, 0
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
		all = append(all, column)
	}
	return all
}

func edge(list []any, i int) any {
	if len(list) == 0 {
		return &undefined{}
	}
	return list[i]
}

func attribute(value any, path string) any {
	for step := range strings.SplitSeq(path, ".") {
		value = field(value, step, path)
	}
	return value
}

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

func compareFolded(a, b any) int {
	x, okX := a.(string)
	y, okY := b.(string)
	if okX && okY {
		return strings.Compare(strings.ToLower(x), strings.ToLower(y))
	}
	return compare(a, b)
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
	list, at := pairs(c).([]any), 0
	if c.text(1, "key") == "value" {
		at = 1
	}
	by := ordering(c.flag(0))
	slices.SortStableFunc(list, func(a, b any) int {
		return by(a.([]any)[at], b.([]any)[at])
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

func reversed(c *call) any {
	list := slices.Clone(c.inList())
	slices.Reverse(list)
	if _, ok := c.in.(string); ok {
		return joined(list, "")
	}
	return list
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

func sum(c *call) any {
	var total any = 0
	for _, item := range c.inList() {
		refuseUndefined(item)
		total = arithmetic("+", total, item)
	}
	return total
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
