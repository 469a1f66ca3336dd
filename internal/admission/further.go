package admission

import (
	"context"

	"signoff/internal/domain"
	"signoff/internal/keys"
)

// AdmitPrompt checks the options of a further prompt against those that the agent has offered. It does not check a prompt with a used key:
// the agent may offer other options by now, and the first response stands.
func (a *Admission) AdmitPrompt(ctx context.Context, by keys.Principal, id domain.ExecutionID, options map[string]string, key string) error {
	if len(options) == 0 {
		return nil
	}
	execution, err := a.config.Executions.Execution(ctx, by.Tenant, id)
	if err != nil {
		return err
	}
	if key != "" {
		_, _, err := a.config.Executions.PromptByKey(ctx, id, key)
		if err == nil || domain.CodeOf(err) != domain.CodeNotFound {
			return err
		}
	}
	if execution.Request.Source.Type != domain.SourceACP {
		return domain.Invalid("/options", "Options belong to the type acp; the internal agent has none.")
	}
	offered, err := a.config.Executions.AgentOptions(ctx, id)
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
