package admission

import (
	"context"

	"signoff/api"
	"signoff/internal/domain"
	"signoff/internal/files"
	"signoff/internal/keys"
)

// AdmitPrompt returns the further prompt that a body asks for. Its options are checked against those that the agent has offered, and its files
// are found. It does not check a prompt with a used key: the agent may offer other options by now, a file may be gone, and the first response stands.
func (a *Admission) AdmitPrompt(
	ctx context.Context, by keys.Principal, id domain.ExecutionID, body api.PromptExecution, key string,
) (domain.QueuedPrompt, error) {
	prompt := domain.QueuedPrompt{
		Text: promptText(body.Prompt), Parts: promptParts(body.Prompt),
		WhenBusy: api.Or(body.WhenBusy, domain.WhenBusyEnqueue), Options: body.Options,
	}
	if wrong := checkParts(body.Prompt); len(wrong) > 0 {
		return prompt, domain.InvalidParts(wrong...)
	}
	if len(prompt.Options) == 0 && prompt.Parts == nil {
		return prompt, nil
	}
	execution, err := a.config.Executions.Execution(ctx, by.Tenant, id)
	if err != nil {
		return prompt, err
	}
	if key != "" {
		first, _, err := a.config.Executions.PromptByKey(ctx, id, key)
		if err == nil || domain.CodeOf(err) != domain.CodeNotFound {
			prompt.Parts = first.Parts
			return prompt, err
		}
	}
	if err := a.checkOptions(ctx, execution, prompt.Options); err != nil || prompt.Parts == nil {
		return prompt, err
	}
	whose := files.For{Tenant: by.Tenant, Execution: id, Request: execution.Request, Pointer: "/prompt"}
	prompt.Parts, err = a.partsOf(ctx, whose, prompt.Parts)
	return prompt, err
}

func (a *Admission) checkOptions(ctx context.Context, execution domain.Execution, options map[string]string) error {
	if len(options) == 0 {
		return nil
	}
	if execution.Request.Source.Type != domain.SourceACP {
		return domain.Invalid("/options", "Options belong to the type acp; the internal agent has none.")
	}
	offered, err := a.config.Executions.AgentOptions(ctx, execution.ID)
	if err != nil {
		return err
	}
	return a.config.Agents.CheckOptions(execution.Request.Source, options, offered)
}

// AdmitEdit refuses a document without the block behind which the new blocks belong: nobody could insert them. A nil document is none.
func (a *Admission) AdmitEdit(ctx context.Context, by keys.Principal, id domain.ExecutionID, document *domain.Document) error {
	if document == nil {
		return nil
	}
	execution, err := a.config.Executions.Execution(ctx, by.Tenant, id)
	if err != nil {
		return err
	}
	if own := execution.Request.Runbook.Document; document.ID != "" && own != nil && document.ID != own.ID {
		return domain.Invalid("/document/id", "The blocks of this execution are for another document.")
	}
	if place := execution.Request.Runbook.InsertAfter; place != "" && !hasBlock(document, place) {
		return domain.Invalid("/document/blocks", "The document does not have the block insertAfter of the execution, behind which the new blocks belong.")
	}
	return nil
}

// AdmitResume refuses to start an agent whose program is missing: the execution would only be interrupted again. The sessions check whether
// the execution can be resumed.
func (a *Admission) AdmitResume(ctx context.Context, by keys.Principal, id domain.ExecutionID, mode domain.ResumeMode) error {
	execution, err := a.config.Executions.Execution(ctx, by.Tenant, id)
	if err != nil && domain.CodeOf(err) != domain.CodeNotFound {
		return err
	}
	source := execution.Request.Source
	if execution.Status != domain.StatusInterrupted || source.Type != domain.SourceACP || mode == domain.ResumeFail {
		return nil
	}
	return a.config.Agents.Installed(source.Command)
}
