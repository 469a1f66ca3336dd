package http

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/admission"
	"signoff/internal/admission/admissiontest"
	"signoff/internal/domain"
)

func TestATemplateThatCannotBeRenderedStartsNothing(t *testing.T) {
	h := newTestServer(t)
	for _, row := range []badInput{
		{"the prompt", `{"source":{"type":"internal"},"prompt":"{{ x }}","variables":{}}`, 422, domain.CodeTemplate, "/prompt"},
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
	h := newTestServer(t)
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
		{"output of nobody", `{"template":"","outputsFrom":{"a":"` + someID + `"}}`, 422, domain.CodeInvalid, "/outputsFrom/a"},
	} {
		h.wrong(row, h.ask("POST", "/templates/render", row.body))
	}
}

// TestATenantRendersForItself: that a tenant's templates wait is told to that tenant alone, and nothing is stored then.
func TestATenantRendersForItself(t *testing.T) {
	h := newTestServerWith(t, func(c *admission.Config) { c.Templates = &admissiontest.Templates{Crowded: "busy"} })
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
	texts := &admissiontest.Templates{}
	h := newTestServerWith(t, func(c *admission.Config) { c.Templates = texts })
	source := h.create("say one")
	h.ended(source)
	body := fmt.Sprintf(`{"source":{"type":"internal"},"prompt":"say {{ doc.named.q.output.text }}","outputsFrom":{"q":%q},"contextFrom":[%q]}`, source, source)
	first := h.ask("POST", "/executions", body, "Idempotency-Key", "k").want(201)
	h.ended(first.text("id"))
	h.ask("DELETE", "/executions/"+source, "").want(202)
	again := h.ask("POST", "/executions", body, "Idempotency-Key", "k").want(201)
	if again.text("id") != first.text("id") || again.header.Get("Idempotency-Replayed") != "true" || again.text("prompt") != "say done: one" || texts.Asked.Load() != 1 {
		t.Errorf("rendered %d times: %s", texts.Asked.Load(), again.body)
	}
	h.ask("POST", "/executions", strings.Replace(body, "say", "tell", 1), "Idempotency-Key", "k").problem(409, domain.CodeIdempotencyMismatch)
	h.ask("POST", "/executions", body, "Idempotency-Key", "k2").problem(422, domain.CodeInvalid)
}
