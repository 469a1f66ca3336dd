package admission

import (
	"cmp"
	"context"

	"signoff/api"
	"signoff/internal/domain"
	"signoff/internal/keys"
	"signoff/internal/store"
)

const (
	defaultMaxIterations = 50
	defaultIdleTimeout   = 86400
)

// Admit returns the request that a body asks for. A request that came before under its key is not looked up and rendered again: its
// sources may be gone by now, and the first answer stands. A nil key is none.
func (a *Admission) Admit(ctx context.Context, by keys.Principal, body api.CreateExecution, key *store.Idempotency) (domain.Request, error) {
	if key != nil {
		reading, cancel := domain.WithCreationTime(ctx, domain.CreationTime)
		defer cancel()
		first, _, err := a.config.Executions.ExecutionByKey(reading, by.Tenant, key.Key)
		if err == nil {
			return first.Request, nil
		}
		if domain.CodeOf(err) != domain.CodeNotFound {
			return domain.Request{}, err
		}
	}
	if err := a.enabled(body); err != nil {
		return domain.Request{}, err
	}
	if body.Block == nil {
		return a.assemble(ctx, by, body)
	}
	var found faults
	if found.block(body); len(found) > 0 {
		return domain.Request{}, found.error()
	}
	request, err := a.assemble(ctx, by, unfold(body))
	return request, domain.Repoint(err, inBlock)
}

// assemble fills the defaults in and checks what the document cannot say. It reports all contradictions at once, and after them the first name
// that a registry does not have; then it reads other executions, and renders templates last.
func (a *Admission) assemble(ctx context.Context, by keys.Principal, body api.CreateExecution) (domain.Request, error) {
	if found := wrongParts(body); len(found) > 0 {
		return domain.Request{}, found.error()
	}
	request := a.filled(body)
	if err := a.registered(&request, *body.Source); err != nil {
		return request, err
	}
	if err := a.judgeable(request); err != nil {
		return request, err
	}
	if err := a.declared(request); err != nil {
		return request, err
	}
	directory, err := a.config.Workspace.Resolve(api.Or(body.WorkingDirectory, ""))
	if err != nil {
		return request, domain.At("/workingDirectory", err)
	}
	request.WorkingDirectory = directory
	found, err := a.lookUp(ctx, by, api.Or(body.ContextFrom, nil), body.OutputsFrom)
	if err != nil {
		return request, err
	}
	if err := a.takeOver(ctx, &request, found); err != nil {
		return request, err
	}
	return request, a.render(ctx, by, body, found, &request)
}

// filled is the request with the defaults in the place of what was left out.
func (a *Admission) filled(body api.CreateExecution) domain.Request {
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
		TimeoutSeconds:         api.Or(body.TimeoutSeconds, *a.config.Settings.TimeoutSeconds),
		ApprovalTimeoutSeconds: api.Or(body.ApprovalTimeoutSeconds, *a.config.Settings.ApprovalTimeoutSeconds),
		Retry:                  cmp.Or(body.Retry, &domain.Retry{ForSeconds: *a.config.Settings.RetryForSeconds}),
		Budget:                 api.Or(body.Budget, domain.Budget{}),
		Messages:               api.Or(body.Messages, nil),
		Metadata:               body.Metadata,
		RunbookID:              api.Or(body.RunbookId, ""),
		Block:                  blockName(body),
		OutputSchema:           body.OutputSchema,
		Runbook:                a.runbook(body),
	}
	said := permissions{body.Capabilities, body.Tools, body.Policy, body.SafeMode, body.Secrets}
	said.into(&request, *a.config.Settings.Capabilities)
	if body.Memory != nil {
		request.Memory = api.Or(body.Memory.Enabled, false)
	}
	for _, tool := range api.Or(body.ClientTools, nil) {
		tool.Class = cmp.Or(tool.Class, domain.ClassWrite)
		request.ClientTools = append(request.ClientTools, tool)
	}
	return request
}
