package http

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"signoff/api"
	"signoff/internal/approvals"
	"signoff/internal/domain"
	"signoff/internal/sessions"
	"signoff/internal/store"
)

// This file is what a request for an execution has to pass beyond the document: fields that contradict each other, and
// names that must be in a registry.

const (
	defaultMaxIterations = 50
	defaultIdleTimeout   = 86400
)

// order is the request that a body asks for. One that came before under its key is not looked up and rendered again: what
// it was made of may be gone by now, and the first answer stands.
func (s *Server) order(ctx context.Context, body api.CreateExecution, key *store.Idempotency) (domain.Request, error) {
	if key != nil {
		reading, cancel := sessions.WithCreationTime(ctx)
		defer cancel()
		first, _, err := s.reader.ExecutionByKey(reading, who(ctx).Tenant, key.Key)
		if err == nil {
			return first.Request, nil
		}
		if domain.CodeOf(err) != domain.CodeNotFound {
			return domain.Request{}, err
		}
	}
	if err := s.enabled(body); err != nil {
		return domain.Request{}, err
	}
	if body.Block == nil {
		return s.toRequest(ctx, body)
	}
	var found faults
	if found.block(body); len(found) > 0 {
		return domain.Request{}, found.error()
	}
	request, err := s.toRequest(ctx, unfold(body))
	return request, domain.Repoint(err, inBlock)
}

// toRequest fills the defaults in and checks what the document cannot say. What contradicts itself is reported at once,
// what the registries do not have after that, one by one; then come other executions, and templates at last.
func (s *Server) toRequest(ctx context.Context, body api.CreateExecution) (domain.Request, error) {
	if found := wrongParts(body); len(found) > 0 {
		return domain.Request{}, found.error()
	}
	request := s.filled(body)
	if err := s.registered(&request, *body.Source); err != nil {
		return request, err
	}
	if err := s.judgeable(request); err != nil {
		return request, err
	}
	if err := s.declared(request); err != nil {
		return request, err
	}
	directory, err := s.workspace.Resolve(api.Or(body.WorkingDirectory, ""))
	if err != nil {
		return request, domain.At("/workingDirectory", err)
	}
	request.WorkingDirectory = directory
	found, err := s.lookUp(ctx, api.Or(body.ContextFrom, nil), body.OutputsFrom)
	if err != nil {
		return request, err
	}
	if err := s.takeOver(ctx, &request, found); err != nil {
		return request, err
	}
	return request, s.render(ctx, body, found, &request)
}

// filled is the request with the defaults in the place of what was left out.
func (s *Server) filled(body api.CreateExecution) domain.Request {
	request := domain.Request{
		Kind:                   api.Or(body.Kind, domain.KindAgent),
		Source:                 body.Source.Source,
		Prompt:                 api.Or(body.Prompt, ""),
		SystemPrompt:           api.Or(body.SystemPrompt, ""),
		Instructions:           api.Or(body.Instructions, ""),
		MCPServers:             api.Or(body.McpServers, nil),
		KeepOpen:               keepOpen(body),
		IdleTimeoutSeconds:     api.Or(body.IdleTimeoutSeconds, defaultIdleTimeout),
		RetentionDays:          body.RetentionDays,
		ResumeFrom:             domain.ExecutionID(api.Or(body.ResumeFrom, "")),
		Debug:                  api.Or(body.Debug, false),
		MaxIterations:          api.Or(body.MaxIterations, defaultMaxIterations),
		TimeoutSeconds:         api.Or(body.TimeoutSeconds, *s.defaults.TimeoutSeconds),
		ApprovalTimeoutSeconds: api.Or(body.ApprovalTimeoutSeconds, *s.defaults.ApprovalTimeoutSeconds),
		Retry:                  cmp.Or(body.Retry, &domain.Retry{ForSeconds: *s.defaults.RetryForSeconds}),
		Budget:                 api.Or(body.Budget, domain.Budget{}),
		Messages:               api.Or(body.Messages, nil),
		Metadata:               body.Metadata,
		RunbookID:              api.Or(body.RunbookId, ""),
		Block:                  blockName(body),
		OutputSchema:           body.OutputSchema,
		Runbook:                s.runbook(body),
	}
	said := settings{body.Capabilities, body.Tools, body.Policy, body.SafeMode, body.Secrets}
	said.into(&request, *s.defaults.Capabilities)
	if body.Memory != nil {
		request.Memory = api.Or(body.Memory.Enabled, false)
	}
	for _, tool := range api.Or(body.ClientTools, nil) {
		tool.Class = cmp.Or(tool.Class, domain.ClassWrite)
		request.ClientTools = append(request.ClientTools, tool)
	}
	return request
}

// registered looks up what the request names: nothing is run that the operator has not listed.
func (s *Server) registered(request *domain.Request, wanted api.Source) error {
	if request.Source.Type == domain.SourceACP {
		name, err := s.agent(request.Source.Command, wanted.Args)
		if err != nil {
			return err
		}
		request.Source.Command = name
		if err := domain.At("/source/command", s.agents.Check(request.Source)); err != nil {
			return err
		}
		return domain.At("/mcpServers", s.agents.MCPServers(request.MCPServers))
	}
	if request.Source.Model == "" {
		request.Source.Model = s.models.Default()
	}
	for i, model := range append([]string{request.Source.Model}, request.Source.Fallbacks...) {
		at := "/source/model"
		if i > 0 {
			at = fmt.Sprintf("/source/fallbacks/%d", i-1)
		}
		if !s.models.Has(model) {
			return s.unknownModel(at)
		}
		if request.Budget.Cost > 0 && !s.models.Priced(model) {
			return domain.Invalid("/budget/cost", "What the model %s costs is not known: its prices are not in the registry.", model)
		}
	}
	return nil
}

