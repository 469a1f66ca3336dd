package jinja

import "slices"

// body reads up to a statement with one of these names, which it takes too, and returns that name.
func (p *parser) body(ends ...string) (body statement, end string) {
	defer p.nested()()
	var all []statement
	for {
		t := p.next()
		switch {
		case t.kind == data:
			all = append(all, func(r *run) { r.out.add(t.text) })
		case t.kind == opening && t.text == "{{":
			all = append(all, p.output(t.line))
		case t.kind == opening:
			one, end := p.statement(ends)
			if end != "" {
				return sequenceOf(all), end
			}
			all = append(all, one)
		default:
			if len(ends) > 0 {
				p.failf("%q is missing before the end of the template", ends[len(ends)-1])
			}
			return sequenceOf(all), ""
		}
	}
}

func sequenceOf(all []statement) statement {
	return func(r *run) {
		for _, one := range all {
			r.step(1)
			one(r)
		}
	}
}

func (p *parser) output(line int) statement {
	value := p.expression()
	p.close("}}")
	return func(r *run) {
		r.line = line
		r.print(r.out, value(r))
	}
}

func (p *parser) close(end string) {
	if t := p.peek(0); t.kind != closing {
		p.failf("%s where %s was expected", t, end)
	}
	p.next()
}

// absent are statements of MiniJinja that reach for other templates, or change what a reader has just learnt.
var absent = []string{"include", "import", "from", "extends", "block", "autoescape"}

// statement reads one statement with its body, or finds that it is an end which the caller waits for.
func (p *parser) statement(ends []string) (one statement, end string) {
	word := p.peek(0).text
	if slices.Contains(ends, word) {
		p.next()
		if word != "elif" {
			p.close("%}")
		}
		return nil, word
	}
	read := map[string]func() statement{
		"if": p.conditional, "for": p.loop, "set": p.set, "with": p.with, "macro": p.macro, "call": p.callBlock,
		"filter": p.filterBlock, "do": p.do,
	}[word]
	switch {
	case read != nil:
		p.next()
		return read(), ""
	case slices.Contains(absent, word):
		p.failf("%q is not there: a template stands alone", word)
	}
	p.failf("there is no statement %q", word)
	return nil, ""
}

// conditional reads if, elif and else.
func (p *parser) conditional() statement {
	var conditions []expression
	var bodies []statement
	for end := "elif"; end != "endif"; {
		var body statement
		if end == "elif" {
			conditions = append(conditions, p.expression())
			p.close("%}")
			body, end = p.body("elif", "else", "endif")
		} else {
			body, end = p.body("endif")
		}
		bodies = append(bodies, body)
	}
	return func(r *run) {
		for i, body := range bodies {
			r.step(1)
			if i == len(conditions) || truth(conditions[i](r)) {
				body(r)
				return
			}
		}
	}
}

// loop reads for.
func (p *parser) loop() statement {
	names := p.targets()
	p.expect("in")
	var (
		over        = p.or()
		leave       = p.usage.scope(append(names.names(), "loop")...)
		condition   expression
		recursive   bool
		body, empty statement
	)
	if p.accept("if") {
		condition = p.expression()
	}
	recursive = p.accept("recursive")
	p.close("%}")
	body, end := p.body("else", "endfor")
	leave()
	if end == "else" {
		empty, _ = p.body("endfor")
	}
	chosen := func(r *run, items []any) []any {
		if condition == nil {
			return items
		}
		kept := r.list(0)
		r.each(items, names, nil, func(r *run, item any) {
			if truth(condition(r)) {
				kept = append(r.grow(kept), item)
			}
		})
		return kept
	}
	var again func(r *run, items []any, depth int)
	again = func(r *run, items []any, depth int) {
		r.allocate(callSize)
		l := &loop{items: chosen(r, items), depth: depth}
		if recursive {
			l.again = again
		}
		if len(l.items) == 0 && empty != nil {
			empty(r)
		}
		r.each(l.items, names, l, func(r *run, _ any) { body(r) })
	}
	return func(r *run) { again(r, r.items(over(r)), 0) }
}

// each binds the items one after the other, each in a scope of its own. The scope is the same one again unless a macro
// looks into it later.
func (r *run) each(items []any, names targets, l *loop, body func(r *run, item any)) {
	r.within(func(r *run) {
		outer := r.scope.parent
		for i, item := range items {
			r.step(1)
			if r.scope.kept {
				r.allocate(2 * bindingSize)
				r.scope = &scope{parent: outer}
			}
			r.scope.names = r.scope.names[:0]
			if l != nil {
				l.index = i
				r.scope.set(r, "loop", l)
			}
			names.bind(r, item)
			body(r, item)
		}
	})
}

