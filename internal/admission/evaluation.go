package admission

import (
	"signoff/api"
	"signoff/internal/approvals"
	"signoff/internal/domain"
	"signoff/internal/keys"
)

// AdmitEvaluation returns the dry run of the policy that a body asks for.
func (a *Admission) AdmitEvaluation(by keys.Principal, body api.EvaluatePolicy) (approvals.Evaluation, error) {
	said := permissions{body.Capabilities, body.Tools, body.Policy, body.SafeMode, body.Secrets}
	evaluation := approvals.Evaluation{
		Tenant: by.Tenant, Execution: domain.ExecutionID(api.Or(body.ExecutionId, "")), Tool: body.Tool, Arguments: body.Arguments,
	}
	if err := a.RefuseSecrets("/arguments", body.Arguments); err != nil {
		return evaluation, err
	}
	var found faults
	found.permissions(said)
	if evaluation.Execution != "" {
		found.beside(body)
	}
	if len(found) > 0 {
		return evaluation, found.error()
	}
	if evaluation.Execution != "" {
		return evaluation, nil
	}
	said.into(&evaluation.Request, *a.config.Settings.Capabilities)
	if err := a.judgeable(evaluation.Request); err != nil {
		return evaluation, err
	}
	directory, err := a.config.Workspace.Resolve(api.Or(body.WorkingDirectory, ""))
	evaluation.Request.WorkingDirectory = directory
	return evaluation, err
}

// beside refuses settings of the body where those of an execution count.
func (f *faults) beside(body api.EvaluatePolicy) {
	for _, field := range []struct {
		name string
		sent bool
	}{
		{"capabilities", body.Capabilities != nil}, {"tools", body.Tools != nil}, {"policy", body.Policy != nil},
		{"safeMode", body.SafeMode != nil}, {"secrets", body.Secrets != nil}, {"workingDirectory", body.WorkingDirectory != nil},
	} {
		if field.sent {
			f.add("/"+field.name, "must not come together with executionId")
		}
	}
}
