package admission

import (
	"encoding/json"
	"regexp"
	"strings"

	"signoff/api"
	"signoff/internal/domain"
)

const defaultBlockName = "Agent"

// fromBlock moves the props of an agent block of a runbook to the fields of a request.
func (a *Admission) fromBlock(body api.CreateExecution) (api.CreateExecution, error) {
	props := body.Block.Props
	model, err := a.blockModel(props.Source)
	if err != nil {
		return body, err
	}
	source := api.Source{Source: domain.Source{
		Type: props.Source.Type, Command: api.Or(props.Source.Command, ""), Model: model,
		Settings: props.Source.Settings,
	}}
	source.Name, source.Version = api.Or(props.Source.Name, ""), api.Or(props.Source.Version, 0)
	if args := api.Or(props.Source.Args, nil); len(args) > 0 { // documents write an empty list for none
		source.Args = args
	}
	body.Source, body.SystemPrompt = &source, props.SystemPrompt
	if body.Prompt == nil && body.Messages == nil {
		body.Prompt = &api.PromptInput{Text: api.Or(props.Prompt, "")}
	}
	body.Capabilities, body.TimeoutSeconds, body.WorkingDirectory = props.Capabilities, props.TimeoutSeconds, props.WorkingDirectory
	body.Environment = props.Environment
	return body, nil
}

// blockModel returns the registry's name of a block's model. A document may name a provider, and the model as that provider calls it, because it does not
// know how the operator has named the entry.
func (a *Admission) blockModel(source api.AgentBlockSource) (string, error) {
	model, provider := api.Or(source.Model, ""), api.Or(source.Provider, "")
	if provider == "" {
		return model, nil
	}
	if source.Type != domain.SourceInternal {
		return "", domain.Invalid("/block/props/source/provider", "This belongs to the type internal: an external agent has providers of its own.")
	}
	if strings.EqualFold(provider, "claude") { // people know the vendor by its models
		provider = "anthropic"
	}
	var known, its []string
	for _, name := range a.config.Models.Names() {
		itsProvider, itsModel := a.config.Models.Entry(name)
		known = append(known, itsProvider+" "+itsModel)
		switch {
		case !strings.EqualFold(itsProvider, provider):
		case model != "" && (itsModel == model || name == model), model == "" && name == a.config.Models.Default():
			return name, nil
		default:
			its = append(its, name)
		}
	}
	if model == "" && len(its) == 1 {
		return its[0], nil
	}
	message := "The server has no model configured."
	if known != nil {
		message = "The server has no such model of this provider; it has " + strings.Join(known, ", ") + "."
	}
	return "", domain.At("/block/props/source/model", domain.Errorf(domain.CodeUnknownModel, "%s", message))
}

// presentation is the fields of a block that say how an editor shows it. They mean nothing for an execution. The list is closed: a misspelt field that
// was ignored, such as a limit, would have no effect, and nobody would learn of it.
func presentation(block api.AgentBlock) (warnings []domain.Detail) {
	for _, field := range []struct {
		pointer string
		value   json.RawMessage
	}{
		{"/block/children", block.Children}, {"/block/content", block.Content},
		{"/block/props/textAlignment", block.Props.TextAlignment}, {"/block/props/textColor", block.Props.TextColor},
		{"/block/props/backgroundColor", block.Props.BackgroundColor},
	} {
		if field.value != nil {
			warnings = append(warnings, domain.Detail{Pointer: field.pointer, Message: "says how an editor shows the block, and was ignored"})
		}
	}
	return warnings
}

// blockPointer turns a pointer into the request into one into its block. A prompt of the request itself stays where it is.
func blockPointer(ownPrompt bool) func(pointer string) string {
	return func(pointer string) string {
		name, _, _ := strings.Cut(strings.TrimPrefix(pointer, "/"), "/")
		switch name {
		case "source", "systemPrompt", "capabilities", "timeoutSeconds", "workingDirectory", "environment":
			return "/block/props" + pointer
		case "prompt":
			if !ownPrompt {
				return "/block/props" + pointer
			}
		}
		return pointer
	}
}

var anyUUID = regexp.MustCompile(`^(?i)[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// block refuses invalid blocks, and fields that the block replaces.
func (f *fieldErrors) block(body api.CreateExecution) {
	if !anyUUID.MatchString(body.Block.Id) {
		f.add("/block/id", "must be a UUID")
	}
	if len(api.Or(body.Block.Props.Source.Env, nil)) > 0 {
		f.add("/block/props/source/env", "must be empty: the registry sets the environment of an agent")
	}
	said := body.Prompt != nil || body.Messages != nil // by the request, in the place of a block that says nothing
	switch blank := strings.TrimSpace(api.Or(body.Block.Props.Prompt, "")) == ""; {
	case !blank:
		f.refuse("must not come together with the prompt of a block", sentFields{{"/prompt", body.Prompt != nil}, {"/messages", body.Messages != nil}})
	case !said:
		f.add("/block/props/prompt", "must not be blank, unless prompt or messages of the request stand in its place")
	}
	f.refuse("must not come together with block", sentFields{
		{"/source", body.Source != nil},
		{"/systemPrompt", body.SystemPrompt != nil}, {"/capabilities", body.Capabilities != nil},
		{"/timeoutSeconds", body.TimeoutSeconds != nil}, {"/workingDirectory", body.WorkingDirectory != nil},
		{"/environment", body.Environment != nil},
	})
	if kind := api.Or(body.Kind, domain.KindAgent); kind != domain.KindAgent {
		f.add("/kind", "must be agent for an agent block")
	}
}
