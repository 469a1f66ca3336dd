package jinja

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/nikolalohinski/gonja/v2/nodes"
	"github.com/nikolalohinski/gonja/v2/tokens"
)

// deepest bounds how far expressions and blocks may be nested. Real templates stay below ten.
const deepest = 100

// parser turns tokens into the tree that gonja runs. Operators, subscripts, calls and tests become calls of operations
// of this package, so that gonja's own, more lenient ones are never reached.
type parser struct {
	machine *machine
	tokens  []token
	at      int
	depth   int
	usage   *usage
}

func (p *parser) peek() token { return p.tokens[p.at] }

func (p *parser) next() token {
	t := p.tokens[p.at]
	if t.kind != endOfFile {
		p.at++
	}
	return t
}

func (p *parser) accept(text string) bool {
	if !p.peek().is(text) {
		return false
	}
	p.at++
	return true
}

func (p *parser) expect(text string) {
	if !p.accept(text) {
		p.failf("%s where %q was expected", p.peek(), text)
	}
}

func (p *parser) name(what string) string {
	t := p.next()
	if t.kind != name || reserved[t.text] {
		p.at--
		p.failf("%s where %s was expected", t, what)
	}
	return t.text
}

// failf throws a fault at the line of the next token.
func (p *parser) failf(format string, args ...any) {
	panic(&FaultError{Line: p.peek().line, Message: fmt.Sprintf(format, args...)})
}

// nested guards a step deeper: Go's stack would end the process, without a word to whoever wrote the template.
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

// expression reads a whole expression: a or b if c else d.
func (p *parser) expression() nodes.Expression {
	defer p.nested()()
	value := p.or()
	if !p.accept("if") {
		return value
	}
	condition := p.or()
	otherwise := p.hidden(missingElse)
	if p.accept("else") {
		otherwise = p.expression()
	}
	return p.choose(condition, value, otherwise)
}

// choose is (condition and [value] or [otherwise])[0]: only one of the two is evaluated, and a list is true also where
// what is in it is not.
func (p *parser) choose(condition, value, otherwise nodes.Expression) nodes.Expression {
	chosen := p.logical(tokens.And, "and", p.operation(opTruth, condition), p.boxed(value))
	return p.operation(opUnbox, p.logical(tokens.Or, "or", chosen, p.boxed(otherwise)))
}

func (p *parser) boxed(value nodes.Expression) nodes.Expression {
	return &nodes.List{Location: p.location(), Val: []nodes.Expression{value}}
}

func (p *parser) or() nodes.Expression {
	left := p.and()
	for p.accept("or") {
		left = p.logical(tokens.Or, "or", p.operation(opDefined, left), p.and())
	}
	return left
}

func (p *parser) and() nodes.Expression {
	left := p.not()
	for p.accept("and") {
		left = p.logical(tokens.And, "and", p.operation(opDefined, left), p.not())
	}
	return left
}

func (p *parser) not() nodes.Expression {
	defer p.nested()()
	if p.accept("not") {
		return p.operation(opNot, p.not())
	}
	return p.comparison()
}

var comparisons = []string{"==", "!=", "<=", ">=", "<", ">", "in"}

func (p *parser) comparison() nodes.Expression {
	left := p.sum()
	for {
		operator, found := p.acceptAny(comparisons...)
		switch {
		case found:
			left = p.operation(operator, left, p.sum())
		case p.peek().is("not") && p.tokens[p.at+1].is("in"):
			p.at += 2
			left = p.operation(opNot, p.operation("in", left, p.sum()))
		default:
			return left
		}
	}
}

func (p *parser) acceptAny(texts ...string) (string, bool) {
	for _, text := range texts {
		if p.accept(text) {
			return text, true
		}
	}
	return "", false
}

func (p *parser) sum() nodes.Expression {
	return p.binary(p.concatenation, "+", "-")
}

func (p *parser) concatenation() nodes.Expression {
	return p.binary(p.product, "~")
}

func (p *parser) product() nodes.Expression {
	return p.binary(p.power, "*", "//", "/", "%")
}

// binary reads operands of the same rank, from left to right.
func (p *parser) binary(operand func() nodes.Expression, operators ...string) nodes.Expression {
	left := operand()
	for {
		operator, found := p.acceptAny(operators...)
		if !found {
			return left
		}
		left = p.operation(operator, left, operand())
	}
}

func (p *parser) power() nodes.Expression {
	return p.binary(p.filtered, "**")
}

