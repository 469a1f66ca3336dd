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

// Admit returns the request that a body asks for. A request with a used key is not looked up and rendered again: the executions that it
// names may be gone, and the first response stands. A nil key is none.
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
	if a.config.Settings.BlockGenerationOff && api.Or(body.Kind, "") == domain.KindGeneration {
		return domain.Request{}, domain.Errorf(domain.CodeFeatureDisabled, "The operator of this server has switched the generation of blocks off.")
	}
	if body.Block == nil {
		return a.assemble(ctx, by, body)
	}
	var wrong fieldErrors
	if wrong.block(body); len(wrong) > 0 {
		return domain.Request{}, wrong.error()
	}
	moved, err := a.fromBlock(body)
	if err != nil {
		return domain.Request{}, err
	}
	request, err := a.assemble(ctx, by, moved)
	return request, domain.Repoint(err, blockPointer(body.Prompt != nil))
}

// assemble assembles a request from its own fields, or from these and the agent profile that it names.
func (a *Admission) assemble(ctx context.Context, by keys.Principal, body api.CreateExecution) (domain.Request, error) {
	assemble := a.assembleResolved
	if body.Source != nil && body.Source.Type == domain.SourceProfile {
		assemble = a.assembleProfile
	}
	request, err := assemble(ctx, by, body)
	if err != nil {
		return request, err
	}
	return request, a.checkDelegates(ctx, by, body.Delegation)
}

// assembleResolved sets the defaults and checks the rules that the document cannot express. It reports all contradictions at once, then the first
// unknown name; then it reads other executions, and renders templates last.
func (a *Admission) assembleResolved(ctx context.Context, by keys.Principal, body api.CreateExecution) (domain.Request, error) {
	resumed, err := a.resumed(ctx, by, body)
	if err != nil {
		return domain.Request{}, err
	}
	return a.assembleBeside(ctx, by, body, resumed)
}

// assembleBeside is assembleResolved for a request that may work in the folder of another one; nil: of none.
func (a *Admission) assembleBeside(ctx context.Context, by keys.Principal, body api.CreateExecution, other *domain.Request) (domain.Request, error) {
	if wrong := contradictions(body); len(wrong) > 0 {
		return domain.Request{}, wrong.error()
	}
	request := a.withDefaults(body)
	if err := a.checkRegistries(by.Tenant, &request, *body.Source); err != nil {
		return request, err
	}
	if err := a.checkMCPServers(by, request.MCPServers); err != nil {
		return request, err
	}
	chosen, err := a.environmentChoice(ctx, by, request.Source, body)
	if err != nil {
		return request, err
	}
	if err := a.mayUse(by, request.Source, chosen); err != nil {
		return request, err
	}
	if err := a.setEnvironment(&request, chosen); err != nil {
		return request, err
	}
	if err := a.checkPolicy(request); err != nil {
		return request, err
	}
	if err := a.enableTools(&request); err != nil {
		return request, err
	}
	if err := a.checkDeclarations(request); err != nil {
		return request, err
	}
	directory, own := a.worksBeside(&request, other, body.WorkingDirectory)
	if err := a.place(&request, directory, own...); err != nil {
		return request, err
	}
	if err := a.setOwnFolder(ctx, &request, api.Or(body.Workspace, api.Workspace{})); err != nil {
		return request, err
	}
	if err := a.requireCheckpoints(&request); err != nil {
		return request, err
	}
	if err := a.setDelegation(by, &request, body.Delegation); err != nil {
		return request, err
	}
	if request.Source.Type == domain.SourceInternal && len(request.MCPServers) > 0 {
		request.Requires = max(request.Requires, domain.RequiresMCPServers)
	}
	if opensWithoutPrompt(body) {
		request.Requires = max(request.Requires, domain.RequiresFirstPrompt)
	}
	if request.Budget.Seconds > 0 {
		request.Requires = max(request.Requires, domain.RequiresBudgetSeconds)
	}
	if len(request.Source.ModelSettings().Names()) > 0 {
		request.Requires = max(request.Requires, domain.RequiresModelSettings)
	}
	found, err := a.findSources(ctx, by, api.Or(body.ContextFrom, nil), body.OutputsFrom)
	if err != nil {
		return request, err
	}
	if err := a.addSources(ctx, &request, found); err != nil {
		return request, err
	}
	if err := a.render(ctx, by, body, found, &request); err != nil {
		return request, err
	}
	return request, a.resolveParts(ctx, by, &request)
}

// withDefaults returns the request with the defaults for missing fields.
func (a *Admission) withDefaults(body api.CreateExecution) domain.Request {
	request := domain.Request{
		Kind:                   api.Or(body.Kind, domain.KindAgent),
		Source:                 body.Source.Source,
		Prompt:                 promptText(api.Or(body.Prompt, api.PromptInput{})),
		Parts:                  promptParts(api.Or(body.Prompt, api.PromptInput{})),
		SystemPrompt:           api.Or(body.SystemPrompt, ""),
		Instructions:           api.Or(body.Instructions, ""),
		MCPServers:             api.Or(body.McpServers, nil),
		KeepOpen:               api.Or(body.KeepOpen, api.Or(body.Kind, domain.KindAgent) != domain.KindAgent), // a person continues from answers and blocks
		IdleTimeoutSeconds:     api.Or(body.IdleTimeoutSeconds, defaultIdleTimeout),
		RetentionDays:          body.RetentionDays,
		ResumeFrom:             domain.ExecutionID(api.Or(body.ResumeFrom, "")),
		Debug:                  api.Or(body.Debug, false),
		Checkpoints:            api.Or(body.Checkpoints, a.config.Settings.Checkpoints),
		MaxIterations:          api.Or(body.MaxIterations, defaultMaxIterations),
		TimeoutSeconds:         api.Or(body.TimeoutSeconds, *a.config.Settings.TimeoutSeconds),
		ApprovalTimeoutSeconds: api.Or(body.ApprovalTimeoutSeconds, *a.config.Settings.ApprovalTimeoutSeconds),
		Retry:                  cmp.Or(body.Retry, &domain.Retry{ForSeconds: *a.config.Settings.RetryForSeconds}),
		Budget:                 api.Or(body.Budget, domain.Budget{}),
		Messages:               api.Or(body.Messages, nil),
		Metadata:               body.Metadata,
		RunbookID:              api.Or(body.RunbookId, ""),
		OutputSchema:           body.OutputSchema,
		Runbook:                a.runbook(body),
	}
	if request.RunbookID != "" {
		request.Variables = a.keptVariables(body.Variables)
	}
	if body.Block != nil {
		request.Warnings = presentation(*body.Block)
		request.Block = &domain.BlockName{ID: body.Block.Id, Name: api.Or(body.Block.Props.Name, defaultBlockName)}
	}
	given := permissions{body.Capabilities, body.Tools, body.Policy, body.SafeMode, body.Secrets}
	given.into(&request, *a.config.Settings.Capabilities)
	if body.Memory != nil {
		request.Memory = api.Or(body.Memory.Enabled, false)
	}
	for _, tool := range api.Or(body.ClientTools, nil) {
		tool.Class = cmp.Or(tool.Class, domain.ClassWrite)
		request.ClientTools = append(request.ClientTools, tool)
	}
	return request
}
