package template

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/domain"
)

func TestNumbersKeepTheirForm(t *testing.T) {
	const variables = `{"n": [1, 1.0, 1.5, 1e3, 12345678901234567890123, -0.0, 9007199254740993, 1e999]}`
	text, err := render(t, NewRenderer(), `{{ n }} {{ n|tojson }} {{ n[4] }} {{ n[0] + 1 }} {{ n[1] + 1 }} {{ n[4] is number }}`, variables)
	const want = `[1, 1.0, 1.5, 1000.0, 12345678901234567890123, -0.0, 9007199254740993, 1e999]` +
		` [1,1.0,1.5,1000.0,12345678901234567890123,-0.0,9007199254740993,1e999]` +
		` 12345678901234567890123 2 2.0 true`
	if err != nil || text != want {
		t.Errorf("%v\n%s", err, cmp.Diff(want, text))
	}
}

func TestSeveralTemplatesOfOneRequest(t *testing.T) {
	rendered, err := NewRenderer().Render(t.Context(), tenant, json.RawMessage(`{"a": {"b": "B"}, "c": "{{ a }}"}`),
		Template{Name: "/prompt", Source: `{{ a.b }}{{ c }}`},
		Template{Name: "/systemPrompt", Source: `plain $ } text`},
		Template{Name: "/instructions", Source: `${a.b} $${a} $5 ${a}`, Syntax: Dollar},
		Template{Name: "/last", Source: `{% for x in a|items %}{{ x[0] }}{% endfor %}`, Syntax: Jinja})
	want := []Rendered{
		{Text: "B{{ a }}", Usage: Usage{Variables: []string{"a", "c"}, Paths: []string{"a.b", "c"}}},
		{Text: "plain $ } text", Usage: Usage{Variables: []string{}, Paths: []string{}}},
		{Text: `B ${a} $5 {"b":"B"}`, Usage: Usage{Variables: []string{"a"}, Paths: []string{"a", "a.b"}}},
		{Text: "b", Usage: Usage{Variables: []string{"a"}, Paths: []string{"a"}}},
	}
	if diff := cmp.Diff(want, rendered); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}

func TestErrorsPointAtTheirTemplate(t *testing.T) {
	_, err := NewRenderer().Render(t.Context(), tenant, nil,
		Template{Name: "/prompt", Source: `{{ 1 }}`}, Template{Name: "/systemPrompt", Source: "a\n{{ nope }}"})
	const message = "Line 2 of the template: nope is not defined."
	want := &domain.Error{Code: domain.CodeInvalid, Message: message, Details: []domain.Detail{{Pointer: "/systemPrompt", Message: message}}}
	if diff := cmp.Diff(error(want), err); diff != "" {
		t.Error(diff)
	}
}

func TestWhatIsTooLargeIsRefused(t *testing.T) {
	renderer := NewRenderer()
	for title, templates := range map[string][]Template{
		"source":         {{Source: strings.Repeat("x", MaxSource)}, {Source: "x"}},
		"text":           {{Source: `{{ 'x' * 700000 }}`}, {Source: `{{ 'x' * 700000 }}`}},
		"dollar text":    {{Source: strings.Repeat("${x}", 2000), Syntax: Dollar}},
		"unknown syntax": {{Source: "x", Syntax: "erb"}},
	} {
		if _, err := renderer.Render(t.Context(), tenant, json.RawMessage(`{"x": "`+strings.Repeat("x", 1000)+`"}`), templates...); domain.CodeOf(err) != domain.CodeInvalid {
			t.Errorf("%s: %v", title, err)
		}
	}
}
