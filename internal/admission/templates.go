package admission

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"signoff/api"
	"signoff/internal/domain"
	"signoff/internal/keys"
	"signoff/internal/runbooks/template"
)

const (
	maxPrompt       = 1_000_000 // characters, as in the document
	maxSystemPrompt = 200_000
)

// RenderTemplate renders a template. It masks secrets in the text and in the names.
func (a *Admission) RenderTemplate(ctx context.Context, by keys.Principal, body api.RenderTemplate) (api.RenderedTemplate, error) {
	found, err := a.findSources(ctx, by, nil, body.OutputsFrom)
	if err != nil {
		return api.RenderedTemplate{}, err
	}
	data, err := templateData(body.Variables, found)
	if err != nil {
		return api.RenderedTemplate{}, err
	}
	rendered, err := a.config.Templates.Render(ctx, by.Tenant, data, template.Template{
		Name: "/template", Source: body.Template, Syntax: toSyntax(body.TemplateSyntax),
	})
	if err != nil {
		return api.RenderedTemplate{}, notRendered(err)
	}
	out := api.RenderedTemplate{Text: a.config.Masker.MaskString(rendered[0].Text), Variables: []string{}}
	for _, path := range rendered[0].Usage.Paths { // a template can name a secret
		out.Variables = append(out.Variables, a.config.Masker.MaskString(path))
	}
	return out, nil
}

func toSyntax(body *api.TemplateSyntax) template.Syntax {
	return template.Syntax(api.Or(body, api.TemplateSyntaxJinja))
}

// notRendered gives an error the code that distinguishes a failed template from an invalid body.
func notRendered(err error) error {
	var coded *domain.Error
	if !errors.As(err, &coded) || coded.Code != domain.CodeInvalid {
		return err
	}
	failed := *coded
	failed.Code = domain.CodeTemplate
	return &failed
}

// templated reports whether the texts of a request are templates. Otherwise braces have no meaning: a prompt about a template is no
// template.
func templated(body api.CreateExecution) bool {
	return body.Block != nil || body.Variables != nil || body.OutputsFrom != nil || body.TemplateSyntax != nil
}

// render renders the texts of a request.
func (a *Admission) render(ctx context.Context, by keys.Principal, body api.CreateExecution, found sources, request *domain.Request) error {
	if !templated(body) {
		return nil
	}
	data, err := templateData(body.Variables, found)
	if err != nil {
		return err
	}
	texts, templates := textsOf(request)
	for i, text := range texts {
		templates[i].Source, templates[i].Syntax = *text, toSyntax(body.TemplateSyntax)
	}
	rendered, err := a.config.Templates.Render(ctx, by.Tenant, data, templates...)
	if err != nil {
		return notRendered(err)
	}
	for i := range texts {
		*texts[i] = rendered[i].Text
		if err := checkRendered(templates[i].Name, *texts[i]); err != nil {
			return err
		}
	}
	if request.Parts != nil {
		request.Prompt = domain.PartsText(request.Parts)
	}
	if wrong := tooLong(request.Prompt); wrong != nil {
		return domain.InvalidParts(wrong...)
	}
	return nil
}

// checkRendered refuses a rendered text that the document would not have taken.
func checkRendered(name, text string) error {
	says := strings.HasPrefix(name, "/prompt") || strings.HasPrefix(name, "/messages")
	limit := maxSystemPrompt
	if says {
		limit = maxPrompt
	}
	switch {
	case utf8.RuneCountInString(text) > limit || strings.ContainsRune(text, 0):
		return domain.Invalid(name, "Rendered, this has more than %d characters, or U+0000.", limit)
	case says && strings.TrimSpace(text) == "":
		return domain.Invalid(name, "This is blank after it was rendered.")
	}
	return nil
}

