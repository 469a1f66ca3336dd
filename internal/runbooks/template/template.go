package template

import (
	"signoff/internal/domain"
	"signoff/internal/runbooks/template/jinja"
)

// Syntax is how a template is written.
type Syntax string

// The syntaxes.
const (
	Jinja  Syntax = "jinja"  // {{ doc.named['x'].output.rows }}, loops, conditions, filters: MiniJinja's
	Dollar Syntax = "dollar" // ${NAME}, and nothing else
)

// Template is one text with variables in it.
type Template struct {
	Name   string // where it stands in the request, as a JSON pointer: errors point there
	Source string
	Syntax Syntax // Jinja where empty
}

// Usage lists the variables of a template: Variables are the names, Paths the constant ways into them, as the template spells
// them. Both are sorted. What a template sets itself is not among them.
type Usage = jinja.Usage

// Rendered is a rendered template.
type Rendered struct {
	Text  string
	Usage Usage
}

// Limits of one call.
const (
	MaxSource    = 256 << 10 // of all templates together
	MaxVariables = 8 << 20   // outputs of earlier executions lie in them
	MaxText      = 1 << 20   // of all rendered texts together
)

func (t Template) invalid(format string, args ...any) *domain.Error {
	return domain.Invalid(t.Name, format, args...)
}

// check refuses a template that is too large or has no known syntax.
func check(templates []Template, variables []byte) error {
	size := 0
	for _, t := range templates {
		if t.Syntax != "" && t.Syntax != Jinja && t.Syntax != Dollar {
			return t.invalid("There is no template syntax %q; there are jinja and dollar.", t.Syntax)
		}
		if size += len(t.Source); size > MaxSource {
			return t.invalid("The templates are longer than %d bytes.", MaxSource)
		}
	}
	if len(variables) > MaxVariables {
		return domain.Invalid("/variables", "The variables are longer than %d bytes.", MaxVariables)
	}
	return nil
}
