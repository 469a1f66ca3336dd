package jinja

import (
	"math"
	"slices"
)

// batch cuts a list into lists of a size.
func batch(c *call) any {
	size, list := c.whole(0, 0), c.inList()
	if size <= 0 {
		failf("batch needs a size above 0")
	}
	batches := c.list(0)
	for part := range slices.Chunk(list, size) {
		part = c.clone(part)
		for c.has(1) && len(part) < min(size, maxRange) {
			part = append(c.grow(part), c.args[1])
		}
		batches = append(c.grow(batches), part)
	}
	return batches
}

// columns cuts a list into a number of lists.
func columns(c *call) any {
	count, list := c.whole(0, 0), c.inList()
	if count <= 0 || count > maxRange {
		failf("slice needs a number from 1 to %d", maxRange)
	}
	all, at := c.list(count), 0
	for i := range count {
		size := len(list) / count
		longer := i < len(list)%count
		if longer {
			size++
		}
		column := append(c.list(size+1), list[at:at+size]...)
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

func reversed(c *call) any {
	list := c.clone(c.inList())
	slices.Reverse(list)
	if _, isText := c.in.(string); isText {
		return c.joined(list, "")
	}
	return list
}

func pairs(c *call) any {
	values, isMap := c.in.(*dict)
	if !isMap {
		failf("%s needs a map, not %s", c.name, title(c.in))
	}
	list := c.list(len(values.keys))
	for i, key := range values.keys {
		list = append(list, append(c.list(2), key, values.values[i]))
	}
	return list
}

// key gives what an item is sorted or grouped by: the item itself where path is empty.
func (c *call) key(path string, fallback any) func(item any) any {
	return func(item any) any {
		if path != "" {
			item = c.attribute(item, path)
		}
		if fallback != nil && !isDefined(item) {
			return fallback
		}
		refuse(item)
		return item
	}
}

// folded is a key without the case of a text, unless that matters.
func (c *call) folded(key any, caseSensitive bool) any {
	if s, isText := unmarked(key).(string); isText && !caseSensitive {
		c.allocate(textSize)
		return c.lower(s)
	}
	return key
}

func (c *call) sorted(list []any, key func(any) any, caseSensitive, reverse bool) []any {
	all := c.sort(list, func(item any) any { return c.folded(key(item), caseSensitive) }, c.compare)
	if reverse {
		slices.Reverse(all)
	}
	return all
}

func sorted(c *call) any {
	return c.sorted(c.inList(), c.key(c.text(2, ""), nil), c.flag(1), c.flag(0))
}

func sortedPairs(c *call) any {
	at := 0
	if c.text(1, "key") == "value" {
		at = 1
	}
	return c.sorted(pairs(c).([]any), func(pair any) any { return pair.([]any)[at] }, c.flag(0), c.flag(2))
}

// groups are pairs of a value and the items that have it, in the order of the values.
func groups(c *call) any {
	key := c.key(c.text(0, ""), c.argument(1))
	list := c.sorted(c.inList(), key, c.flag(2), false)
	all := c.list(0)
	for start := 0; start < len(list); {
		first, stop := c.folded(key(list[start]), c.flag(2)), start+1
		for stop < len(list) && c.compare(first, c.folded(key(list[stop]), c.flag(2))) == 0 {
			stop++
		}
		pair := append(c.list(2), key(list[stop-1]), any(c.clone(list[start:stop])))
		all = append(c.grow(all), &sequence{items: pair, group: true})
		start = stop
	}
	return all
}

func unique(c *call) any {
	key, kept, seen := c.key(c.text(1, ""), nil), c.list(0), map[string]bool{}
	for _, item := range c.inList() {
		value := key(item)
		if number, isNumber := value.(float64); isNumber && number == math.Trunc(number) && math.Abs(number) < 1<<53 {
			value = int(number)
		}
		mark := title(value) + c.display(value)
		if !c.flag(0) {
			mark = c.lower(mark)
		}
		c.allocate(len(mark) + 4*slotSize)
		if !seen[mark] {
			seen[mark] = true
			kept = append(c.grow(kept), item)
		}
	}
	return kept
}

func (c *call) extreme(sign int) any {
	list := c.inList()
	if len(list) == 0 {
		return &undefined{}
	}
	return slices.MaxFunc(list, func(a, b any) int { return sign * c.compare(a, b) })
}

func sum(c *call) any {
	var total any = 0
	for _, item := range c.inList() {
		total = c.arithmetic("+", total, item)
	}
	return total
}

// mapped applies a filter to each item, or takes an attribute of each.
func mapped(c *call) any {
	list, change := c.inList(), c.mapping()
	all := c.list(len(list))
	for _, item := range list {
		all = append(all, change(item))
	}
	return all
}

func (c *call) mapping() func(item any) any {
	attribute, byAttribute := c.option("attribute")
	if !byAttribute {
		name := c.text(0, "")
		filter := filters[name]
		if filter == nil {
			failf("map needs the name of a filter, or attribute=")
		}
		return func(item any) any { return filter.apply(c.run, name, item, c.rest, c.named) }
	}
	path, isText := unmarked(attribute).(string)
	otherwise, hasOther := c.option("default")
	return func(item any) any {
		var found any
		if isText {
			found = c.attribute(item, path)
		} else if value, ok := c.lookup(item, attribute); ok {
			found = value
		} else {
			found = &undefined{}
		}
		if hasOther && !isDefined(found) {
			return otherwise
		}
		return found
	}
}

// chosen are the items, or those with an attribute, for which a test says wanted. The argument at is the name of the test.
func (c *call) chosen(at int, wanted bool) any {
	name, kept := c.text(at, ""), c.list(0)
	test := tests[name]
	if name != "" && test == nil {
		failf("%s needs the name of a test", c.name)
	}
	for _, item := range c.inList() {
		value := item
		if at > 0 {
			value = c.attribute(item, c.text(0, ""))
		}
		passes := false
		switch {
		case test != nil:
			passes = truth(test.apply(c.run, name, value, c.rest, c.named))
		case isDefined(value): // an attribute that is not there is as good as false
			passes = truth(value)
		}
		if passes == wanted {
			kept = append(c.grow(kept), item)
		}
	}
	return kept
}