// textsOf are the texts of a request that are templates, with their names. Of a prompt with files, each text part is one.
func textsOf(request *domain.Request) (texts []*string, templates []template.Template) {
	add := func(name string, text *string) {
		texts, templates = append(texts, text), append(templates, template.Template{Name: name})
	}
	if request.Parts == nil && request.Messages == nil && !request.AwaitsPrompt() {
		add("/prompt", &request.Prompt)
	}
	for i := range request.Parts {
		if part := &request.Parts[i]; part.Type == domain.PartText {
			add(fmt.Sprintf("/prompt/%d/text", i), &part.Text)
		}
	}
	for i := range request.Messages {
		add(fmt.Sprintf("/messages/%d/content", i), &request.Messages[i].Content)
	}
	add("/systemPrompt", &request.SystemPrompt)
	add("/instructions", &request.Instructions)
	return texts, templates
}

// templateData returns the variables of templates as JSON. If they are too long, earlier executions are the cause, because a body is too
// short for that.
func templateData(variables json.RawMessage, found sources) (json.RawMessage, error) {
	data, err := templateValues(variables, found)
	if err != nil {
		return nil, err
	}
	encoded := domain.Encode(data)
	if len(encoded) <= template.MaxVariables {
		return encoded, nil
	}
	at := "/outputsFrom"
	if len(found.outputs) == 0 {
		at = "/contextFrom"
	}
	return nil, domain.Invalid(at, "With the outputs of these executions there are more than %d bytes for the templates.", template.MaxVariables)
}

// templateValues returns the variables of the client, and below doc.named the outputs of earlier executions. It refuses a name of both.
func templateValues(variables json.RawMessage, found sources) (map[string]any, error) {
	data := map[string]any{}
	if variables != nil {
		decoder := json.NewDecoder(bytes.NewReader(variables))
		decoder.UseNumber()                           // 12345678901234567890 is no float
		if err := decoder.Decode(&data); err != nil { // unreachable: the body was read before
			return nil, domain.Errorf(domain.CodeMalformed, "The variables cannot be read.").With(err)
		}
	}
	if len(found.outputs)+len(found.context) == 0 {
		return data, nil
	}
	named, err := namedBlocks(data)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(found.outputs)) {
		if _, taken := named[name]; taken {
			return nil, domain.Invalid(domain.Pointer("outputsFrom", name), "The variables have a block of this name, too.")
		}
		named[name] = map[string]any{"output": OutputValue(found.outputs[name])}
	}
	for _, source := range slices.Backward(found.context) { // the last of equal names counts
		block := source.execution.Request.Block
		if block == nil {
			continue
		}
		if _, taken := named[block.Name]; !taken {
			named[block.Name] = map[string]any{"output": OutputValue(source.execution)}
		}
	}
	return data, nil
}

// namedBlocks returns doc.named of the variables, and creates it if it is missing.
func namedBlocks(data map[string]any) (map[string]any, error) {
	at, object := "/variables", data
	for _, name := range []string{"doc", "named"} {
		at += "/" + name
		inner, is := object[name].(map[string]any)
		if _, given := object[name]; given && !is {
			return nil, domain.Invalid(at, "This must be an object: the outputs of other executions go into it.")
		}
		if !is {
			inner = map[string]any{}
			object[name] = inner
		}
		object = inner
	}
	return object, nil
}

// OutputValue returns the output of an execution as templates see it, a value for each key. An unknown number is nil, not 0.
func OutputValue(execution domain.Execution) map[string]any {
	output := execution.Output
	if output == nil { // unreachable: it has ended
		return map[string]any{}
	}
	out := map[string]any{
		"text": output.Text, "success": output.Success, "durationSeconds": domain.RoundSeconds(output.DurationSeconds),
		"inputTokens": numberOf(output.TokenUsage.InputTokens), "outputTokens": numberOf(output.TokenUsage.OutputTokens),
		"structured": nil, "finishReason": string(output.FinishReason),
	}
	if output.Error != nil {
		out["error"] = output.Error.Message
	}
	if output.Structured != nil {
		out["structured"] = output.Structured
	}
	return out
}

func numberOf(n *int64) any {
	if n == nil {
		return nil
	}
	return *n
}
