package jinja

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// deepest bounds how far expressions and blocks may be nested: what reads them, and what they become, calls itself for
// each level. Real templates stay below ten.
const deepest = 100

// parser compiles a template to functions: expressions here, statements in statements.go.
type parser struct {
	*lexer
	depth int
	usage *usage
}

func (p *parser) accept(text string) bool {
	if !p.peek(0).is(text) {
		return false
	}
	p.next()
	return true
}

func (p *parser) expect(text string) {
	if !p.accept(text) {
		p.failf("%s where %q was expected", p.peek(0), text)
	}
}

func (p *parser) name(what string) string {
	t := p.peek(0)
	if t.kind != name || reserved[t.text] {
		p.failf("%s where %s was expected", t, what)
	}
	return p.next().text
}

// failf throws a fault at the line of the next token.
func (p *parser) failf(format string, args ...any) {
	panic(&FaultError{Line: p.peek(0).line, Message: fmt.Sprintf(format, args...)})
}

// nested guards a step deeper.
func (p *parser) nested() func() {
	if p.depth++; p.depth > deepest {
		p.failf("nested deeper than %d levels", deepest)
	}
	return func() { p.depth-- }
}

// reserved words are no names of variables.
var reserved = map[string]bool{
	"and": true, "or": true, "not": true, "in": true, "is": true, "if": true, "else": true,
	"true": true, "false": true, "none": true, "True": true, "False": true, "None": true,
}

// chain is a value with steps behind it. They run one after the other: if each held the one before it, a long template
// would make a deep stack.
func chain(value expression, steps []step) expression {
	if len(steps) == 0 {
		return value
	}
	return func(r *run) any {
		v := value(r)
		for _, s := range steps {
			r.step(1)
			v = s(r, v)
		}
		return v
	}
}

func constant(value any) expression { return func(*run) any { return value } }

// expression reads a whole expression: a or b if c else d.
func (p *parser) expression() expression {
	defer p.nested()()
	value := p.or()
	if !p.accept("if") {
		return value
	}
	condition, otherwise := p.or(), constant(&undefined{silent: true})
	if p.accept("else") {
		otherwise = p.expression()
	}
	return func(r *run) any {
		if truth(condition(r)) {
			return value(r)
		}
		return otherwise(r)
	}
}

func (p *parser) or() expression { return p.logical("or", true, p.and) }

func (p *parser) and() expression { return p.logical("and", false, p.not) }

// logical reads operands with one word between them. The first whose truth is decisive is the value, or else the last.
func (p *parser) logical(word string, decisive bool, operand func() expression) expression {
	operands := []expression{operand()}
	for p.accept(word) {
		operands = append(operands, operand())
	}
	if len(operands) == 1 {
		return operands[0]
	}
	return func(r *run) any {
		last := len(operands) - 1
		for _, one := range operands[:last] {
			r.step(1)
			if value := one(r); truth(value) == decisive {
				return value
			}
		}
		return operands[last](r)
	}
}

func (p *parser) not() expression {
	defer p.nested()()
	if !p.accept("not") {
		return p.binary(0)
	}
	value := p.not()
	return func(r *run) any {
		v := value(r)
		return !isDefined(v) || !truth(v)
	}
}

// ranks are the operators with two operands, those that bind least first.
var ranks = [][]string{{"==", "!=", "<=", ">=", "<", ">", "in", "not in"}, {"+", "-"}, {"~"}, {"*", "//", "/", "%"}, {"**"}}

// binary reads operands of a rank, from left to right.
func (p *parser) binary(rank int) expression {
	if rank == len(ranks) {
		return p.filtered()
	}
	left, steps := p.binary(rank+1), []step(nil)
	for {
		operator := p.operator(ranks[rank])
		if operator == nil {
			return chain(left, steps)
		}
		right := p.binary(rank + 1)
		steps = append(steps, func(r *run, value any) any { return operator(r, value, right(r)) })
	}
}

