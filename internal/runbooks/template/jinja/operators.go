package jinja

import (
	"math"
	"math/bits"
	"strings"

	builtins "github.com/nikolalohinski/gonja/v2/builtins/control_structures"
	"github.com/nikolalohinski/gonja/v2/exec"
)

// Operations that the grammar calls. No filter can have such a name.
const (
	opVariable = ":variable"
	opItem     = ":item"
	opSlice    = ":slice"
	opCall     = ":call"
	opMethod   = ":method"
	opTest     = ":test"
	opMapping  = ":mapping"
	opIterate  = ":iterate"
	opBind     = ":bind"
	opTruth    = ":truth"
	opNot      = ":not"
	opNegate   = ":negate"
	opDefined  = ":defined"
	opUnbox    = ":unbox"
)

var operators map[string]*operation

// It is filled here because tests may name filters and filters tests, which Go takes for a circle.
func init() {
	operators = map[string]*operation{
		opVariable: {params: "line", run: variable, lenient: true},
		opItem:     {params: "key path", run: item, lenient: true},
		opSlice:    {params: "start stop step", run: slice},
		opCall:     {params: "*", run: callValue, lenient: true},
		opMethod:   {params: "(name)*", run: callMethod, lenient: true},
		opTest:     {params: "(name)*", run: runTest, lenient: true},
		opMapping:  {params: "*", run: mapping},
		opIterate:  {run: func(c *call) any { return c.inList() }},
		opBind:     {params: "targets", run: bind},
		opTruth:    {run: func(c *call) any { return truth(c.in) }},
		opNot:      {run: func(c *call) any { return !isDefined(c.in) || !truth(c.in) }, lenient: true},
		opNegate:   {run: func(c *call) any { return arithmetic("-", 0, c.in) }},
		opDefined:  {run: func(c *call) any { return c.in }},
		opUnbox:    {run: func(c *call) any { return c.in.([]any)[0] }, lenient: true},
		"~":        binary(func(a, b any) any { return display(a) + display(b) }),
		"==":       {params: "right", need: 1, run: func(c *call) any { return equal(c.in, c.args[0]) }, lenient: true},
		"!=":       {params: "right", need: 1, run: func(c *call) any { return !equal(c.in, c.args[0]) }, lenient: true},
		"<":        binary(func(a, b any) any { return compare(a, b) < 0 }),
		">":        binary(func(a, b any) any { return compare(a, b) > 0 }),
		"<=":       binary(func(a, b any) any { return compare(a, b) <= 0 }),
		">=":       binary(func(a, b any) any { return compare(a, b) >= 0 }),
		"in":       binary(func(a, b any) any { return contains(b, a) }),
	}
	for _, operator := range []string{"+", "-", "*", "/", "//", "%", "**"} {
		operators[operator] = binary(func(a, b any) any { return arithmetic(operator, a, b) })
	}
}

func binary(run func(a, b any) any) *operation {
	return &operation{params: "right", need: 1, run: func(c *call) any { return run(c.in, c.args[0]) }}
}

func variable(c *call) any {
	if line := c.whole(0, 0); line > 0 {
		c.machine.line = line
	}
	name := c.inText()
	value, ok := c.scope.Get(name)
	if !ok || name == "self" { // gonja's own: it holds its machinery
		return &undefined{path: name, silent: name == missingElse}
	}
	return unboxed(value)
}

func item(c *call) any { return field(c.in, c.args[0], c.text(1, "")) }

func bind(c *call) any {
	c.machine.bindings[c.whole(0, 0)].bind(c.scope, c.in)
	return true
}

// slice is x[start:stop:step].
func slice(c *call) any {
	_, isText := c.in.(string)
	if _, isList := c.in.([]any); !isList && !isText {
		failf("%s cannot be sliced", title(c.in))
	}
	list, part := c.inList(), []any{}
	start, stop, step := span(c, len(list))
	for i := start; step > 0 && i < stop || step < 0 && i > stop; i += step {
		part = append(part, list[i])
	}
	if isText {
		return joined(part, "")
	}
	return part
}

// span is where a slice of so many items begins and ends. A step longer than that is as good as one.
func span(c *call, length int) (start, stop, step int) {
	step = min(max(c.whole(2, 1), -length-1), length+1)
	if step == 0 {
		failf("the step of a slice is 0")
	}
	low, high := 0, length
	if step < 0 {
		low, high = -1, length-1
	}
	bound := func(i, otherwise int) int {
		if !c.has(i) {
			return otherwise
		}
		at := c.whole(i, 0)
		if at < 0 {
			at += length
		}
		return min(max(at, low), high)
	}
	if step < 0 {
		return bound(0, high), bound(1, low), step
	}
	return bound(0, low), bound(1, high), step
}

func joined(parts []any, separator string) string {
	texts := make([]string, len(parts))
	for i, part := range parts {
		texts[i] = display(part)
	}
	return strings.Join(texts, separator)
}

func mapping(c *call) any {
	values := map[string]any{}
	for i := 0; i+1 < len(c.rest); i += 2 {
		key, ok := c.rest[i].(string)
		if !ok {
			failf("the keys of a map are texts, not %s", title(c.rest[i]))
		}
		values[key] = c.rest[i+1]
	}
	return values
}

func callValue(c *call) any {
	switch callee := c.in.(type) {
	case *macro:
		return callee.call(c.rest, c.named)
	case *function:
		return callee.operation.apply(&call{machine: c.machine, scope: c.scope, name: callee.name}, c.rest, c.named)
	case func(*exec.VarArgs) *exec.Value: // the loop of a recursive for
		return callRecursive(callee, c)
	case *undefined:
		callee.fail()
	}
	failf("%s cannot be called", title(c.in))
	return nil
}

