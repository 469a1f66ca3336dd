package admission

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"signoff/internal/domain"
	"signoff/internal/runbooks/template"
)

func TestTextsAreTemplatesWhereThereIsSomethingToFillIn(t *testing.T) {
	a := newAdmission()
	for name, row := range map[string]struct{ fields, prompt string }{
		"a prompt alone is what it is": {`"prompt":"say {{ x }}"`, "say {{ x }}"},
		"variables":                    {`"prompt":"say {{ x }}","variables":{"x":"hello"}`, "say hello"},
		"no variables, but a template": {`"prompt":"say x","variables":{}`, "say x"},
		"a number is what was sent":    {`"prompt":"say {{ n }}","variables":{"n":12345678901234567890}`, "say 12345678901234567890"},
		"the other syntax":             {`"prompt":"say ${x} {{ x }}","variables":{"x":"1"},"templateSyntax":"dollar"`, "say 1 {{ x }}"},
		"a syntax alone, and no tag":   {`"prompt":"say x","templateSyntax":"jinja"`, "say x"},
	} {
		if request := a.admitted(t, `{"source":{"type":"internal"},`+row.fields+"}"); request.Prompt != row.prompt {
			t.Errorf("%s: %s", name, request.Prompt)
		}
	}
	request := a.admitted(t, `{"source":{"type":"internal"},"prompt":"say {{ a }}","systemPrompt":"You are {{ b }}.","instructions":"Be {{ c }}.",
		"variables":{"a":"1","b":"two","c":"three"}}`)
	if request.SystemPrompt != "You are two." || request.Instructions != "Be three." {
		t.Errorf("%q, %q", request.SystemPrompt, request.Instructions)
	}
}

// TestMessagesAreTemplates in both syntaxes, where there is something to fill in.
func TestMessagesAreTemplates(t *testing.T) {
	a := newAdmission()
	for fields, want := range map[string]string{
		``:                             "{{ host }} ${host}",
		`,"variables":{"host":"db-1"}`: "db-1 ${host}",
		`,"variables":{"host":"db-1"},"templateSyntax":"dollar"`: "{{ host }} db-1",
	} {
		request := a.admitted(t, `{"source":{"type":"internal"},"messages":[{"role":"user","content":"{{ host }} ${host}"},{"role":"assistant","content":"What?"},{"role":"user","content":"say x"}]`+fields+`}`)
		if got := request.Messages[0].Content; got != want || request.Prompt != "" {
			t.Errorf("%s: %q and %q", fields, got, request.Prompt)
		}
	}
}

func TestATemplateThatCannotBeRenderedIsRefused(t *testing.T) {
	a := newAdmission()
	const talk = `"source":{"type":"internal"},"messages":[{"role":"user","content":"say x"},{"role":"assistant","content":"x"},{"role":"user","content":"{{ x }}"}]`
	for _, row := range []badInput{
		{"the prompt", `{"source":{"type":"internal"},"prompt":"{{ x }}","variables":{}}`, domain.CodeTemplate, "/prompt"},
		{"the system prompt", `{` + valid + `,"systemPrompt":"{{ x }}","variables":{}}`, domain.CodeTemplate, "/systemPrompt"},
		{"the instructions", `{` + valid + `,"instructions":"${x}","variables":{},"templateSyntax":"dollar"}`, domain.CodeTemplate, "/instructions"},
		{"in a block", aBlock(`"source":{"type":"internal"},"prompt":"{{ x }}"`), domain.CodeTemplate, "/block/props/prompt"},
		{"the system prompt of a block", aBlock(`"source":{"type":"internal"},"prompt":"x","systemPrompt":"{{ x }}"`), domain.CodeTemplate, "/block/props/systemPrompt"},
		{"blank when it is rendered", `{"source":{"type":"internal"},"prompt":"{{ x }}","variables":{"x":" \n"}}`, domain.CodeInvalid, "/prompt"},
		{"a block that is blank when it is rendered", strings.Replace(aBlock(`"source":{"type":"internal"},"prompt":"{{ x }}"`), "{", `{"variables":{"x":""},`, 1), domain.CodeInvalid, "/block/props/prompt"},
		{"too long when it is rendered", `{"source":{"type":"internal"},"prompt":"` + strings.Repeat("{{ x }}", 1001) + `","variables":{"x":"` + strings.Repeat("a", 1000) + `"}}`, domain.CodeInvalid, "/prompt"},
		{"a persona that is too long when it is rendered", `{` + valid + `,"systemPrompt":"{{ x }}","variables":{"x":"` + strings.Repeat("a", 200_001) + `"}}`, domain.CodeInvalid, "/systemPrompt"},
		{"a syntax alone", `{"source":{"type":"internal"},"prompt":"${x}","templateSyntax":"dollar"}`, domain.CodeTemplate, "/prompt"},
		{"a message", `{` + talk + `,"variables":{}}`, domain.CodeTemplate, "/messages/2/content"},
		{"a message that is blank when it is rendered", `{` + talk + `,"variables":{"x":" "}}`, domain.CodeInvalid, "/messages/2/content"},
		{"a message that is too long when it is rendered", `{"source":{"type":"internal"},"messages":[{"role":"user","content":"` + strings.Repeat("{{ x }}", 1001) + `"}],"variables":{"x":"` + strings.Repeat("a", 1000) + `"}}`, domain.CodeInvalid, "/messages/0/content"},
	} {
		_, err := a.admit(t, row.body)
		refuses(t, row, err)
	}
}

// TestTooMuchForTemplates: a body has at most 1 MiB, so it is never the variables that are too long.
func TestTooMuchForTemplates(t *testing.T) {
	long := domain.Execution{
		Request: domain.Request{Block: &domain.BlockName{Name: "q"}},
		Output:  &domain.Output{Text: strings.Repeat("a", template.MaxVariables)},
	}
	for at, found := range map[string]sources{
		"/outputsFrom": {outputs: map[string]domain.Execution{"q": long}, context: []contextSource{{execution: long}}},
		"/contextFrom": {context: []contextSource{{execution: long}}},
	} {
		_, err := templateData(json.RawMessage(`{"x":1}`), found)
		var coded *domain.Error
		if !errors.As(err, &coded) || coded.Code != domain.CodeInvalid || coded.Details[0].Pointer != at {
			t.Errorf("%s: %v", at, err)
		}
	}
}

// TestASuccessHasNoError, so that a template may ask for one.
func TestASuccessHasNoError(t *testing.T) {
	if seen, has := OutputValue(domain.Execution{Output: &domain.Output{Success: true}})["error"]; has {
		t.Errorf("%v", seen)
	}
	if seen := OutputValue(domain.Execution{Output: &domain.Output{Error: &domain.Failure{Message: "It broke."}}})["error"]; seen != "It broke." {
		t.Errorf("%v", seen)
	}
}

// TestTemplatesSeeRoundedDurations: older rows hold them as they were measured.
func TestTemplatesSeeRoundedDurations(t *testing.T) {
	if seen := OutputValue(domain.Execution{Output: &domain.Output{DurationSeconds: 9.556000000000001}})["durationSeconds"]; seen != 9.556 {
		t.Errorf("%v", seen)
	}
}
