package http

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/domain"
	"signoff/internal/runbooks/template"
)

// slate fills names in, and nothing else: {{ a.b.c }}, or ${a}. It counts how often it was asked, and is too busy for one tenant.
type slate struct {
	asked   atomic.Int64
	crowded domain.TenantID
}

var (
	braces  = regexp.MustCompile(`\{\{ ([a-zA-Z0-9_.]+) \}\}`)
	dollars = regexp.MustCompile(`\$\{([a-zA-Z0-9_.-]+)\}`)
)

func (s *slate) Render(_ context.Context, tenant domain.TenantID, variables json.RawMessage, templates ...template.Template) ([]template.Rendered, error) {
	s.asked.Add(1)
	if tenant == s.crowded {
		return nil, domain.Errorf(domain.CodeUnavailable, "Too many templates are being rendered; try again in a moment.")
	}
	var data map[string]json.RawMessage
	if err := json.Unmarshal(variables, &data); err != nil {
		return nil, err
	}
	var all []template.Rendered
	for _, t := range templates {
		rendered, missing := template.Rendered{}, ""
		names := braces
		if t.Syntax == template.Dollar {
			names = dollars
		}
		rendered.Text = names.ReplaceAllStringFunc(t.Source, func(place string) string {
			path := names.FindStringSubmatch(place)[1]
			rendered.Usage.Paths = append(rendered.Usage.Paths, path)
			value, known := follow(data, path)
			if !known {
				missing = path
			}
			return value
		})
		if missing != "" {
			return nil, domain.Invalid(t.Name, "Line 1 of the template: %s is not defined.", missing)
		}
		all = append(all, rendered)
	}
	return all, nil
}

func follow(data map[string]json.RawMessage, path string) (string, bool) {
	name, rest, deeper := strings.Cut(path, ".")
	value, known := data[name]
	if deeper {
		var inner map[string]json.RawMessage
		if json.Unmarshal(value, &inner) != nil {
			return "", false
		}
		return follow(inner, rest)
	}
	var text string
	if json.Unmarshal(value, &text) == nil {
		return text, known
	}
	return string(value), known
}

func TestTextsAreTemplatesWhereThereIsSomethingToFillIn(t *testing.T) {
	h := newHouse(t)
	for name, row := range map[string]struct{ fields, prompt string }{
		"a prompt alone is what it is": {`"prompt":"say {{ x }}"`, "say {{ x }}"},
		"variables":                    {`"prompt":"say {{ x }}","variables":{"x":"hello"}`, "say hello"},
		"no variables, but a template": {`"prompt":"say x","variables":{}`, "say x"},
		"a number is what was sent":    {`"prompt":"say {{ n }}","variables":{"n":12345678901234567890}`, "say 12345678901234567890"},
		"the other syntax":             {`"prompt":"say ${x} {{ x }}","variables":{"x":"1"},"templateSyntax":"dollar"`, "say 1 {{ x }}"},
		"a syntax alone, and no tag":   {`"prompt":"say x","templateSyntax":"jinja"`, "say x"},
	} {
		a := h.ask("POST", "/executions", `{"source":{"type":"internal"},`+row.fields+"}").want(201)
		if a.text("prompt") != row.prompt {
			t.Errorf("%s: %s", name, a.body)
		}
	}
	a := h.ask("POST", "/executions", `{"source":{"type":"internal"},"prompt":"say {{ a }}","systemPrompt":"You are {{ b }}.","instructions":"Be {{ c }}.",
		"variables":{"a":"1","b":"two","c":"three"}}`).want(201)
	if a.text("systemPrompt") != "You are two." || a.text("instructions") != "Be three." || strings.Contains(string(a.body), "variables") {
		t.Errorf("%s", a.body)
	}
}

