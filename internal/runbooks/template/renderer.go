package template

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"time"

	"golang.org/x/sync/semaphore"

	"signoff/internal/domain"
)

// Config says what a renderer runs, and how much of it.
type Config struct {
	Executable string        // the binary whose main calls Intercept: the server itself
	AtOnce     int64         // children that run side by side; 2 where 0
	Timeout    time.Duration // of one child, by the clock on the wall; 2 s where 0
}

// Renderer renders templates, each call in a child process of its own.
type Renderer struct {
	executable string
	timeout    time.Duration
	places     *semaphore.Weighted
}

// NewRenderer returns a renderer. It holds nothing that has to be closed.
func NewRenderer(c Config) *Renderer {
	if c.AtOnce <= 0 {
		c.AtOnce = 2
	}
	if c.Timeout <= 0 {
		c.Timeout = 2 * time.Second
	}
	return &Renderer{executable: c.Executable, timeout: c.Timeout, places: semaphore.NewWeighted(c.AtOnce)}
}

// Render renders templates with the same variables, a JSON object, in their order. The first that cannot be rendered is
// the error, which names its line and what is wrong there and shows no value of a variable.
func (r *Renderer) Render(ctx context.Context, variables json.RawMessage, templates ...Template) ([]Rendered, error) {
	if err := check(templates, variables); err != nil {
		return nil, err
	}
	values, err := object(variables)
	if err != nil {
		return nil, err
	}
	left := MaxText
	return r.each(ctx, order{Variables: variables}, templates, func(t Template) (Rendered, *domain.Error) {
		rendered := Rendered{Text: t.Source, Usage: Usage{Variables: []string{}, Paths: []string{}}}
		if t.Syntax == Dollar {
			var err *domain.Error
			if rendered, err = dollar(t, values, left); err != nil {
				return Rendered{}, err
			}
		}
		left -= len(rendered.Text)
		return rendered, nil
	})
}

// Inspect tells what templates use, without variables.
func (r *Renderer) Inspect(ctx context.Context, templates ...Template) ([]Usage, error) {
	if err := check(templates, nil); err != nil {
		return nil, err
	}
	all, err := r.each(ctx, order{Inspect: true}, templates, func(t Template) (Rendered, *domain.Error) {
		if t.Syntax == Dollar {
			return inspectDollar(t)
		}
		return Rendered{Usage: Usage{Variables: []string{}, Paths: []string{}}}, nil
	})
	usages := make([]Usage, len(all))
	for i, rendered := range all {
		usages[i] = rendered.Usage
	}
	return usages, err
}

// each does here what can be done here, and sends the rest to one child.
func (r *Renderer) each(ctx context.Context, o order, templates []Template, here func(Template) (Rendered, *domain.Error)) ([]Rendered, error) {
	all := make([]Rendered, len(templates))
	var sent []int
	for i, t := range templates {
		if t.Syntax != Dollar && !t.constant() {
			sent = append(sent, i)
			o.Sources = append(o.Sources, t.Source)
			continue
		}
		rendered, err := here(t)
		if err != nil {
			return nil, err
		}
		all[i] = rendered
	}
	if len(sent) == 0 {
		return all, nil
	}
	answer, err := r.run(ctx, o)
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

// run starts one child, hands it the order and reads its report. When it returns, nothing of the child is left.
func (r *Renderer) run(ctx context.Context, o order) (report, error) {
	encoded, err := json.Marshal(o)
	if err != nil {
		return report{}, domain.Errorf(domain.CodeInternal, "The templates cannot be handed on.").With(err)
	}
	if err := r.places.Acquire(ctx, 1); err != nil {
		return report{}, domain.Errorf(domain.CodeUnavailable, "The request ended before its templates were rendered.").With(err)
	}
	defer r.places.Release(1)

	limited, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	out := &capped{left: maxReport}
	child := r.child(limited, encoded, out)
	if err := child.Start(); err != nil {
		return report{}, domain.Errorf(domain.CodeInternal, "Templates cannot be rendered on this server.").With(err)
	}
	ended := child.Wait()
	if ctx.Err() != nil {
		return report{}, domain.Errorf(domain.CodeUnavailable, "The request ended before its templates were rendered.").With(ctx.Err())
	}
	var answer report
	if ended != nil || json.Unmarshal(out.written, &answer) != nil || !answer.complete(o) {
		return report{}, fmt.Errorf("%w: %w", errDied, errors.Join(ended, limited.Err()))
	}
	return answer, nil
}

func (r *Renderer) child(ctx context.Context, input []byte, out *capped) *exec.Cmd {
	child := exec.CommandContext(ctx, r.executable, renderArg)
	child.Env = []string{}
	child.Stdin, child.Stdout = bytes.NewReader(input), out // no stderr: what Go says when it dies shows the stack
	child.SysProcAttr = alone()
	child.Cancel = func() error { return kill(child.Process.Pid) }
	child.WaitDelay = time.Second
	return child
}

// complete tells whether a report has an answer for each source, or says which has none.
func (r report) complete(o order) bool {
	if r.Fault != nil {
		return r.Fault.Index >= 0 && r.Fault.Index < len(o.Sources)
	}
	return len(r.Rendered) == len(o.Sources)
}

// maxReport holds the longest text in its longest JSON, with room for the usage.
const maxReport = 6*MaxText + 16*MaxSource

// capped is a buffer with an end. The child is confined, but it speaks to the server, which is not. The buffer is not
// embedded: io.Copy would find its ReadFrom and go past the end.
type capped struct {
	written []byte
	left    int
}

func (c *capped) Write(p []byte) (int, error) {
	if len(p) > c.left {
		return 0, errors.New("the report is too long")
	}
	c.left -= len(p)
	c.written = append(c.written, p...)
	return len(p), nil
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