// judgeable holds the policy of a request against what it will be judged with.
func (s *Server) judgeable(request domain.Request) error {
	if err := s.literal("/tools/bashPolicy", request.Tools.BashPolicy); err != nil {
		return err
	}
	if _, err := approvals.NewPolicy(request); err != nil {
		return domain.Below("/tools/bashPolicy", err)
	}
	for i, rule := range request.Rules {
		at := fmt.Sprintf("/policy/rules/%d", i)
		if err := s.literal(at+"/matcher", rule.Matcher); err != nil {
			return err
		}
		if err := approvals.CheckMatcher(rule.Matcher); err != nil {
			return domain.Below(at, err)
		}
	}
	for i, name := range request.Tools.Enabled {
		known := slices.ContainsFunc(s.tools.Tools(), func(tool ToolInfo) bool { return tool.Name == name })
		if !known && (request.Kind != domain.KindAssistant || !slices.Contains(documentTools, name)) {
			return domain.Invalid(fmt.Sprintf("/tools/enabled/%d", i), "There is no such tool; GET /tools lists those that there are.")
		}
	}
	return domain.At("/secrets", s.secrets.Check(request.Secrets))
}

// literal refuses a secret in a part of the body that counts letter by letter. It cannot be stored as it is, and masked
// it would mean something else: a rule that denies would match nothing, and a person would sign for a command that is not
// the one that runs.
func (s *Server) literal(at string, part any) error {
	said := domain.Encode(part)
	if bytes.Equal(s.masker.JSON(said), said) {
		return nil
	}
	return domain.Invalid(at, "This holds the value of a secret, or what looks like one; name the secret instead.")
}

func (s *Server) agent(command string, args []string) (name string, err error) {
	name, err = s.agents.Resolve(command, args)
	if err == nil {
		return name, nil
	}
	if _, without := s.agents.Resolve(command, nil); args != nil && without == nil {
		return "", domain.At("/source/args", err)
	}
	return "", domain.At("/source/command", err)
}

func (s *Server) unknownModel(at string) error {
	message := "The server has no model configured."
	if names := s.models.Names(); len(names) > 0 {
		message = "There is no such model; there are " + strings.Join(names, ", ") + "."
	}
	return domain.At(at, domain.Errorf(domain.CodeUnknownModel, "%s", message))
}

// faults collects what is wrong with a body.
type faults []domain.Detail

func (f *faults) add(pointer, message string) {
	*f = append(*f, domain.Detail{Pointer: pointer, Message: message})
}

func (f faults) error() error { return domain.InvalidParts(f...) }

func wrongParts(body api.CreateExecution) faults {
	var found faults
	found.source(body)
	found.prompt(body)
	found.templated(body)
	found.kind(body)
	found.metadata(body.Metadata)
	found.settings(settings{body.Capabilities, body.Tools, body.Policy, body.SafeMode, body.Secrets})
	return found
}

// source refuses the fields of the other type: ignored, they would look as if they were kept to.
func (f *faults) source(body api.CreateExecution) {
	if body.Source == nil {
		f.add("/source", "is required, or a block in its place")
		return
	}
	source := body.Source
	if source.Type == domain.SourceACP {
		if source.Command == "" {
			f.add("/source/command", "is required for an agent of type acp: a name of GET /agents")
		}
		if body.MaxIterations != nil {
			f.add("/maxIterations", "belongs to the type internal: an external agent keeps limits of its own")
		}
		f.internalOnly(body)
		return
	}
	for _, field := range []struct {
		name string
		sent bool
	}{{"command", source.Command != ""}, {"args", source.Args != nil}, {"mode", source.Mode != ""}, {"options", source.Options != nil}} {
		if field.sent {
			f.add("/source/"+field.name, "belongs to the type acp; the internal agent takes none")
		}
	}
	if len(api.Or(body.McpServers, nil)) > 0 {
		f.add("/mcpServers", "must be empty: the internal agent takes no MCP servers yet")
	}
}

// internalOnly refuses what only the internal agent keeps to.
func (f *faults) internalOnly(body api.CreateExecution) {
	for _, field := range []struct {
		pointer string
		sent    bool
	}{
		{"/source/fallbacks", body.Source.Fallbacks != nil},
		{"/tools/enabled", body.Tools != nil && body.Tools.Enabled != nil},
		{"/memory/enabled", body.Memory != nil && api.Or(body.Memory.Enabled, false)},
		{"/secrets", len(api.Or(body.Secrets, nil)) > 0},
	} {
		if field.sent {
			f.add(field.pointer, "belongs to the type internal: an external agent has its own")
		}
	}
}

func (f *faults) prompt(body api.CreateExecution) {
	switch {
	case body.Prompt == nil && body.Messages == nil:
		f.add("/prompt", "is required, or messages in its place")
	case body.Prompt != nil && body.Messages != nil:
		f.add("/messages", "must not come together with prompt")
	}
	if messages := api.Or(body.Messages, nil); len(messages) > 0 {
		if last := len(messages) - 1; messages[last].Role != domain.RoleUser {
			f.add(fmt.Sprintf("/messages/%d/role", last), "must be user: the last message is what the agent answers")
		}
	}
}

var metadataName = regexp.MustCompile(`^[A-Za-z0-9_.:/-]{1,64}$`)

func (f *faults) metadata(labels map[string]string) {
	for name := range labels {
		if !metadataName.MatchString(name) {
			f.add(domain.Pointer("metadata", name), "must have a name of 1 to 64 characters of A-Z a-z 0-9 _ . : / -")
		}
	}
}