// set reads {% set names = value %}, or {% set object.field = value %}; with a body, value is its text.
func (p *parser) set() statement {
	var assign func(r *run, value any)
	declared := func() {}
	if p.peek(1).is(".") {
		assign = p.namespaceField()
	} else {
		names := p.targets()
		assign = names.bind
		declared = func() { p.usage.declare(names.names()...) }
	}
	var value expression
	if p.accept("=") {
		value = p.tuple()
		p.close("%}")
	} else {
		steps := p.filters()
		value = chain(p.captured("endset"), steps)
	}
	declared()
	return func(r *run) { assign(r, value(r)) }
}

func (p *parser) namespaceField() func(r *run, value any) {
	object, path := p.word()
	p.usage.note(path)
	p.expect(".")
	field := p.name("the name of an attribute")
	return func(r *run, value any) {
		space, ok := object(r).(*namespace)
		if !ok {
			failf("only what namespace() has made can be changed")
		}
		space.set(r, field, value)
	}
}

// tuple reads a value, or several with commas between them, which are a list.
func (p *parser) tuple() expression {
	all := []expression{p.expression()}
	for p.accept(",") {
		all = append(all, p.expression())
	}
	if len(all) == 1 {
		return all[0]
	}
	return items(all)
}

// captured reads the rest of a tag and the body behind it, which is a text.
func (p *parser) captured(end string) expression {
	body := p.inScope(end)
	return func(r *run) any { return r.captured(body) }
}

func (p *parser) inScope(end string, names ...string) statement {
	p.close("%}")
	defer p.usage.scope(names...)()
	body, _ := p.body(end)
	return body
}

func (p *parser) filterBlock() statement {
	steps := append([]step{p.filter()}, p.filters()...)
	value := chain(p.captured("endfilter"), steps)
	return func(r *run) { r.print(r.out, value(r)) }
}

func (p *parser) with() statement {
	type assignment struct {
		names targets
		value expression
	}
	var set []assignment
	leave := p.usage.scope()
	for p.peek(0).kind != closing {
		one := assignment{names: p.targets()}
		p.expect("=")
		one.value = p.expression()
		set = append(set, one)
		p.usage.declare(one.names.names()...)
		if !p.accept(",") {
			break
		}
	}
	body := p.inScope("endwith")
	leave()
	return func(r *run) {
		r.within(func(r *run) {
			for _, one := range set {
				one.names.bind(r, one.value(r))
			}
			body(r)
		})
	}
}

func (p *parser) macro() statement {
	macro := &definition{name: p.name("the name of the macro")}
	p.usage.declare(macro.name)
	p.expect("(")
	p.parameters(macro)
	macro.body = p.inScope("endmacro", append(slices.Clone(macro.parameters), "caller")...)
	return func(r *run) { r.scope.set(r, macro.name, macro.define(r)) }
}

// parameters reads up to the closing parenthesis.
func (p *parser) parameters(macro *definition) {
	p.list(")", func() {
		macro.parameters = append(macro.parameters, p.name("the name of a parameter"))
		var value expression
		if p.accept("=") {
			value = p.expression()
		}
		macro.defaults = append(macro.defaults, value)
	})
}

// callBlock reads {% call macro(…) %}…{% endcall %}: a call with the body as one more argument, which is a macro too.
func (p *parser) callBlock() statement {
	caller := &definition{name: "caller"}
	if p.accept("(") {
		p.parameters(caller)
	}
	line := p.peek(0).line
	callee, path := p.primary()
	p.usage.note(path)
	if !p.accept("(") {
		p.failf("a call block needs the call of a macro")
	}
	given := p.arguments()
	caller.body = p.inScope("endcall", caller.parameters...)
	given.named = append(given.named, namedArgument{"caller", func(r *run) any { return caller.define(r) }})
	return func(r *run) {
		r.line = line
		r.print(r.out, given.call(r, callee(r)))
	}
}

func (p *parser) do() statement {
	value := p.expression()
	p.close("%}")
	return func(r *run) { value(r) }
}

func (p *parser) targets() targets {
	first := p.target()
	if !p.peek(0).is(",") {
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
