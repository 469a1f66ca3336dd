package http

import (
	"fmt"
	"regexp"
	"strings"

	"signoff/api"
	"signoff/internal/domain"
)

// This file is what a request for an execution has to pass beyond the document: fields that contradict each other, and
// names that must be in a registry.

const (
	defaultMaxIterations   = 50
	defaultTimeout         = 300
	defaultApprovalTimeout = 3600
	defaultIdleTimeout     = 86400
)

// toRequest fills the defaults in and checks what the document cannot say. What contradicts itself is reported at once,
// what the registries do not have after that, one by one.
func (s *Server) toRequest(body api.CreateExecution) (domain.Request, error) {
	request := domain.Request{
		Source:                 toSource(body.Source),
		Prompt:                 value(body.Prompt, ""),
		SystemPrompt:           value(body.SystemPrompt, ""),
		Instructions:           value(body.Instructions, ""),
		Capabilities:           toCapabilities(body.Capabilities),
		MCPServers:             value(body.McpServers, nil),
		KeepOpen:               value(body.KeepOpen, false),
		IdleTimeoutSeconds:     value(body.IdleTimeoutSeconds, defaultIdleTimeout),
		ResumeFrom:             domain.ExecutionID(value(body.ResumeFrom, "")),
		Debug:                  value(body.Debug, false),
		MaxIterations:          value(body.MaxIterations, defaultMaxIterations),
		TimeoutSeconds:         value(body.TimeoutSeconds, defaultTimeout),
		ApprovalTimeoutSeconds: value(body.ApprovalTimeoutSeconds, defaultApprovalTimeout),
		Metadata:               value(body.Metadata, nil),
	}
	for _, message := range value(body.Messages, nil) {
		request.Messages = append(request.Messages, domain.InputMessage{Role: domain.Role(message.Role), Content: message.Content})
	}
	if details := wrongParts(body); len(details) > 0 {
		return request, &domain.Error{Code: domain.CodeInvalid, Message: summary(details), Details: details}
	}
	if err := s.registered(&request, body.Source); err != nil {
		return request, err
	}
	directory, err := s.workspace.Resolve(value(body.WorkingDirectory, ""))
	request.WorkingDirectory = directory
	return request, err
}

// registered looks up what the request names: nothing is run that the operator has not listed.
func (s *Server) registered(request *domain.Request, wanted api.Source) error {
	if request.Source.Type == domain.SourceACP {
		name, err := s.agent(request.Source.Command, value(wanted.Args, nil))
		if err != nil {
			return err
		}
		request.Source.Command = name
		if err := pointed("/source/mode", s.agents.Mode(name, request.Source.Mode)); err != nil {
			return err
		}
		return pointed("/mcpServers", s.agents.MCPServers(request.MCPServers))
	}
	if request.Source.Model == "" {
		request.Source.Model = s.models.Default()
	}
	if !s.models.Has(request.Source.Model) {
		return s.unknownModel()
	}
	return nil
}

func (s *Server) agent(command string, args []string) (name string, err error) {
	name, err = s.agents.Resolve(command, args)
	if err == nil {
		return name, nil
	}
	if _, without := s.agents.Resolve(command, nil); args != nil && without == nil {
		return "", pointed("/source/args", err)
	}
	return "", pointed("/source/command", err)
}

func (s *Server) unknownModel() error {
	message := "The server has no model configured."
	if names := s.models.Names(); len(names) > 0 {
		message = "There is no such model; there are " + strings.Join(names, ", ") + "."
	}
	return pointed("/source/model", domain.Errorf(domain.CodeUnknownModel, "%s", message))
}

// faults collects what is wrong with a body.
type faults []domain.Detail

func (f *faults) add(pointer, message string) {
	*f = append(*f, domain.Detail{Pointer: pointer, Message: message})
}

func wrongParts(body api.CreateExecution) []domain.Detail {
	var found faults
	found.source(body)
	found.prompt(body)
	found.metadata(value(body.Metadata, nil))
	return found
}

// source refuses the fields of the other type: ignored, they would look as if they were kept to.
func (f *faults) source(body api.CreateExecution) {
	source := body.Source
	if source.Type == api.SourceTypeAcp {
		if source.Command == nil {
			f.add("/source/command", "is required for an agent of type acp: a name of GET /agents")
		}
		if body.MaxIterations != nil {
			f.add("/maxIterations", "belongs to the type internal: an external agent keeps limits of its own")
		}
		return
	}
	for _, field := range []struct {
		name string
		sent bool
	}{{"command", source.Command != nil}, {"args", source.Args != nil}, {"mode", source.Mode != nil}} {
		if field.sent {
			f.add("/source/"+field.name, "belongs to the type acp; the internal agent takes none")
		}
	}
	if len(value(body.McpServers, nil)) > 0 {
		f.add("/mcpServers", "must be empty: the internal agent takes no MCP servers yet")
	}
}

func (f *faults) prompt(body api.CreateExecution) {
	switch {
	case body.Prompt == nil && body.Messages == nil:
		f.add("/prompt", "is required, or messages in its place")
	case body.Prompt != nil && body.Messages != nil:
		f.add("/messages", "must not come together with prompt")
	}
	if messages := value(body.Messages, nil); len(messages) > 0 {
		if last := len(messages) - 1; messages[last].Role != api.InputMessageRoleUser {
			f.add(fmt.Sprintf("/messages/%d/role", last), "must be user: the last message is what the agent answers")
		}
	}
}

var metadataName = regexp.MustCompile(`^[A-Za-z0-9_.:/-]{1,64}$`)

func (f *faults) metadata(labels api.Metadata) {
	for name := range labels {
		if !metadataName.MatchString(name) {
			f.add(pointer([]string{"metadata", name}), "must have a name of 1 to 64 characters of A-Z a-z 0-9 _ . : / -")
		}
	}
}

func summary(details []domain.Detail) string {
	if len(details) > 1 {
		return "Some of the input is not allowed; see errors."
	}
	name, _, _ := strings.Cut(strings.TrimPrefix(details[0].Pointer, "/"), "/")
	return name + " " + details[0].Message + "."
}
