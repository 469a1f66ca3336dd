package jinja

import (
	"encoding/json"
	"io"

	"github.com/nikolalohinski/gonja/v2/config"
	"github.com/nikolalohinski/gonja/v2/exec"
	"github.com/nikolalohinski/gonja/v2/loaders"
	"github.com/nikolalohinski/gonja/v2/nodes"
	gonja "github.com/nikolalohinski/gonja/v2/parser"
)

// Render renders a template with variables, which are a JSON object. What it returns as an error is a [*FaultError].
//
// A template can use up all memory and all time of the process, or end it. Only a process that is there for nothing else
// may call this.
func Render(source string, variables json.RawMessage, limit int) (text string, usage Usage, err error) {
	m := &machine{filters: exec.NewFilterSet(map[string]exec.FilterFunction{})}
	defer m.catch(&err)
	body, usage := m.parse(source)
	out := &limited{left: limit}
	if err := m.run(body, decode(variables), out); err != nil {
		return "", Usage{}, &FaultError{Line: m.line, Message: "the template cannot be run"}
	}
	return string(out.written), usage, nil
}

// Inspect reads a template and tells which variables it uses.
func Inspect(source string) (usage Usage, err error) {
	m := &machine{}
	defer m.catch(&err)
	_, usage = m.parse(source)
	return usage, nil
}

// machine is one run of one template.
type machine struct {
	line     int // of what runs
	calls    int // macros that are being run
	bindings []targets
	filters  *exec.FilterSet
}

// catch turns a fault into an error. Any other panic comes from a template that found a hole in gonja: to its author it
// is one more template that does not work, and its text may quote values.
func (m *machine) catch(err *error) {
	thrown := recover()
	if thrown == nil {
		return
	}
	fault, ok := thrown.(*FaultError)
	if !ok {
		fault = &FaultError{Message: "the template cannot be run"}
	}
	if fault.Line == 0 {
		fault.Line = m.line
	}
	*err = fault
}

func (m *machine) parse(source string) ([]nodes.Node, Usage) {
	p := &parser{machine: m, tokens: lex(source), usage: newUsage()}
	return p.template(), p.usage.result()
}

// binding keeps targets for the operation that binds them, and returns their number as its argument.
func (m *machine) binding(t targets) nodes.Expression {
	m.bindings = append(m.bindings, t)
	return &nodes.Integer{Val: len(m.bindings) - 1}
}

// run gives the tree to gonja: in a template that was empty, because there is no other way in.
func (m *machine) run(body []nodes.Node, variables map[string]any, out io.Writer) error {
	m.register()
	environment := &exec.Environment{
		Context:           exec.NewContext(globals()),
		Filters:           m.filters,
		Tests:             exec.NewTestSet(map[string]exec.TestFunction{}),
		ControlStructures: exec.NewControlStructureSet(map[string]gonja.ControlStructureParser{}),
	}
	settings := config.New()
	settings.StrictUndefined = true
	shell, err := exec.NewTemplate("/", settings, loaders.MustNewMemoryLoader(map[string]string{"/": ""}), environment)
	if err != nil {
		return err
	}
	shell.Root().Nodes = body
	return shell.Execute(out, exec.NewContext(variables))
}

// register makes filters of gonja of our operations and filters: of operators, subscripts and calls, too.
func (m *machine) register() {
	for _, table := range []map[string]*operation{operators, filters} {
		for name, operation := range table {
			_ = m.filters.Register(name, m.filter(name, operation)) // it fails for doubles, and a map has none
		}
	}
}

func (m *machine) filter(name string, o *operation) exec.FilterFunction {
	return func(e *exec.Evaluator, in *exec.Value, given *exec.VarArgs) *exec.Value {
		args := make([]any, len(given.Args))
		for i, arg := range given.Args {
			args[i] = plain(arg)
		}
		named := make(map[string]any, len(given.KwArgs))
		for key, arg := range given.KwArgs {
			named[key] = plain(arg)
		}
		return exec.AsValue(o.apply(&call{machine: m, scope: e.Environment.Context, name: name, in: plain(in)}, args, named))
	}
}

// limited is an output with an end.
type limited struct {
	written []byte
	left    int
}

func (l *limited) Write(p []byte) (int, error) {
	if len(p) > l.left {
		failf("the text becomes longer than %d bytes", len(l.written)+l.left)
	}
	l.left -= len(p)
	l.written = append(l.written, p...)
	return len(p), nil
}
