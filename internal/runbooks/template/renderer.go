package template

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"signoff/internal/domain"
)

// Config says what a renderer runs, and how much of it.
type Config struct {
	Executable string        // the binary whose main calls Intercept: the server itself
	AtOnce     int           // children that run side by side, each for another tenant; 2 where 0
	Timeout    time.Duration // of one child, by the clock; where 0, it is 30 s on Linux, which bounds processor time as well, and else 2 s
	Patience   time.Duration // how long a call waits for its child to start; 5 s where 0
}

// Renderer renders templates, each call in a child process of its own.
type Renderer struct {
	child   func(ctx context.Context, order []byte, report io.Writer) error
	timeout time.Duration
	places  *places
}

// NewRenderer returns a renderer. It holds nothing that has to be closed.
func NewRenderer(c Config) *Renderer {
	if c.AtOnce <= 0 {
		c.AtOnce = 2
	}
	if c.Timeout <= 0 {
		c.Timeout = usualTimeout
	}
	if c.Patience <= 0 {
		c.Patience = 5 * time.Second
	}
	return &Renderer{child: process(c.Executable), timeout: c.Timeout, places: newPlaces(c.AtOnce, c.Patience)}
}

// Render renders templates with the same variables, a JSON object, in their order. The first that cannot be rendered is
// the error, which names its line and what is wrong there and shows no value of a variable.
func (r *Renderer) Render(ctx context.Context, tenant domain.TenantID, variables json.RawMessage, templates ...Template) ([]Rendered, error) {
	if err := check(templates, variables); err != nil {
		return nil, err
	}
	values, err := object(variables)
	if err != nil {
		return nil, err
	}
	all, sent, left := make([]Rendered, len(templates)), []int(nil), MaxText
	o := order{Variables: variables}
	for i, t := range templates { // what can be done here is done here
		if t.Syntax != Dollar && !t.constant() {
			sent, o.Sources = append(sent, i), append(o.Sources, t.Source)
			continue
		}
		var err *domain.Error
		if all[i], err = t.here(values, left); err != nil {
			return nil, err
		}
		left -= len(all[i].Text)
	}
	if len(sent) == 0 {
		return all, nil
	}
	return r.inChild(ctx, tenant, o, templates, sent, all)
}

// here renders a template that needs no engine.
func (t Template) here(values map[string]json.RawMessage, left int) (Rendered, *domain.Error) {
	if t.Syntax == Dollar {
		return dollar(t, values, left)
	}
	return Rendered{Text: t.Source, Usage: Usage{Variables: []string{}, Paths: []string{}}}, nil
}

// inChild has one child render the templates that were left for it, and puts them to the others.
func (r *Renderer) inChild(
	ctx context.Context, tenant domain.TenantID, o order, templates []Template, sent []int, all []Rendered,
) ([]Rendered, error) {
	answer, err := r.run(ctx, tenant, o)
	if err != nil {
		return nil, blame(err, templates, sent)
	}
	if answer.Fault != nil {
		return nil, complaint(templates[sent[answer.Fault.Index]], *answer.Fault)
	}
	for i, rendered := range answer.Rendered {
		all[sent[i]] = rendered
	}
	return all, nil
}

// complaint is a fault as its author reads it.
func complaint(t Template, f fault) error {
	if f.Line == 0 {
		return t.invalid("The template cannot be rendered: %s.", f.Message)
	}
	return t.invalid("Line %d of the template: %s.", f.Line, f.Message)
}

// errDied is a child that gave no answer: killed by a limit, or by its own stack.
var errDied = errors.New("the child ended without an answer")

// tooBusy is a child that has done less work than it may, and whose time is up all the same.
func tooBusy(cause error) error {
	return domain.Errorf(domain.CodeUnavailable, "The server is too busy to render templates; try again in a moment.").With(cause)
}

// blame says what a child died of. Which of several templates it was, nobody can tell.
func blame(err error, templates []Template, sent []int) error {
	if !errors.Is(err, errDied) {
		return err
	}
	if len(sent) > 1 {
		return domain.Errorf(domain.CodeInvalid, "The templates use too much memory or time.").With(err)
	}
	return templates[sent[0]].invalid("The template uses too much memory or time.").With(err)
}

// run waits for a place, hands a child the order and reads its report.
func (r *Renderer) run(ctx context.Context, tenant domain.TenantID, o order) (report, error) {
	leave, err := r.places.enter(ctx, tenant)
	if err != nil {
		return report{}, err
	}
	defer leave()
	encoded, err := json.Marshal(o)
	if err != nil {
		return report{}, domain.Errorf(domain.CodeInternal, "The templates cannot be handed on.").With(err)
	}
	limited, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	out := &capped{left: maxReport}
	ended := r.child(limited, encoded, out)
	if ctx.Err() != nil {
		return report{}, abandoned(ctx)
	}
	late, notStarted := limited.Err() != nil, errors.Is(ended, errNotStarted)
	if notStarted && !late {
		return report{}, domain.Errorf(domain.CodeInternal, "Templates cannot be rendered on this server.").With(ended)
	}
	var answer report
	if ended != nil || json.Unmarshal(out.written, &answer) != nil || !answer.complete(o) {
		if late && (boundsWork || notStarted) {
			return report{}, tooBusy(ended)
		}
		return report{}, fmt.Errorf("%w: %w", errDied, errors.Join(ended, limited.Err()))
	}
	return answer, nil
}

// complete tells whether a report has an answer for each source, or says which has none.
func (r report) complete(o order) bool {
	if r.Fault != nil {
		return r.Fault.Index >= 0 && r.Fault.Index < len(o.Sources)
	}
	return len(r.Rendered) == len(o.Sources)
}

// object reads variables, of which none at all are an empty object.
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
