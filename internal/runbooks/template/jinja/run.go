package jinja

import (
	"slices"
)

// run is one run of one template.
type run struct {
	*Budget
	variables *dict
	scope     *scope
	out       *buffer
	line      int // of what runs
	calls     int // macros and recursive loops that run
	depth     int // of the value that is walked through
}

// An expression gives a value, a step makes one of another one, and a statement prints. The parser makes them.
type (
	expression func(r *run) any
	step       func(r *run, value any) any
	statement  func(r *run)
)

// enter goes one level into a value. A template can make one that holds itself.
func (r *run) enter() {
	if r.depth++; r.depth > maxDepth {
		failf("a value has more than %d levels", maxDepth)
	}
}

func (r *run) leave() { r.depth-- }

// call runs a body that may call itself.
func (r *run) call(what string, body func()) {
	if r.calls++; r.calls > maxDepth {
		failf("%s more than %d deep", what, maxDepth)
	}
	body()
	r.calls--
}

// captured returns the output of a body, in a scope of its own.
func (r *run) captured(body statement) string {
	r.allocate(callSize)
	out := &buffer{Budget: r.Budget}
	outer := r.out
	r.out = out
	r.within(body)
	r.out = outer
	return out.text.String()
}

// within runs a body in a new scope.
func (r *run) within(body statement) {
	outer := r.scope
	r.allocate(2 * bindingSize)
	r.scope = &scope{parent: outer}
	body(r)
	r.scope = outer
}

// binding is a name with its value.
type binding struct {
	name  string
	value any
}

const bindingSize = 32

// scope holds the variables that a template has set, up to the end of a loop, a with or a macro.
type scope struct {
	parent *scope
	names  []binding
	kept   bool // a macro looks into it later
}

func (s *scope) find(r *run, name string) *binding {
	r.step(1 + len(s.names)/4)
	for i := range s.names {
		if s.names[i].name == name {
			return &s.names[i]
		}
	}
	return nil
}

func (s *scope) set(r *run, name string, value any) {
	if found := s.find(r, name); found != nil {
		found.value = value
		return
	}
	if len(s.names) == cap(s.names) {
		room := 2*len(s.names) + 2
		r.allocate(bindingSize * room)
		s.names = slices.Grow(s.names, room-len(s.names))
	}
	s.names = append(s.names, binding{name, value})
}

// keep marks the variables that a macro can see.
func (s *scope) keep() {
	for ; s != nil && !s.kept; s = s.parent {
		s.kept = true
	}
}

func (r *run) variable(name string) any {
	for s := r.scope; s != nil; s = s.parent {
		if found := s.find(r, name); found != nil {
			return found.value
		}
	}
	if value, ok := r.variables.get(r, name); ok {
		return value
	}
	if known := functions[name]; known != nil {
		return &function{name, known}
	}
	return &undefined{path: name}
}

// loop is the variable loop of a template.
type loop struct {
	items   []any
	index   int // 0, 1, …
	depth   int // of the recursion
	changed any
	again   func(r *run, items []any, depth int) // where the loop is recursive
}

func (l *loop) get(key any) (any, bool) {
	switch key {
	case "index":
		return l.index + 1, true
	case "index0":
		return l.index, true
	case "revindex":
		return len(l.items) - l.index, true
	case "revindex0":
		return len(l.items) - l.index - 1, true
	case "first":
		return l.index == 0, true
	case "last":
		return l.index == len(l.items)-1, true
	case "length":
		return len(l.items), true
	case "depth":
		return l.depth + 1, true
	case "depth0":
		return l.depth, true
	case "previtem":
		return at(l.items[:l.index], l.index-1)
	case "nextitem":
		return at(l.items, l.index+1)
	}
	return nil, false
}

// recurse is loop(items) in a recursive loop: the text of the same loop over other items.
func (l *loop) recurse(r *run, args []any) any {
	switch {
	case l.again == nil:
		failf("a loop cannot be called: it is not recursive")
	case len(args) != 1:
		failf("loop takes 1 argument, not %d", len(args))
	}
	var text string
	r.call("a loop calls itself", func() {
		text = r.captured(func(r *run) { l.again(r, r.items(args[0]), l.depth+1) })
	})
	return text
}

func (l *loop) method(r *run, name string, args []any) any {
	for _, arg := range args {
		refuse(arg)
	}
	switch {
	case name == "cycle" && len(args) > 0:
		return args[l.index%len(args)]
	case name == "changed":
		before := l.changed
		l.changed = args
		return before == nil || !r.equal(before, args)
	}
	failf("a loop has no method %s", name)
	return nil
}

// macro is a definition with the variables around it.
type macro struct {
	*definition
	scope *scope
}

// definition is {% macro name(parameters) %}, or the body of {% call %}.
type definition struct {
	name       string
	parameters []string
	defaults   []expression // nil where there is none
	body       statement
}

func (d *definition) define(r *run) *macro {
	r.scope.keep()
	r.allocate(bindingSize)
	return &macro{d, r.scope}
}

func (m *macro) call(r *run, args []any, named []binding) any {
	if len(args) > len(m.parameters) {
		failf("%s takes %d arguments, not %d", m.name, len(m.parameters), len(args))
	}
	var text string
	r.call("macros call each other", func() {
		caller := r.scope
		r.scope = m.scope
		text = r.captured(func(r *run) {
			m.bind(r, args, named)
			m.body(r)
		})
		r.scope = caller
	})
	return text
}

func (m *macro) bind(r *run, args []any, named []binding) {
	for _, arg := range named {
		if arg.name != "caller" && m.position(r, arg.name) < 0 {
			failf("%s takes no argument %s", m.name, arg.name)
		}
		if at := m.position(r, arg.name); at >= 0 && at < len(args) {
			failf("%s has the argument %s twice", m.name, arg.name)
		}
		r.scope.set(r, arg.name, arg.value)
	}
	for i, parameter := range m.parameters {
		switch {
		case i < len(args):
			r.scope.set(r, parameter, args[i])
		case r.scope.find(r, parameter) != nil:
		case m.defaults[i] != nil:
			r.scope.set(r, parameter, m.defaults[i](r))
		default:
			r.scope.set(r, parameter, &undefined{})
		}
	}
}

func (m *macro) position(r *run, name string) int {
	r.step(1 + len(m.parameters)/4)
	for i, parameter := range m.parameters {
		if parameter == name {
			return i
		}
	}
	return -1
}

// targets are the names on the left of an assignment: a, or a, b, or a, (b, c).
type targets struct {
	name string
	list []targets
}

// bind gives a value to names, or its parts to each of several.
func (t targets) bind(r *run, value any) {
	if t.list == nil {
		r.scope.set(r, t.name, value)
		return
	}
	parts, isList := listed(value)
	if !isList || len(parts) != len(t.list) {
		failf("%d names for something else than a list of %d", len(t.list), len(t.list))
	}
	for i, part := range parts {
		t.list[i].bind(r, part)
	}
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
