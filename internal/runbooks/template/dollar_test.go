package template

import (
	"encoding/json"
	"testing"

	"signoff/internal/domain"
)

func TestDollar(t *testing.T) {
	t.Setenv("SIGNOFF_SECRET", "hunter2")
	const variables = `{"name": "disk\ncheck", "n": 1.0, "on": true, "none": null, "list": [1, "a"], "a": {"b": {"c-d": "deep"}}, "loop": "${name}"}`
	for _, c := range []struct{ source, want string }{
		{`Run ${name}!`, "Run disk\ncheck!"},
		{`${n} ${on} ${none} ${list}`, `1.0 true null [1,"a"]`},
		{`${a.b.c-d} ${a}`, `deep {"b":{"c-d":"deep"}}`},
		{`$$ $${name} $name $5 $`, `$ ${name} $name $5 $`},
		{`${loop}`, `${name}`},
		{`{{ name }}`, `{{ name }}`},
		{``, ``},
	} {
		rendered, err := NewRenderer().Render(t.Context(), tenant, json.RawMessage(variables), Template{Source: c.source, Syntax: Dollar})
		if err != nil || rendered[0].Text != c.want {
			t.Errorf("%s: %+v, %v", c.source, rendered, err)
		}
	}
}

// TestPositionalVariables: $1 is a variable only where one has a number for its name, so that a price stays a price.
func TestPositionalVariables(t *testing.T) {
	for _, c := range []struct{ variables, source, want string }{
		{`{"1": "db-1", "12": "x"}`, `$1 ${1} $12 $$1 $name $`, `db-1 db-1 x $1 $name $`},
		{`{"1": "db-1"}`, "a\n$2", ""},
		{`{"name": "x"}`, `$1`, `$1`},
		{`{"1a": "x"}`, `$1a`, `$1a`},
	} {
		rendered, err := NewRenderer().Render(t.Context(), tenant, json.RawMessage(c.variables), Template{Source: c.source, Syntax: Dollar})
		switch {
		case c.want == "":
			if got := domain.FailureOf(err); got.Message != "Line 2 of the template: 2 is not defined." {
				t.Errorf("%s: %v", c.source, err)
			}
		case err != nil || rendered[0].Text != c.want:
			t.Errorf("%s: %+v, %v", c.source, rendered, err)
		}
	}
}

func TestDollarRefuses(t *testing.T) {
	t.Setenv("SIGNOFF_SECRET", "hunter2")
	for _, c := range []struct{ source, message string }{
		{"a\n${PATH}", "Line 2 of the template: PATH is not defined."},
		{`${SIGNOFF_SECRET}`, "Line 1 of the template: SIGNOFF_SECRET is not defined."},
		{`${name.x}`, "Line 1 of the template: name.x is not defined."},
		{`${a.x}`, "Line 1 of the template: a.x is not defined."},
		{`${`, "Line 1 of the template: ${ is not closed with }."},
		{`${}`, "Line 1 of the template: between ${ and } stands a name, or names with dots between them; $${ is a plain ${."},
		{`${name:-x}`, "Line 1 of the template: between ${ and } stands a name, or names with dots between them; $${ is a plain ${."},
		{`${a..b}`, "Line 1 of the template: between ${ and } stands a name, or names with dots between them; $${ is a plain ${."},
	} {
		_, err := NewRenderer().Render(t.Context(), tenant, json.RawMessage(`{"name": "hunter2", "a": {}}`), Template{Source: c.source, Syntax: Dollar})
		if got := domain.FailureOf(err); got.Code != domain.CodeInvalid || got.Message != c.message {
			t.Errorf("%s: %+v", c.source, got)
		}
	}
}
