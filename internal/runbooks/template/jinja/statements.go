package jinja

import (
	builtins "github.com/nikolalohinski/gonja/v2/builtins/control_structures"
	"github.com/nikolalohinski/gonja/v2/nodes"
	"github.com/nikolalohinski/gonja/v2/tokens"
)

// template reads everything.
func (p *parser) template() []nodes.Node {
	body, _ := p.body()
	return body
}

// body reads up to a statement with one of these names, which it takes too, and returns that name.
func (p *parser) body(ends ...string) ([]nodes.Node, string) {
	defer p.nested()()
	var body []nodes.Node
	for {
		t := p.next()
		switch {
		case t.kind == data:
			body = append(body, &nodes.Data{Data: location(t)})
		case t.kind == opening && t.text == "{{":
			body = append(body, p.output(t.line))
		case t.kind == opening:
			statement, end := p.statement(ends)
			if end != "" {
				return body, end
			}
			body = append(body, statement)
		default:
			p.expectEnd(ends)
			return body, ""
		}
	}
}

func (p *parser) expectEnd(ends []string) {
	if len(ends) > 0 {
		p.failf("%q is missing before the end of the template", ends[len(ends)-1])
	}
}

func (p *parser) output(line int) nodes.Node {
	value := p.expression()
	p.close("}}")
	return p.block(&output{machine: p.machine, line: line, value: value})
}

func (p *parser) close(end string) {
	if t := p.next(); t.kind != closing {
		p.at--
		p.failf("%s where %s was expected", t, end)
	}
}

func (p *parser) block(structure nodes.ControlStructure) nodes.Node {
	return &nodes.ControlStructureBlock{Location: p.location(), ControlStructure: structure}
}

// absent are statements of MiniJinja that reach for other templates, or change what a reader has just learnt.
var absent = []string{"include", "import", "from", "extends", "block", "autoescape"}

// statement reads one statement with its body, or finds that it is an end which the caller waits for.
func (p *parser) statement(ends []string) (statement nodes.Node, end string) {
	word := p.next().text
	for _, known := range ends {
		if word == known {
			if word != "elif" {
				p.close("%}")
			}
			return nil, word
		}
	}
	switch word {
	case "if":
		return p.block(p.conditional()), ""
	case "for":
		return p.block(p.loop()), ""
	case "set":
		return p.block(p.set()), ""
	case "with":
		return p.block(p.with()), ""
	case "macro":
		return p.block(p.macro()), ""
	case "call":
		return p.block(p.call()), ""
	case "filter":
		return p.block(p.filterBlock()), ""
	case "do":
		return p.block(p.do()), ""
	}
	p.at--
	for _, missing := range absent {
		if word == missing {
			p.failf("%q is not there: a template stands alone", word)
		}
	}
	p.failf("there is no statement %q", word)
	return nil, ""
}

func (p *parser) wrapper(body []nodes.Node) *nodes.Wrapper {
	return &nodes.Wrapper{Location: p.location(), Nodes: body}
}

// conditional reads if, elif and else. gonja's structure shows its position only where something fails that is no fault
// of ours, and cannot be given one.
func (p *parser) conditional() nodes.ControlStructure {
	structure := &builtins.IfControlStructure{}
	for end := "elif"; end != "endif"; {
		if end == "elif" {
			structure.Conditions = append(structure.Conditions, p.operation(opTruth, p.expression()))
			p.close("%}")
		}
		var body []nodes.Node
		if end == "elif" {
			body, end = p.body("elif", "else", "endif")
		} else {
			body, end = p.body("endif")
		}
		structure.Wrappers = append(structure.Wrappers, p.wrapper(body))
	}
	return structure
}

// loop reads for. gonja binds one or two names and looks at the items to find out which; here the names are bound by the
// same rule as in set.
func (p *parser) loop() nodes.ControlStructure {
	targets := p.targets()
	p.expect("in")
	structure := &builtins.ForControlStructure{Key: loopItem, ObjectEvaluator: p.operation(opIterate, p.or())}
	leave := p.usage.scope(append(targets.names(), "loop")...)
	bind := p.operation(opBind, p.hidden(loopItem), p.machine.binding(targets))
	if p.accept("if") {
		structure.IfCondition = p.logical(tokens.And, "and", bind, p.operation(opTruth, p.expression()))
	}
	structure.Recursive = p.accept("recursive")
	p.close("%}")
	body, end := p.body("else", "endfor")
	leave()
	structure.BodyWrapper = p.wrapper(append([]nodes.Node{p.block(&evaluation{value: bind})}, body...))
	if end == "else" {
		body, _ = p.body("endfor")
		structure.EmptyWrapper = p.wrapper(body)
	}
	return structure
}

func (p *parser) set() nodes.ControlStructure {
	if p.tokens[p.at+1].is(".") {
		return p.setInNamespace()
	}
	targets := p.targets()
	structure := &assignment{machine: p.machine, targets: targets}
	if p.accept("=") {
		structure.value = p.tuple()
		p.close("%}")
	} else {
		structure.value = p.filters(p.captured())
		structure.body = p.inScope("endset")
	}
	p.usage.declare(targets.names()...)
	return structure
}

