package jinja

// functions are there without being variables.
var functions = map[string]*operation{
	"dict":      op("(map)*", 0, func(c *call) any { return c.dictionary() }),
	"namespace": op("(map)*", 0, newNamespace),
	"range":     op("start stop step", 1, numbers),
}

// dictionary is the map that the arguments with names make, above another one.
func (c *call) dictionary() *dict {
	start := &dict{}
	if value := c.argument(0); value != nil {
		given, isMap := value.(*dict)
		if !isMap || len(c.rest) > 0 {
			failf("%s needs a map, not %s", c.name, title(value))
		}
		start = given
	}
	size := len(start.keys) + len(c.named)
	c.allocate(textSize * len(c.named))
	keys, values := append(c.list(size), start.keys...), append(c.list(size), start.values...)
	for _, arg := range c.named {
		keys, values = append(keys, arg.name), append(values, arg.value)
	}
	return c.newDict(keys, values)
}

func newNamespace(c *call) any {
	n, d := &namespace{}, c.dictionary()
	for i, key := range d.keys {
		n.set(c.run, c.mustText(key), d.values[i])
	}
	return n
}

func numbers(c *call) any {
	start, stop, step := 0, c.whole(0, 0), c.whole(2, 1)
	if c.has(1) {
		start, stop = stop, c.whole(1, 0)
	}
	if step == 0 {
		failf("range needs a step that is not 0")
	}
	list := c.list(0)
	for i := start; step > 0 && i < stop || step < 0 && i > stop; i += step {
		if len(list) == maxRange {
			failf("range gives more than %d numbers", maxRange)
		}
		list = append(c.grow(list), i)
		if next := i + step; (next > i) != (step > 0) {
			break
		}
	}
	c.allocate(8 * len(list))
	return list
}