// filtered reads a value with what follows it: |filter and is test. A minus before the value is part of it.
func (p *parser) filtered() nodes.Expression {
	value := p.unary()
	for {
		switch {
		case p.accept("|"):
			value = p.filter(value)
		case p.accept("is"):
			value = p.test(value)
		default:
			return value
		}
	}
}

func (p *parser) unary() nodes.Expression {
	defer p.nested()()
	if p.accept("-") {
		return p.operation(opNegate, p.unary())
	}
	return p.postfix()
}

func (p *parser) filter(value nodes.Expression) nodes.Expression {
	call := p.filterCall()
	return &nodes.FilteredExpression{Expression: value, Filters: []*nodes.FilterCall{call}}
}

func (p *parser) filterCall() *nodes.FilterCall {
	filter := p.next()
	if _, known := filters[filter.text]; filter.kind != name || !known {
		p.at--
		p.failf("there is no filter %s", filter)
	}
	call := &nodes.FilterCall{Token: location(filter), Name: filter.text}
	if p.accept("(") {
		call.Args, call.Kwargs = p.arguments()
	}
	return call
}

// test reads what follows is: a name, and its argument with or without parentheses.
func (p *parser) test(value nodes.Expression) nodes.Expression {
	negated := p.accept("not")
	word := p.next()
	if _, known := tests[word.text]; !known || word.kind != name {
		p.at--
		p.failf("there is no test %s", word)
	}
	args := []nodes.Expression{p.constant(word.text)}
	var named map[string]nodes.Expression
	if p.accept("(") {
		var more []nodes.Expression
		more, named = p.arguments()
		args = append(args, more...)
	} else if p.startsOperand() {
		args = append(args, p.postfix())
	}
	result := p.operationNamed(opTest, value, args, named)
	if negated {
		return p.operation(opNot, result)
	}
	return result
}

// startsOperand tells whether an argument of a test without parentheses follows.
func (p *parser) startsOperand() bool {
	t := p.peek()
	switch t.kind {
	case text, integer, float:
		return true
	case name:
		return !reserved[t.text] || t.is("true") || t.is("false") || t.is("none")
	default:
		return t.is("[")
	}
}

// arguments reads up to the closing parenthesis.
func (p *parser) arguments() (args []nodes.Expression, named map[string]nodes.Expression) {
	named = map[string]nodes.Expression{}
	for !p.accept(")") {
		if p.peek().kind == name && p.tokens[p.at+1].is("=") {
			key := p.name("the name of an argument")
			p.expect("=")
			named[key] = p.expression()
		} else {
			if len(named) > 0 {
				p.failf("an argument without a name behind one with a name")
			}
			args = append(args, p.expression())
		}
		if !p.accept(",") {
			p.expect(")")
			break
		}
	}
	return args, named
}

// postfix reads a value with its attributes, subscripts and calls, and notes which variable that is.
func (p *parser) postfix() nodes.Expression {
	value, path := p.primary()
	for {
		switch {
		case p.accept("."):
			value, path = p.attribute(value, path)
		case p.accept("["):
			value, path = p.subscript(value, path)
		case p.accept("("):
			args, named := p.arguments()
			value, path = p.operationNamed(opCall, value, args, named), path.end()
		default:
			p.usage.note(path)
			return value
		}
	}
}

func (p *parser) attribute(value nodes.Expression, path path) (nodes.Expression, path) {
	t := p.next()
	if t.kind != name && t.kind != integer {
		p.at--
		p.failf("%s where the name of an attribute was expected", t)
	}
	if t.kind == name && p.accept("(") {
		args, named := p.arguments()
		args = append([]nodes.Expression{p.constant(t.text)}, args...)
		return p.operationNamed(opMethod, value, args, named), path.end()
	}
	path = path.field(t.text)
	return p.operation(opItem, value, p.constant(t.text), p.constant(path.String())), path
}

func (p *parser) subscript(value nodes.Expression, path path) (nodes.Expression, path) {
	var bounds [3]nodes.Expression
	key, start, parts := p.peek(), p.at, 0
	for ; parts < len(bounds); parts++ {
		if !p.peek().is(":") && !p.peek().is("]") {
			bounds[parts] = p.expression()
		}
		if !p.accept(":") {
			break
		}
	}
	constant := p.at == start+1
	p.expect("]")
	if parts > 0 {
		return p.operation(opSlice, value, p.orNone(bounds[0]), p.orNone(bounds[1]), p.orNone(bounds[2])), path.end()
	}
	if bounds[0] == nil {
		p.failf("an empty subscript")
	}
	if constant && key.kind == text || constant && key.kind == integer {
		path = path.key(key)
	} else {
		path = path.end()
	}
	return p.operation(opItem, value, bounds[0], p.constant(path.String())), path
}