// operator reads one of these operators, or gives nil.
func (p *parser) operator(of []string) func(r *run, a, b any) any {
	word := p.peek(0)
	found := word.text
	if word.is("not") && p.peek(1).is("in") {
		found = "not in"
	}
	if word.kind != symbol && word.kind != name || !slices.Contains(of, found) {
		return nil
	}
	if p.next(); found == "not in" {
		p.next()
	}
	return operators[found]
}

// filtered reads a value with its filters and tests: |filter and is test. A minus before the value is part of it.
func (p *parser) filtered() expression {
	value, steps := p.unary(), []step(nil)
	for {
		switch {
		case p.accept("|"):
			steps = append(steps, p.filter())
		case p.accept("is"):
			steps = append(steps, p.test())
		default:
			return chain(value, steps)
		}
	}
}

func (p *parser) unary() expression {
	defer p.nested()()
	if !p.accept("-") {
		return p.postfix()
	}
	value := p.unary()
	return func(r *run) any {
		v := value(r)
		refuse(v)
		switch v := v.(type) {
		case int, bigNumber:
			return r.arithmetic("-", 0, v)
		case float64:
			return -v
		}
		failf("- cannot be put before %s", title(v))
		return nil
	}
}

// filters reads |filter as often as it comes.
func (p *parser) filters() []step {
	var steps []step
	for p.accept("|") {
		steps = append(steps, p.filter())
	}
	return steps
}

func (p *parser) filter() step {
	word := p.peek(0)
	filter := filters[word.text]
	if word.kind != name || filter == nil {
		p.failf("there is no filter %s", word)
	}
	p.next()
	var given arguments
	if p.accept("(") {
		given = p.arguments()
	}
	return func(r *run, value any) any { return given.apply(r, filter, word.text, value) }
}

// test reads what follows is: a name, and its argument with or without parentheses.
func (p *parser) test() step {
	negated := p.accept("not")
	word := p.peek(0)
	test := tests[word.text]
	if word.kind != name || test == nil {
		p.failf("there is no test %s", word)
	}
	p.next()
	var given arguments
	switch {
	case p.accept("("):
		given = p.arguments()
	case p.startsOperand():
		given.values = []expression{p.postfix()}
	}
	return func(r *run, value any) any { return given.apply(r, test, word.text, value) != negated }
}

// startsOperand reports whether an argument of a test without parentheses follows.
func (p *parser) startsOperand() bool {
	t := p.peek(0)
	switch t.kind {
	case text, integer, decimal:
		return true
	case name:
		return !reserved[t.text] || t.is("true") || t.is("false") || t.is("none")
	default:
		return t.is("[")
	}
}

// arguments reads up to the closing parenthesis.
func (p *parser) arguments() (a arguments) {
	p.list(")", func() {
		if p.peek(0).kind == name && p.peek(1).is("=") {
			key := p.name("the name of an argument")
			p.expect("=")
			a.named = append(a.named, namedArgument{key, p.expression()})
			return
		}
		if len(a.named) > 0 {
			p.failf("an argument without a name behind one with a name")
		}
		a.values = append(a.values, p.expression())
	})
	return a
}

// list reads items with commas between them, and the end.
func (p *parser) list(end string, item func()) {
	for !p.accept(end) {
		item()
		if !p.accept(",") {
			p.expect(end)
			return
		}
	}
}

// postfix reads a value with its attributes, subscripts and calls, and notes which variable that is.
func (p *parser) postfix() expression {
	value, path := p.primary()
	var steps []step
	for {
		switch {
		case p.accept("."):
			steps = append(steps, p.attribute(path))
		case p.accept("["):
			steps = append(steps, p.subscript(path))
		case p.accept("("):
			path.end()
			steps = append(steps, p.arguments().call)
		default:
			p.usage.note(path)
			return chain(value, steps)
		}
	}
}

func (p *parser) attribute(path *path) step {
	t := p.peek(0)
	if t.kind != name && t.kind != integer {
		p.failf("%s where the name of an attribute was expected", t)
	}
	p.next()
	if t.kind == name && p.accept("(") {
		path.end()
		given := p.arguments()
		return func(r *run, value any) any { return given.callMethod(r, value, t.text) }
	}
	return item(constant(t.text), path.add(".", t.text))
}

