package jinja

import (
	"io"
	"strings"

	"github.com/nikolalohinski/gonja/v2/exec"
	"github.com/nikolalohinski/gonja/v2/nodes"
	"github.com/nikolalohinski/gonja/v2/tokens"
)

// executable is a statement as gonja runs it.
type executable interface {
	nodes.ControlStructure
	Execute(r *exec.Renderer, block *nodes.ControlStructureBlock) error
}

// structure is what all statements of ours have in common: gonja asks for the place of one only to quote it in errors,
// and ours throw faults instead.
type structure struct{}

func (structure) Position() *tokens.Token { return &tokens.Token{} }
func (structure) String() string          { return "statement" }

// output is {{ value }}, and {% filter %} with its body.
type output struct {
	structure
	machine *machine
	line    int
	value   nodes.Expression
	body    *nodes.Wrapper
}

func (o *output) Execute(r *exec.Renderer, _ *nodes.ControlStructureBlock) error {
	o.machine.line = o.line
	_, err := io.WriteString(r.Output, display(evaluated(r, o.value, o.body)))
	return err
}

// evaluated is a value; where it has a body, its filters find the text of that.
func evaluated(r *exec.Renderer, value nodes.Expression, body *nodes.Wrapper) any {
	if body == nil {
		return plain(r.Eval(value))
	}
	return plain(captured(r, body, value))
}

// captured runs a body, and then value, which finds the text of the body in a variable of ours.
func captured(r *exec.Renderer, body *nodes.Wrapper, value nodes.Expression) *exec.Value {
	var out strings.Builder
	sub := r.Inherit()
	sub.Output = &out
	if err := sub.ExecuteWrapper(body); err != nil {
		return exec.AsValue(err)
	}
	sub.Environment.Context.Set(capturedText, out.String())
	return sub.Eval(value)
}

// evaluation is {% do value %}.
type evaluation struct {
	structure
	value nodes.Expression
}

func (s *evaluation) Execute(r *exec.Renderer, _ *nodes.ControlStructureBlock) error {
	plain(r.Eval(s.value))
	return nil
}

// assignment is {% set targets = value %}, or {% set object.field = value %}; with a body, value is its text.
type assignment struct {
	structure
	machine *machine
	targets targets
	object  nodes.Expression
	field   string
	value   nodes.Expression
	body    *nodes.Wrapper
}

func (s *assignment) Execute(r *exec.Renderer, _ *nodes.ControlStructureBlock) error {
	value := evaluated(r, s.value, s.body)
	if s.object == nil {
		s.targets.bind(r.Environment.Context, value)
		return nil
	}
	space, ok := plain(r.Eval(s.object)).(*namespace)
	if !ok {
		failf("only what namespace() has made can be changed")
	}
	space.fields[s.field] = value
	return nil
}

// bind gives a value to names, or its parts to each of several.
func (t targets) bind(to *exec.Context, value any) {
	if t.list == nil {
		to.Set(t.name, value)
		return
	}
	parts, ok := value.([]any)
	if !ok || len(parts) != len(t.list) {
		failf("%d names for something else than a list of %d", len(t.list), len(t.list))
	}
	for i, part := range parts {
		t.list[i].bind(to, part)
	}
}

// scope is {% with %}: what it sets is gone behind it.
type scope struct {
	structure
	set  []executable
	body *nodes.Wrapper
}

func (s *scope) Execute(r *exec.Renderer, block *nodes.ControlStructureBlock) error {
	sub := r.Inherit()
	for _, set := range s.set {
		if err := set.Execute(sub, block); err != nil {
			return err
		}
	}
	return sub.ExecuteWrapper(s.body)
}

// definition is {% macro name(parameters) %}.
type definition struct {
	structure
	machine    *machine
	name       string
	parameters []string
	defaults   []nodes.Expression
	body       *nodes.Wrapper
}

func (d *definition) Execute(r *exec.Renderer, _ *nodes.ControlStructureBlock) error {
	r.Environment.Context.Set(d.name, &macro{definition: d, renderer: r})
	return nil
}

// macro is a definition with the variables that stood around it.
type macro struct {
	*definition
	renderer *exec.Renderer
}

// deepestCall bounds how far macros call each other.
const deepestCall = 200

func (m *macro) call(args []any, named map[string]any) any {
	if m.machine.calls++; m.machine.calls > deepestCall {
		failf("macros call each other more than %d deep", deepestCall)
	}
	defer func() { m.machine.calls-- }()
	var out strings.Builder
	sub := m.renderer.Inherit()
	sub.Output = &out
	m.bind(sub, args, named)
	if err := sub.ExecuteWrapper(m.body); err != nil {
		failf("the macro %s cannot be run", m.title())
	}
	return out.String()
}

// title is the name as the template knows it.
func (m *macro) title() string { return strings.TrimPrefix(m.name, "\x00") }

func (m *macro) bind(sub *exec.Renderer, args []any, named map[string]any) {
	if len(args) > len(m.parameters) {
		failf("%s takes %d arguments, not %d", m.title(), len(m.parameters), len(args))
	}
	known := map[string]bool{"caller": true}
	for i, parameter := range m.parameters {
		known[parameter] = true
		value, given := named[parameter]
		switch {
		case given && i < len(args):
			failf("%s has the argument %s twice", m.title(), parameter)
		case i < len(args):
			value = args[i]
		case !given:
			value = plain(sub.Eval(m.defaults[i]))
		}
		sub.Environment.Context.Set(parameter, value)
	}
	for name := range named {
		if !known[name] {
			failf("%s takes no argument %s", m.title(), name)
		}
	}
	if caller, given := named["caller"]; given {
		sub.Environment.Context.Set("caller", caller)
	}
}