func (p *parser) orNone(bound nodes.Expression) nodes.Expression {
	if bound == nil {
		return &nodes.None{Location: p.location()}
	}
	return bound
}

func (p *parser) primary() (nodes.Expression, path) {
	t := p.next()
	at := location(t)
	switch {
	case t.kind == text:
		return p.constant(p.adjacent(t.text)), path{}
	case t.kind == integer:
		value, err := strconv.Atoi(t.text)
		if err != nil {
			p.at--
			p.failf("the number %s is too large", t.text)
		}
		return &nodes.Integer{Location: at, Val: value}, path{}
	case t.kind == float:
		value, _ := strconv.ParseFloat(t.text, 64) // the lexer has read it; too large is infinite
		return &nodes.Float{Location: at, Val: value}, path{}
	case t.is("("):
		return p.parenthesis(), path{}
	case t.is("["):
		return &nodes.List{Location: at, Val: p.items("]")}, path{}
	case t.is("{"):
		return p.mapping(), path{}
	case t.kind == name:
		return p.word(t)
	}
	p.at--
	p.failf("%s where a value was expected", t)
	return nil, path{}
}

// adjacent puts texts that stand side by side together.
func (p *parser) adjacent(first string) string {
	for p.peek().kind == text {
		first += p.next().text
	}
	return first
}

func (p *parser) word(t token) (nodes.Expression, path) {
	switch strings.ToLower(t.text) {
	case "true", "false":
		if reserved[t.text] {
			return &nodes.Bool{Location: location(t), Val: strings.EqualFold(t.text, "true")}, path{}
		}
	case "none":
		if reserved[t.text] {
			return &nodes.None{Location: location(t)}, path{}
		}
	}
	if reserved[t.text] {
		p.at--
		p.failf("%s where a value was expected", t)
	}
	line := &nodes.Integer{Location: location(t), Val: t.line}
	return p.operation(opVariable, p.constant(t.text), line), p.usage.start(t.text)
}

// parenthesis reads (a) or the list that (a, b) is.
func (p *parser) parenthesis() nodes.Expression {
	if p.accept(")") {
		return &nodes.List{Location: p.location()}
	}
	first := p.expression()
	if p.accept(")") {
		return first
	}
	p.expect(",")
	return &nodes.List{Location: p.location(), Val: append([]nodes.Expression{first}, p.items(")")...)}
}

func (p *parser) items(end string) []nodes.Expression {
	var items []nodes.Expression
	for !p.accept(end) {
		items = append(items, p.expression())
		if !p.accept(",") {
			p.expect(end)
			break
		}
	}
	return items
}

// mapping reads {key: value, …} as a call with keys and values in turn.
func (p *parser) mapping() nodes.Expression {
	var pairs []nodes.Expression
	for !p.accept("}") {
		pairs = append(pairs, p.expression())
		p.expect(":")
		pairs = append(pairs, p.expression())
		if !p.accept(",") {
			p.expect("}")
			break
		}
	}
	return p.operation(opMapping, &nodes.None{Location: p.location()}, pairs...)
}

// The nodes that all of this is made of.

func (p *parser) operation(name string, on nodes.Expression, args ...nodes.Expression) nodes.Expression {
	return p.operationNamed(name, on, args, nil)
}

func (p *parser) operationNamed(name string, on nodes.Expression, args []nodes.Expression, named map[string]nodes.Expression) nodes.Expression {
	call := &nodes.FilterCall{Token: p.location(), Name: name, Args: args, Kwargs: named}
	return &nodes.FilteredExpression{Expression: on, Filters: []*nodes.FilterCall{call}}
}

func (p *parser) logical(t tokens.Type, word string, left, right nodes.Expression) nodes.Expression {
	operator := &nodes.BinOperator{Token: &tokens.Token{Type: t, Val: word}}
	return &nodes.BinaryExpression{Left: left, Right: right, Operator: operator}
}

func (p *parser) constant(value string) nodes.Expression {
	return &nodes.String{Location: p.location(), Val: value}
}

func (p *parser) location() *tokens.Token { return location(p.peek()) }

func location(t token) *tokens.Token {
	return &tokens.Token{Type: tokens.Data, Val: t.text, Line: t.line}
}
