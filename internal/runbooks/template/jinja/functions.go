package jinja

import "maps"

// maxRange bounds what a template can make out of one number.
const maxRange = 100_000

// functions are there without being variables.
var functions = map[string]*operation{
	"dict":      {params: "(map)*", run: dictionary},
	"namespace": {params: "(map)*", run: func(c *call) any { return &namespace{fields: dictionary(c).(map[string]any)} }},
	"range":     {params: "start stop step", need: 1, run: numbers},
}

func globals() map[string]any {
	all := map[string]any{}
	for name, operation := range functions {
		all[name] = &function{name, operation}
	}
	return all
}

func dictionary(c *call) any {
	values := map[string]any{}
	if c.has(0) {
		start, ok := c.args[0].(map[string]any)
		if !ok {
			failf("%s needs a map, not %s", c.name, title(c.args[0]))
		}
		maps.Copy(values, start)
	}
	maps.Copy(values, c.named)
	return values
}

func numbers(c *call) any {
	start, stop, step := 0, c.whole(0, 0), c.whole(2, 1)
	if c.has(1) {
		start, stop = stop, c.whole(1, 0)
	}
	if step == 0 {
		failf("range needs a step that is not 0")
	}
	list := []any{}
	for i := start; step > 0 && i < stop || step < 0 && i > stop; i += step {
		if len(list) == maxRange {
			failf("range gives more than %d numbers", maxRange)
		}
		list = append(list, i)
	}
	return list
}
