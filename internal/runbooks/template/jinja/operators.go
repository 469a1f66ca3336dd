package jinja

import (
	"math"
	"math/big"
	"strings"
)

// operators have two operands.
var operators = map[string]func(r *run, a, b any) any{
	"==":     func(r *run, a, b any) any { return r.equal(a, b) },
	"!=":     func(r *run, a, b any) any { return !r.equal(a, b) },
	"<":      func(r *run, a, b any) any { return r.ordered(a, b) < 0 },
	">":      func(r *run, a, b any) any { return r.ordered(a, b) > 0 },
	"<=":     func(r *run, a, b any) any { return r.ordered(a, b) <= 0 },
	">=":     func(r *run, a, b any) any { return r.ordered(a, b) >= 0 },
	"in":     func(r *run, a, b any) any { return r.contains(b, a) },
	"not in": func(r *run, a, b any) any { return !r.contains(b, a) },
	"~": func(r *run, a, b any) any {
		refuse(a)
		refuse(b)
		return r.joined([]any{a, b}, "")
	},
}

func init() {
	for _, operator := range []string{"+", "-", "*", "/", "//", "%", "**"} {
		operators[operator] = func(r *run, a, b any) any { return r.arithmetic(operator, a, b) }
	}
}

func (r *run) ordered(a, b any) int {
	refuse(a)
	refuse(b)
	return r.compare(a, b)
}

func (r *run) contains(value, part any) bool {
	refuse(value)
	refuse(part)
	switch v := unmarked(value).(type) {
	case string:
		r.scan(len(v))
		return strings.Contains(v, r.display(part))
	case *dict:
		_, found := v.get(r, unmarked(part))
		return found
	}
	for _, item := range r.items(value) {
		if r.equal(item, part) {
			return true
		}
	}
	return false
}

// slice is x[start:stop:step].
func (r *run) slice(value any, bounds [3]expression) any {
	refuse(value)
	var given [3]any
	for i, bound := range bounds {
		if bound != nil {
			given[i] = bound(r)
			refuse(given[i])
		}
	}
	s, isText := unmarked(value).(string)
	list, isList := listed(value)
	if !isList && !isText {
		failf("%s cannot be sliced", title(value))
	}
	if isText {
		list = r.items(s)
	}
	start, stop, step := span(given, len(list))
	part := r.list(0)
	for i := start; step > 0 && i < stop || step < 0 && i > stop; i += step {
		part = append(r.grow(part), list[i])
	}
	if isText {
		return r.joined(part, "")
	}
	if special, ok := value.(*sequence); ok && special.iterator {
		return &sequence{items: part, iterator: true}
	}
	return part
}

// span is where a slice of so many items begins and ends. A step longer than that is as good as one.
func span(given [3]any, length int) (start, stop, step int) {
	number := func(i, otherwise int) int {
		n, ok := given[i].(int)
		switch {
		case given[i] == nil:
			return otherwise
		case !ok:
			failf("a slice needs a whole number, not %s", title(given[i]))
		}
		return n
	}
	step = min(max(number(2, 1), -length-1), length+1)
	if step == 0 {
		failf("the step of a slice is 0")
	}
	low, high := 0, length
	if step < 0 {
		low, high = -1, length-1
	}
	bound := func(i, otherwise int) int {
		if given[i] == nil {
			return otherwise
		}
		at := number(i, 0)
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

func (r *run) joined(parts []any, separator string) string {
	out := &buffer{Budget: r.Budget}
	for i, part := range parts {
		if i > 0 {
			out.add(separator)
		}
		r.print(out, part)
	}
	return out.text.String()
}

// arithmetic computes as MiniJinja does: with numbers, and + and * also with texts and lists.
func (r *run) arithmetic(operator string, a, b any) any {
	refuse(a)
	refuse(b)
	x, y := asNumber(a), asNumber(b)
	if operator == "*" {
		if _, first := x.(int); first {
			if _, isNumber := float(y); !isNumber { // 3 * 'a'
				x, y = y, x
			}
		}
	}
	if m, ok := whole(x); ok && operator != "/" {
		if n, ok := whole(y); ok {
			return r.exactly(operator, m, n)
		}
	}
	if left, ok := float(x); ok {
		if right, ok := float(y); ok {
			return broken(operator, left, right)
		}
	}
	switch x := x.(type) {
	case string:
		if s, ok := y.(string); ok && operator == "+" {
			return r.joined([]any{x, s}, "")
		}
		if n, ok := y.(int); ok && operator == "*" {
			return r.repeat(x, n)
		}
	default:
		list, isList := listed(x)
		if more, ok := listed(y); ok && isList && operator == "+" {
			return append(append(r.list(len(list)+len(more)), list...), more...)
		}
		if n, ok := y.(int); ok && isList && operator == "*" {
			return r.repeated(list, max(n, 0))
		}
	}
	failf("%s cannot be used between %s and %s", operator, title(a), title(b))
	return nil
}

func (r *run) repeated(list []any, n int) []any {
	if n > maxRange {
		failf("* repeats a list more than %d times", maxRange)
	}
	if len(list) > MaxMemory/slotSize/max(n, 1) {
		failf(tooMuch)
	}
	all := r.list(n * len(list))
	for range n {
		all = append(all, list...)
	}
	return all
}

// exactly calculates with whole numbers, which have 127 bits as MiniJinja's do.
func (r *run) exactly(operator string, x, y *big.Int) any {
	const bits = 127
	r.allocate(4 * numberSize)
	z := new(big.Int)
	switch operator {
	case "+":
		z.Add(x, y)
	case "-":
		z.Sub(x, y)
	case "*":
		z.Mul(x, y)
	case "//", "%":
		if y.Sign() == 0 {
			failf("%s by zero", operator)
		}
		if z.Div(x, y); operator == "%" {
			z.Mod(x, y)
		}
	case "**":
		if y.Sign() < 0 {
			failf("** needs an exponent that is not negative")
		}
		if x.BitLen() > 1 && y.Cmp(big.NewInt(bits)) > 0 {
			failf("the result of ** is too large")
		}
		z.Exp(x, y, nil)
	}
	switch {
	case z.BitLen() > bits:
		failf("the result of %s is too large", operator)
	case !z.IsInt64():
		return bigNumber(z.String())
	}
	return int(z.Int64())
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