// item is value[key].
func item(key expression, name func() string) step {
	return func(r *run, value any) any {
		k := key(r)
		refuse(k)
		refuse(value)
		found, ok := r.lookup(value, k)
		if !ok {
			r.allocate(bindingSize)
			return missing(value, name())
		}
		return found
	}
}

func (p *parser) subscript(path *path) step {
	var bounds [3]expression
	first, start, parts := p.peek(0), p.read, 0
	for ; parts < len(bounds); parts++ {
		if !p.peek(0).is(":") && !p.peek(0).is("]") {
			bounds[parts] = p.expression()
		}
		if !p.accept(":") {
			break
		}
	}
	alone := p.read == start+1
	p.expect("]")
	switch {
	case parts > 0:
		path.end()
		return func(r *run, value any) any { return r.slice(value, bounds) }
	case bounds[0] == nil:
		p.failf("an empty subscript")
	case alone && first.kind == text:
		return item(bounds[0], path.add("['", keyEscaper.Replace(first.text), "']"))
	case alone && first.kind == integer:
		return item(bounds[0], path.add("[", first.text, "]"))
	}
	path.end()
	return item(bounds[0], path.add())
}

func (p *parser) primary() (expression, *path) {
	t := p.peek(0)
	switch {
	case t.kind == text:
		return p.text(), nil
	case t.kind == integer:
		value, err := strconv.Atoi(t.text)
		if err != nil {
			p.failf("the number %s is too large", t.text)
		}
		p.next()
		return constant(value), nil
	case t.kind == decimal:
		value, _ := strconv.ParseFloat(p.next().text, 64) // the lexer has read it; too large is infinite
		return constant(value), nil
	case p.accept("("):
		return p.parenthesis(), nil
	case p.accept("["):
		return items(p.expressions("]")), nil
	case p.accept("{"):
		return p.mapping(), nil
	case t.kind == name:
		return p.word()
	}
	p.failf("%s where a value was expected", t)
	return nil, nil
}

// text reads a text; those that stand side by side are one.
func (p *parser) text() expression {
	var all strings.Builder
	for p.peek(0).kind == text {
		all.WriteString(p.next().text)
	}
	return constant(all.String())
}

func (p *parser) word() (expression, *path) {
	t := p.peek(0)
	if reserved[t.text] {
		switch strings.ToLower(t.text) {
		case "true", "false":
			return constant(strings.EqualFold(p.next().text, "true")), nil
		case "none":
			p.next()
			return constant(nil), nil
		}
		p.failf("%s where a value was expected", t)
	}
	p.next()
	return func(r *run) any {
		r.line = t.line
		return r.variable(t.text)
	}, p.usage.start(t.text)
}

// parenthesis reads (a) or the list that (a, b) is.
func (p *parser) parenthesis() expression {
	if p.accept(")") {
		return items(nil)
	}
	first := p.expression()
	if p.accept(")") {
		return first
	}
	p.expect(",")
	return items(append([]expression{first}, p.expressions(")")...))
}

func (p *parser) expressions(end string) (all []expression) {
	p.list(end, func() { all = append(all, p.expression()) })
	return all
}

func items(all []expression) expression {
	return func(r *run) any {
		list := r.list(len(all))
		for _, item := range all {
			list = append(list, item(r))
		}
		return list
	}
}

// mapping reads {key: value, …}.
func (p *parser) mapping() expression {
	var keys, values []expression
	p.list("}", func() {
		keys = append(keys, p.expression())
		p.expect(":")
		values = append(values, p.expression())
	})
	return func(r *run) any {
		names, content := r.list(len(keys)), r.list(len(keys))
		for i := range keys {
			names, content = append(names, keys[i](r)), append(content, values[i](r))
		}
		for _, name := range names {
			refuse(name)
		}
		return r.newDict(names, content)
	}
}