func TestATemplateThatCannotBeRenderedStartsNothing(t *testing.T) {
	h := newHouse(t)
	const talk = `"source":{"type":"internal"},"messages":[{"role":"user","content":"{{ x }}"}]`
	for _, row := range []badInput{
		{"the prompt", `{"source":{"type":"internal"},"prompt":"{{ x }}","variables":{}}`, 422, domain.CodeTemplate, "/prompt"},
		{"the system prompt", `{` + valid + `,"systemPrompt":"{{ x }}","variables":{}}`, 422, domain.CodeTemplate, "/systemPrompt"},
		{"the instructions", `{` + valid + `,"instructions":"${x}","variables":{},"templateSyntax":"dollar"}`, 422, domain.CodeTemplate, "/instructions"},
		{"in a block", aBlock(`"source":{"type":"internal"},"prompt":"{{ x }}"`), 422, domain.CodeTemplate, "/block/props/prompt"},
		{"the system prompt of a block", aBlock(`"source":{"type":"internal"},"prompt":"x","systemPrompt":"{{ x }}"`), 422, domain.CodeTemplate, "/block/props/systemPrompt"},
		{"blank when it is rendered", `{"source":{"type":"internal"},"prompt":"{{ x }}","variables":{"x":" \n"}}`, 422, domain.CodeInvalid, "/prompt"},
		{"a block that is blank when it is rendered", strings.Replace(aBlock(`"source":{"type":"internal"},"prompt":"{{ x }}"`), "{", `{"variables":{"x":""},`, 1), 422, domain.CodeInvalid, "/block/props/prompt"},
		{"too long when it is rendered", `{"source":{"type":"internal"},"prompt":"` + strings.Repeat("{{ x }}", 1001) + `","variables":{"x":"` + strings.Repeat("a", 1000) + `"}}`, 422, domain.CodeInvalid, "/prompt"},
		{"a persona that is too long when it is rendered", `{` + valid + `,"systemPrompt":"{{ x }}","variables":{"x":"` + strings.Repeat("a", 200_001) + `"}}`, 422, domain.CodeInvalid, "/systemPrompt"},
		{"a syntax alone", `{"source":{"type":"internal"},"prompt":"${x}","templateSyntax":"dollar"}`, 422, domain.CodeTemplate, "/prompt"},
		{"messages with variables", `{` + talk + `,"variables":{}}`, 422, domain.CodeInvalid, "/variables"},
		{"messages with outputs", `{` + talk + `,"outputsFrom":{}}`, 422, domain.CodeInvalid, "/outputsFrom"},
		{"messages with a syntax", `{` + talk + `,"templateSyntax":"jinja"}`, 422, domain.CodeInvalid, "/templateSyntax"},
		{"variables are a list", `{` + valid + `,"variables":[]}`, 422, domain.CodeInvalid, "/variables"},
		{"variables are null", `{` + valid + `,"variables":null}`, 422, domain.CodeInvalid, "/variables"},
		{"unknown syntax", `{` + valid + `,"variables":{},"templateSyntax":"perl"}`, 422, domain.CodeInvalid, "/templateSyntax"},
	} {
		h.wrong(row, h.ask("POST", "/executions", row.body))
	}
	if a := h.ask("GET", "/executions", "").want(200); a.count("items") != 0 {
		t.Errorf("%s", a.body)
	}
}

func TestAPreviewOfATemplate(t *testing.T) {
	h := newHouse(t)
	a := h.ask("POST", "/templates/render", `{"template":"{{ a }}: {{ b.c }}","variables":{"a":"x","b":{"c":1}}}`).want(200)
	if diff := cmp.Diff([]any{"a", "b.c"}, a.get("variables")); a.text("text") != "x: 1" || diff != "" {
		t.Errorf("%s %s", a.body, diff)
	}
	if a := h.ask("POST", "/templates/render", `{"template":"plain"}`).want(200); a.text("text") != "plain" || a.count("variables") != 0 {
		t.Errorf("%s", a.body)
	}
	if a := h.ask("POST", "/templates/render", `{"template":"${a}","templateSyntax":"dollar","variables":{"a":"`+canary+`"}}`).want(200); a.text("text") != "[masked]" {
		t.Errorf("%s", a.body)
	}
	if a := h.ask("POST", "/templates/render", `{"template":"${`+canary+`}","templateSyntax":"dollar","variables":{"`+canary+`":"x"}}`).want(200); a.text("text") != "x" || a.text("variables", "0") != "[masked]" {
		t.Errorf("%s", a.body)
	}
	for _, row := range []badInput{
		{"not defined", `{"template":"{{ a }}"}`, 422, domain.CodeTemplate, "/template"},
		{"no template", `{"variables":{}}`, 422, domain.CodeInvalid, "/template"},
		{"unknown field", `{"template":"","prompt":"x"}`, 422, domain.CodeInvalid, "/prompt"},
		{"output of nobody", `{"template":"","outputsFrom":{"a":"` + someID + `"}}`, 422, domain.CodeInvalid, "/outputsFrom/a"},
	} {
		h.wrong(row, h.ask("POST", "/templates/render", row.body))
	}
}