func (p *parser) setInNamespace() nodes.ControlStructure {
	object, path := p.word(p.next())
	p.usage.note(path)
	p.expect(".")
	structure := &assignment{machine: p.machine, object: object, field: p.name("the name of an attribute")}
	if p.accept("=") {
		structure.value = p.tuple()
		p.close("%}")
	} else {
		structure.value = p.filters(p.captured())
		structure.body = p.inScope("endset")
	}
	return structure
}

// tuple reads a value, or several with commas between them, which are a list.
func (p *parser) tuple() nodes.Expression {
	first := p.expression()
	if !p.peek().is(",") {
		return first
	}
	all := []nodes.Expression{first}
	for p.accept(",") {
		all = append(all, p.expression())
	}
	return &nodes.List{Location: p.location(), Val: all}
}

// captured is the text of a body, as an expression that filters can be put behind.
func (p *parser) captured() nodes.Expression { return p.hidden(capturedText) }

// hidden reads a variable of ours.
func (p *parser) hidden(name string) nodes.Expression {
	return p.operation(opVariable, p.constant(name), &nodes.Integer{Location: p.location()})
}

// Names of variables that no template can spell.
const (
	loopItem        = "\x00item"     // where gonja puts the item of a loop; from there it is bound to the names in the template
	capturedText    = "\x00captured" // the text of a body, for its filters
	callerMacro     = "\x00caller"   // the body of a call block
	missingArgument = "\x00argument" // never set: what was not given to a macro is not defined
	missingElse     = "\x00else"     // never set either
)

func (p *parser) filters(value nodes.Expression) nodes.Expression {
	for p.accept("|") {
		value = p.filter(value)
	}
	return value
}

func (p *parser) inScope(end string, names ...string) *nodes.Wrapper {
	p.close("%}")
	defer p.usage.scope(names...)()
	body, _ := p.body(end)
	return p.wrapper(body)
}

func (p *parser) filterBlock() nodes.ControlStructure {
	line := p.peek().line
	value := p.filters(p.filter(p.captured()))
	return &output{machine: p.machine, line: line, value: value, body: p.inScope("endfilter")}
}

func (p *parser) with() nodes.ControlStructure {
	structure := &scope{}
	defer p.usage.scope()()
	for p.peek().kind != closing {
		targets := p.targets()
		p.expect("=")
		structure.set = append(structure.set, &assignment{machine: p.machine, targets: targets, value: p.expression()})
		p.usage.declare(targets.names()...)
		if !p.accept(",") {
			break
		}
	}
	p.close("%}")
	body, _ := p.body("endwith")
	structure.body = p.wrapper(body)
	return structure
}

func (p *parser) macro() nodes.ControlStructure {
	name := p.name("the name of the macro")
	p.usage.declare(name)
	macro := &definition{machine: p.machine, name: name}
	p.expect("(")
	p.parameters(macro)
	macro.body = p.inScope("endmacro", append(macro.parameters, "caller")...)
	return macro
}

// parameters reads up to the closing parenthesis.
func (p *parser) parameters(macro *definition) {
	for !p.accept(")") {
		macro.parameters = append(macro.parameters, p.name("the name of a parameter"))
		value := p.hidden(missingArgument)
		if p.accept("=") {
			value = p.expression()
		}
		macro.defaults = append(macro.defaults, value)
		if !p.accept(",") {
			p.expect(")")
			return
		}
	}
}

// call reads {% call macro(…) %}…{% endcall %}: a call with the body as one more argument, which is a macro too.
func (p *parser) call() nodes.ControlStructure {
	line := p.peek().line
	caller := &definition{machine: p.machine, name: callerMacro}
	if p.accept("(") {
		p.parameters(caller)
	}
	value, ok := p.expression().(*nodes.FilteredExpression)
	if !ok || value.Filters[0].Name != opCall {
		p.failf("a call block needs the call of a macro")
	}
	value.Filters[0].Kwargs["caller"] = p.hidden(callerMacro)
	caller.body = p.inScope("endcall", caller.parameters...)
	return &scope{set: []executable{caller}, body: p.wrapper([]nodes.Node{
		p.block(&output{machine: p.machine, line: line, value: value}),
	})}
}

func (p *parser) do() nodes.ControlStructure {
	value := p.expression()
	p.close("%}")
	return &evaluation{value: value}
}

// targets are the names on the left of an assignment: a, or a, b, or a, (b, c).
type targets struct {
	name string
	list []targets
}

func (p *parser) targets() targets {
	first := p.target()
	if !p.peek().is(",") {
		return first
	}
	all := targets{list: []targets{first}}
	for p.accept(",") {
		all.list = append(all.list, p.target())
	}
	return all
}

func (p *parser) target() targets {
	defer p.nested()()
	if !p.accept("(") {
		return targets{name: p.name("a name")}
	}
	inside := p.targets()
	p.expect(")")
	return inside
}

func (t targets) names() []string {
	if t.list == nil {
		return []string{t.name}
	}
	var all []string
	for _, one := range t.list {
		all = append(all, one.names()...)
	}
	return all
}
