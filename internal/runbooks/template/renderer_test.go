package template

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/domain"
)

func TestNumbersKeepTheirForm(t *testing.T) {
	const variables = `{"n": [1, 1.0, 1.5, 1e3, 12345678901234567890123, -0.0, 9007199254740993, 1e999]}`
	text, err := render(t, newRenderer(t), `{{ n }} {{ n|tojson }} {{ n[4] }} {{ n[0] + 1 }} {{ n[1] + 1 }} {{ n[4] is number }}`, variables)
	const want = `[1, 1.0, 1.5, 1000.0, 12345678901234567890123, -0.0, 9007199254740993, 1e999]` +
		` [1,1.0,1.5,1000.0,12345678901234567890123,-0.0,9007199254740993,1e999]` +
		` 12345678901234567890123 2 2.0 true`
	if err != nil || text != want {
		t.Errorf("%v\n%s", err, cmp.Diff(want, text))
	}
}

func TestSeveralTemplatesOfOneRequest(t *testing.T) {
	rendered, err := newRenderer(t).Render(t.Context(), tenant, json.RawMessage(`{"a": {"b": "B"}, "c": "{{ a }}"}`),
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
	_, err := newRenderer(t).Render(t.Context(), tenant, nil,
		Template{Name: "/prompt", Source: `{{ 1 }}`}, Template{Name: "/systemPrompt", Source: "a\n{{ nope }}"})
	const message = "Line 2 of the template: nope is not defined."
	want := &domain.Error{Code: domain.CodeInvalid, Message: message, Details: []domain.Detail{{Pointer: "/systemPrompt", Message: message}}}
	if diff := cmp.Diff(error(want), err); diff != "" {
		t.Error(diff)
	}
}

func TestWhatATemplateUses(t *testing.T) {
	const variables = `{"doc": {"named": {"x": {"output": {"rows": [1]}}}}, "rows": [{"id": 1}], "a": 1, "b": {"c": 2}}`
	all, err := newRenderer(t).Render(t.Context(), tenant, json.RawMessage(variables),
		Template{Source: `{{ doc.named['x'].output.rows[0] }}{% for r in rows %}{{ r.id }}{% endfor %}`},
		Template{Source: `${b.c} ${a}`, Syntax: Dollar}, Template{Source: `nothing`})
	want := []Rendered{
		{Text: "11", Usage: Usage{Variables: []string{"doc", "rows"}, Paths: []string{"doc.named['x'].output.rows[0]", "rows"}}},
		{Text: "2 1", Usage: Usage{Variables: []string{"a", "b"}, Paths: []string{"a", "b.c"}}},
		{Text: "nothing", Usage: Usage{Variables: []string{}, Paths: []string{}}},
	}
	if diff := cmp.Diff(want, all); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}

// TestConstantTextStartsNothing has an executable that does not exist.
func TestConstantTextStartsNothing(t *testing.T) {
	renderer := NewRenderer(Config{Executable: "/nowhere"})
	if text, err := render(t, renderer, `100 % of { this } #}`, `{}`); err != nil || text != `100 % of { this } #}` {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := render(t, renderer, `{{ 1 }}`, `{}`); domain.CodeOf(err) != domain.CodeInternal {
		t.Errorf("a server that cannot start children says %v", err)
	}
}

// script is a program in place of the server's binary.
func script(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "child")
	if err := os.WriteFile(name, []byte("#!/bin/sh\n"+text), 0o755); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestAHangingChildIsKilledWithItsGroup has a child whose own child holds the pipe open. The pipe ends when both are dead,
// and Wait would come back with another error if it had to cut it.
func TestAHangingChildIsKilledWithItsGroup(t *testing.T) {
	renderer := NewRenderer(Config{Executable: script(t, "sleep 1000 &\nwait\n"), Timeout: 50 * time.Millisecond})
	_, err := render(t, renderer, `{{ 1 }}`, `{}`)
	want := domain.CodeInvalid
	if boundsWork { // it has done none: the machine is slow, and its template is not to blame
		want = domain.CodeUnavailable
	}
	if got := domain.FailureOf(err); got.Code != want {
		t.Errorf("a child that hangs gives %+v", got)
	}
	if strings.Contains(err.Error(), "WaitDelay") {
		t.Errorf("something of the child was left: %v", err)
	}
}

// TestASlowMachineBlamesNoTemplate stops the child before it does its work, as a machine under load does, for longer than the server once waited.
func TestASlowMachineBlamesNoTemplate(t *testing.T) {
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	renderer := NewRenderer(Config{Executable: script(t, "sleep 3\nexec "+executable+" "+renderArg+"\n")})
	if text, err := render(t, renderer, `{{ 1 + 1 }}`, `{}`); boundsWork && (err != nil || text != "2") {
		t.Errorf("%q, %v", text, err)
	}
}

// TestATimeThatIsUpBeforeTheChildBegins is no server that cannot render templates at all.
func TestATimeThatIsUpBeforeTheChildBegins(t *testing.T) {
	_, err := render(t, NewRenderer(Config{Executable: script(t, "exit 0\n"), Timeout: time.Nanosecond}), `{{ 1 }}`, `{}`)
	if domain.CodeOf(err) != domain.CodeUnavailable {
		t.Error(err)
	}
}

func TestAChildThatTalksNonsense(t *testing.T) {
	for _, text := range []string{"echo hello", "echo '{}'", `echo '{"rendered": [], "fault": {"index": 7}}'`, "exit 3", "cat /dev/zero"} {
		_, err := render(t, NewRenderer(Config{Executable: script(t, text+"\n"), Timeout: time.Hour}), `{{ 1 }}`, `{}`)
		if domain.CodeOf(err) != domain.CodeInvalid {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestAChildHasNoEnvironment(t *testing.T) {
	t.Setenv("SIGNOFF_SECRET", "hunter2")
	renderer := NewRenderer(Config{Executable: script(t, `printf '{"rendered": [{"Text": "%s"}]}' "$SIGNOFF_SECRET"`), Timeout: time.Hour})
	if text, err := render(t, renderer, `{{ 1 }}`, `{}`); err != nil || text != "" {
		t.Errorf("%q, %v", text, err)
	}
}

func TestWhatIsTooLargeIsRefused(t *testing.T) {
	renderer := newRenderer(t)
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