func callRecursive(loop func(*exec.VarArgs) *exec.Value, c *call) any {
	if c.machine.calls++; c.machine.calls > deepestCall {
		failf("a loop calls itself more than %d deep", deepestCall)
	}
	defer func() { c.machine.calls-- }()
	if len(c.rest) != 1 {
		failf("loop takes 1 argument, not %d", len(c.rest))
	}
	return plain(loop(&exec.VarArgs{Args: []*exec.Value{exec.AsValue(items(c.rest[0]))}}))
}

func callMethod(c *call) any {
	name := c.text(0, "")
	switch in := c.in.(type) {
	case *undefined:
		in.fail()
	case *builtins.LoopInfos:
		return loopMethod(in, name, c.rest)
	case map[string]any, *namespace:
		// A macro or the like that lies in a map comes first.
		if callee, ok := lookup(in, name); ok {
			if _, callable := callee.(*macro); callable {
				return callValue(&call{machine: c.machine, scope: c.scope, in: callee, rest: c.rest, named: c.named})
			}
		}
	}
	method, ok := methodsOf(c.in)[name]
	if !ok {
		failf("%s has no method %s", title(c.in), name)
	}
	return method.apply(&call{machine: c.machine, scope: c.scope, name: name, in: c.in}, c.rest, c.named)
}

func loopMethod(loop *builtins.LoopInfos, name string, args []any) any {
	method, ok := loop.GetAttribute(name)
	if !ok || name != "cycle" && name != "changed" {
		failf("a loop has no method %s", name)
	}
	refuseUndefined(args...)
	given := &exec.VarArgs{}
	for _, arg := range args {
		given.Args = append(given.Args, exec.AsValue(arg))
	}
	return plain(method.Interface().(func(*exec.VarArgs) *exec.Value)(given))
}

func contains(value, part any) bool {
	switch v := value.(type) {
	case string:
		s, ok := part.(string)
		return strings.Contains(v, s) && ok || !ok && strings.Contains(v, display(part))
	case map[string]any:
		_, found := lookup(v, part)
		return found
	}
	for _, item := range items(value) {
		if equal(item, part) {
			return true
		}
	}
	return false
}

// arithmetic is what MiniJinja does with numbers, and with texts and lists where + and * are meant for them.
func arithmetic(operator string, a, b any) any {
	a, b = asNumber(a), asNumber(b)
	if x, ok := a.(int); ok {
		if y, ok := b.(int); ok && operator != "/" {
			return whole(operator, x, y)
		}
	}
	if x, y, ok := floats(a, b); ok {
		return broken(operator, x, y)
	}
	switch x := a.(type) {
	case string:
		if y, ok := b.(string); ok && operator == "+" {
			return x + y
		}
		if n, ok := b.(int); ok && operator == "*" {
			return repeatedText(x, n)
		}
	case []any:
		if y, ok := b.([]any); ok && operator == "+" {
			return append(append([]any{}, x...), y...)
		}
		if n, ok := b.(int); ok && operator == "*" {
			return repeated(x, n)
		}
	}
	if operator == "-" && a == 0 {
		failf("- cannot be put before %s", title(b))
	}
	failf("%s cannot be used between %s and %s", operator, title(a), title(b))
	return nil
}

// asNumber is 1 and 0 for true and false.
func asNumber(value any) any {
	if b, ok := value.(bool); ok {
		return rank(b) - 1
	}
	return value
}

// maxText is longer than any output may be; what is made in one step is bounded by it.
const maxText = 16 << 20

func repeatedText(s string, n int) string {
	if n > 0 && len(s) > maxText/n {
		failf("the text becomes too long")
	}
	return strings.Repeat(s, max(n, 0))
}

func repeated(list []any, n int) []any {
	if n > maxRange {
		failf("* repeats a list more than %d times", maxRange)
	}
	all := []any{}
	for range n {
		all = append(all, list...)
	}
	return all
}

func whole(operator string, x, y int) any {
	if y == 0 && (operator == "//" || operator == "%") {
		failf("%s by zero", operator)
	}
	switch operator {
	case "+":
		if sum := x + y; (sum > x) == (y > 0) {
			return sum
		}
	case "-":
		if difference := x - y; (difference < x) == (y > 0) {
			return difference
		}
	case "*":
		return product(x, y)
	case "//":
		return (x - remainder(x, y)) / y
	case "%":
		return remainder(x, y)
	case "**":
		return power(x, y)
	}
	failf("the result of %s is too large", operator)
	return nil
}

// remainder is never negative.
func remainder(x, y int) int {
	rest := x % y
	if rest < 0 {
		rest += max(y, -y)
	}
	return rest
}

func product(x, y int) int {
	if high, low := bits.Mul(magnitude(x), magnitude(y)); high != 0 || low > math.MaxInt {
		failf("the result of * is too large")
	}
	return x * y
}

func magnitude(x int) uint {
	if x < 0 {
		return uint(-x)
	}
	return uint(x)
}

func power(x, y int) any {
	if y < 0 {
		failf("** needs an exponent that is not negative")
	}
	result := 1
	for range min(y, 64) { // whatever is not 0, 1 or -1 has become too large by then
		result = product(result, x)
	}
	if y > 64 && x == -1 && y%2 == 1 {
		return -1
	}
	return result
}

func broken(operator string, x, y float64) any {
	switch operator {
	case "+":
		return x + y
	case "-":
		return x - y
	case "*":
		return x * y
	case "/":
		return x / y
	case "//":
		return math.Floor(x / y)
	case "%":
		rest := math.Mod(x, y)
		if rest < 0 {
			rest += math.Abs(y)
		}
		return rest
	default:
		return math.Pow(x, y)
	}
}
