package admission

import (
	"regexp"
	"strings"

	"signoff/api"
	"signoff/internal/domain"
)

// This file is the agent block of a runbook: another spelling of a request, with the pointers of its errors.

const defaultBlockName = "Agent"

// blockName is the block that a request is started by, nil for one that is not.
func blockName(body api.CreateExecution) *domain.BlockName {
	if body.Block == nil {
		return nil
	}
	return &domain.BlockName{ID: body.Block.Id, Name: api.Or(body.Block.Props.Name, defaultBlockName)}
}

// unfold puts the props of a block where a request has them.
func unfold(body api.CreateExecution) api.CreateExecution {
	props := body.Block.Props
	source := api.Source{Source: domain.Source{
		Type: props.Source.Type, Command: api.Or(props.Source.Command, ""), Model: api.Or(props.Source.Model, ""),
	}}
	if args := api.Or(props.Source.Args, nil); len(args) > 0 { // documents write an empty list for none
		source.Args = args
	}
	body.Source, body.Prompt, body.SystemPrompt = &source, &props.Prompt, props.SystemPrompt
	body.Capabilities, body.TimeoutSeconds, body.WorkingDirectory = props.Capabilities, props.TimeoutSeconds, props.WorkingDirectory
	return body
}

// inBlock is where a client with a block wrote a part of the request.
func inBlock(pointer string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(pointer, "/"), "/")
	switch name {
	case "source", "prompt", "systemPrompt", "capabilities", "timeoutSeconds", "workingDirectory":
		return "/block/props" + pointer
	default:
		return pointer
	}
}

var anyUUID = regexp.MustCompile(`^(?i)[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// block refuses what a block cannot say, and what would say the same as the block.
func (f *faults) block(body api.CreateExecution) {
	if !anyUUID.MatchString(body.Block.Id) {
		f.add("/block/id", "must be a UUID")
	}
	if len(api.Or(body.Block.Props.Source.Env, nil)) > 0 {
		f.add("/block/props/source/env", "must be empty: the registry says what of the environment an agent gets")
	}
	for _, field := range []struct {
		name string
		sent bool
	}{
		{"source", body.Source != nil}, {"prompt", body.Prompt != nil}, {"messages", body.Messages != nil},
		{"systemPrompt", body.SystemPrompt != nil}, {"capabilities", body.Capabilities != nil},
		{"timeoutSeconds", body.TimeoutSeconds != nil}, {"workingDirectory", body.WorkingDirectory != nil},
	} {
		if field.sent {
			f.add("/"+field.name, "must not come together with block")
		}
	}
	if kind := api.Or(body.Kind, domain.KindAgent); kind != domain.KindAgent {
		f.add("/kind", "must be agent: an agent block is nothing else")
	}
}
