package http

import (
	"errors"
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
	return &domain.BlockName{ID: body.Block.Id, Name: value(body.Block.Props.Name, defaultBlockName)}
}

// unfold puts the props of a block where a request has them.
func unfold(body api.CreateExecution) api.CreateExecution {
	props := body.Block.Props
	source := api.Source{Source: domain.Source{
		Type: props.Source.Type, Command: value(props.Source.Command, ""), Model: value(props.Source.Model, ""),
	}}
	if args := value(props.Source.Args, nil); len(args) > 0 { // documents write an empty list for none
		source.Args = args
	}
	body.Source, body.Prompt, body.SystemPrompt = &source, &props.Prompt, props.SystemPrompt
	body.Capabilities, body.TimeoutSeconds, body.WorkingDirectory = props.Capabilities, props.TimeoutSeconds, props.WorkingDirectory
	return body
}

// outside moves the pointers of an error to where a client with a block wrote what is wrong.
func outside(err error) error {
	var coded *domain.Error
	if !errors.As(err, &coded) || len(coded.Details) == 0 {
		return err
	}
	moved := *coded
	moved.Details = nil
	for _, d := range coded.Details {
		moved.Details = append(moved.Details, domain.Detail{Pointer: inBlock(d.Pointer), Message: d.Message})
	}
	return &moved
}

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
	if len(value(body.Block.Props.Source.Env, nil)) > 0 {
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
	if kind := value(body.Kind, domain.KindAgent); kind != domain.KindAgent {
		f.add("/kind", "must be agent: an agent block is nothing else")
	}
}