// TestATenantRendersForItself: that a tenant's templates wait is told to that tenant alone, and nothing is stored then.
func TestATenantRendersForItself(t *testing.T) {
	h := newHouse(t, func(c *Config) { c.Templates = &slate{crowded: "busy"} })
	busy := []string{"Authorization", "Bearer " + h.key("busy", "executions:write", "executions:read")}
	for route, body := range map[string]string{
		"/templates/render": `{"template":"{{ a }}","variables":{"a":"x"}}`,
		"/executions":       `{"source":{"type":"internal"},"prompt":"say {{ a }}","variables":{"a":"x"}}`,
	} {
		refused := h.ask("POST", route, body, busy...).problem(503, domain.CodeUnavailable)
		if refused.header.Get("Retry-After") == "" || !strings.Contains(refused.text("detail"), "Too many templates") {
			t.Errorf("%s: %s", route, refused.body)
		}
		if a := h.ask("POST", route, body); a.status >= 300 {
			t.Errorf("%s, another tenant: %s", route, a.body)
		}
	}
	if a := h.ask("GET", "/executions", "", busy...).want(200); a.count("items") != 0 {
		t.Errorf("%s", a.body)
	}
}

// TestARepeatedRequestIsNotRenderedAgain: what it was made of may be gone by then, and the first answer stands.
func TestARepeatedRequestIsNotRenderedAgain(t *testing.T) {
	texts := &slate{}
	h := newHouse(t, func(c *Config) { c.Templates = texts })
	source := h.create("say one")
	h.ended(source)
	body := fmt.Sprintf(`{"source":{"type":"internal"},"prompt":"say {{ doc.named.q.output.text }}","outputsFrom":{"q":%q},"contextFrom":[%q]}`, source, source)
	first := h.ask("POST", "/executions", body, "Idempotency-Key", "k").want(201)
	h.ended(first.text("id"))
	h.ask("DELETE", "/executions/"+source, "").want(202)
	again := h.ask("POST", "/executions", body, "Idempotency-Key", "k").want(201)
	if again.text("id") != first.text("id") || again.header.Get("Idempotency-Replayed") != "true" || again.text("prompt") != "say done: one" || texts.asked.Load() != 1 {
		t.Errorf("rendered %d times: %s", texts.asked.Load(), again.body)
	}
	h.ask("POST", "/executions", strings.Replace(body, "say", "tell", 1), "Idempotency-Key", "k").problem(409, domain.CodeIdempotencyMismatch)
	h.ask("POST", "/executions", body, "Idempotency-Key", "k2").problem(422, domain.CodeInvalid)
}

// TestTooMuchForTemplates: a body has at most 1 MiB, so it is never the variables that are too long.
func TestTooMuchForTemplates(t *testing.T) {
	long := domain.Execution{
		Request: domain.Request{Block: &domain.BlockName{Name: "q"}},
		Output:  &domain.Output{Text: strings.Repeat("a", template.MaxVariables)},
	}
	for at, found := range map[string]earlier{
		"/outputsFrom": {outputs: map[string]domain.Execution{"q": long}, context: []domain.Execution{long}},
		"/contextFrom": {context: []domain.Execution{long}},
	} {
		_, err := templateData(json.RawMessage(`{"x":1}`), found)
		var coded *domain.Error
		if !errors.As(err, &coded) || coded.Code != domain.CodeInvalid || coded.Details[0].Pointer != at {
			t.Errorf("%s: %v", at, err)
		}
	}
}
