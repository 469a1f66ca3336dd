package template

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"

	"signoff/internal/domain"
	"signoff/internal/runbooks/template/jinja"
)

// Renderer renders templates. Any number of goroutines may use it at once.
type Renderer struct{ memory *pool }

// NewRenderer returns a renderer. It holds nothing that has to be closed.
func NewRenderer() *Renderer { return &Renderer{memory: newPool(poolSize)} }

// Render renders templates with the same variables, a JSON object, in their order. The first that cannot be rendered is
// the error, which names its line and the mistake and shows no value of a variable. The templates of one call
// share one [jinja.Budget].
func (r *Renderer) Render(ctx context.Context, tenant domain.TenantID, variables json.RawMessage, templates ...Template) ([]Rendered, error) {
	if err := check(templates, variables); err != nil {
		return nil, err
	}
	loan := r.memory.open(tenant)
	defer loan.close()
	o := request{raw: variables, budget: jinja.NewBudget(ctx), left: MaxText}
	o.budget.Borrow = loan.borrow
	if err := o.read(templates); err != nil {
		return nil, err
	}
	all := make([]Rendered, len(templates))
	for i, t := range templates {
		var err error
		if all[i], err = o.render(t); err != nil {
			return nil, err
		}
		o.left -= len(all[i].Text)
	}
	return all, nil
}

// request holds the variables and the budget of one call.
type request struct {
	raw    json.RawMessage
	fields map[string]json.RawMessage // of raw, for the syntax Dollar
	values jinja.Variables            // of raw, for the syntax Jinja
	budget *jinja.Budget
	left   int // bytes of text
}

// read reads the variables, in the form that each syntax needs.
func (o *request) read(templates []Template) (err error) {
	if o.fields, err = object(o.raw); err != nil {
		return err
	}
	for _, t := range templates {
		if t.Syntax != Dollar {
			o.values, err = jinja.Decode(o.raw, o.budget)
			return Template{Name: "/variables"}.failed("The variables cannot be read", err)
		}
	}
	return nil
}

func (o *request) render(t Template) (Rendered, error) {
	if t.Syntax == Dollar {
		return dollar(t, o.fields, o.left)
	}
	text, usage, err := jinja.Render(t.Source, o.values, o.left, o.budget)
	if err != nil {
		return Rendered{}, t.failed("The template cannot be rendered", err)
	}
	return Rendered{Text: text, Usage: usage}, nil
}

// failed is an error of the language as its author reads it.
func (t Template) failed(what string, err error) error {
	var fault *jinja.FaultError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, jinja.ErrBusy):
		return domain.Errorf(domain.CodeUnavailable, "Too many templates are being rendered; try again in a moment.").With(err)
	case !errors.As(err, &fault):
		return domain.Errorf(domain.CodeUnavailable, "The request ended before its templates were rendered.").With(err)
	case fault.Line == 0:
		return t.invalid("%s: %s.", what, fault.Message)
	}
	return t.invalid("Line %d of the template: %s.", fault.Line, fault.Message)
}

// object reads variables; none at all are an empty object.
func object(variables json.RawMessage) (map[string]json.RawMessage, error) {
	values := map[string]json.RawMessage{}
	if len(bytes.TrimSpace(variables)) == 0 {
		return values, nil
	}
	if json.Unmarshal(variables, &values) != nil || values == nil {
		return nil, domain.Invalid("/variables", "The variables are a JSON object.")
	}
	return values, nil
}
