package admission

import (
	"context"

	"signoff/internal/domain"
	"signoff/internal/keys"
)

// This file admits requests to an execution that is there already. Each is checked before the session hears of it.

// AdmitPrompt holds the options of a further prompt against those that the agent has offered. A prompt that came before under its key is not
// looked at: the agent may offer something else by now, and the first answer stands.
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

// AdmitEdit holds the document of an edit against the place that the blocks are for: blocks for a place that is gone could be
// accepted, and nobody could put them anywhere. A nil document is none.
func (a *Admission) AdmitEdit(ctx context.Context, by keys.Principal, id domain.ExecutionID, document *domain.Document) error {
	if document == nil {
		return nil
	}
	execution, err := a.config.Executions.Execution(ctx, by.Tenant, id)
	if err != nil {
		return err
	}
	if place := execution.Request.Runbook.InsertAfter; place != "" && !holds(document, place) {
		return domain.Invalid("/document/blocks", "The block that the new ones go after, insertAfter of the execution, is not in the document.")
	}
	return nil
}

// AdmitResume refuses to start an agent whose program is gone: the execution would only be interrupted again. The sessions tell whether
// there is something to resume.
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
