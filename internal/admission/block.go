package admission

import (
	"regexp"
	"strings"

	"signoff/api"
	"signoff/internal/domain"
)

const defaultBlockName = "Agent"

// fromBlock moves the props of an agent block of a runbook to the fields of a request.
func fromBlock(body api.CreateExecution) api.CreateExecution {
	props := body.Block.Props
	source := api.Source{Source: domain.Source{
		Type: props.Source.Type, Command: api.Or(props.Source.Command, ""), Model: api.Or(props.Source.Model, ""),
		Settings: props.Source.Settings,
	}}
	if args := api.Or(props.Source.Args, nil); len(args) > 0 { // documents write an empty list for none
		source.Args = args
	}
	body.Source, body.Prompt, body.SystemPrompt = &source, &api.PromptInput{Text: props.Prompt}, props.SystemPrompt
	body.Capabilities, body.TimeoutSeconds, body.WorkingDirectory = props.Capabilities, props.TimeoutSeconds, props.WorkingDirectory
	body.Environment = props.Environment
	return body
}

// blockPointer returns the pointer into a block for a pointer into the request.
func blockPointer(pointer string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(pointer, "/"), "/")
	switch name {
	case "source", "prompt", "systemPrompt", "capabilities", "timeoutSeconds", "workingDirectory", "environment":
		return "/block/props" + pointer
	default:
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
	f.refuse("must not come together with block", sentFields{
		{"/source", body.Source != nil}, {"/prompt", body.Prompt != nil}, {"/messages", body.Messages != nil},
		{"/systemPrompt", body.SystemPrompt != nil}, {"/capabilities", body.Capabilities != nil},
		{"/timeoutSeconds", body.TimeoutSeconds != nil}, {"/workingDirectory", body.WorkingDirectory != nil},
		{"/environment", body.Environment != nil},
	})
	if kind := api.Or(body.Kind, domain.KindAgent); kind != domain.KindAgent {
		f.add("/kind", "must be agent for an agent block")
	}
}
