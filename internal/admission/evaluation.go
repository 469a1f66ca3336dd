package admission

import (
	"signoff/api"
	"signoff/internal/approvals"
	"signoff/internal/domain"
	"signoff/internal/keys"
)

// AdmitEvaluation returns the dry run of the policy that a body asks for. It runs nothing, so every environment may be named in it.
func (a *Admission) AdmitEvaluation(by keys.Principal, body api.EvaluatePolicy) (approvals.Evaluation, error) {
	given := permissions{body.Capabilities, body.Tools, body.Policy, body.SafeMode, body.Secrets}
	evaluation := approvals.Evaluation{
		Tenant: by.Tenant, Execution: domain.ExecutionID(api.Or(body.ExecutionId, "")), Tool: body.Tool, Arguments: body.Arguments,
		MCPServer: api.Or(body.McpServer, ""), Definition: api.Or(body.Definition, ""),
	}
	if err := a.RefuseSecrets("/arguments", body.Arguments); err != nil {
		return evaluation, err
	}
	var wrong fieldErrors
	wrong.permissions(given)
	if evaluation.Definition != "" && evaluation.MCPServer == "" {
		wrong.add("/definition", "belongs to the tool of an MCP server: name it in mcpServer")
	}
	if evaluation.Execution != "" { // whose settings count
		wrong.refuse("must not come together with executionId", sentFields{
			{"/capabilities", body.Capabilities != nil}, {"/tools", body.Tools != nil}, {"/policy", body.Policy != nil},
			{"/safeMode", body.SafeMode != nil}, {"/secrets", body.Secrets != nil}, {"/workingDirectory", body.WorkingDirectory != nil},
			{"/environment", body.Environment != nil},
		})
	}
	if len(wrong) > 0 {
		return evaluation, wrong.error()
	}
	if evaluation.Execution != "" {
		return evaluation, nil
	}
	given.into(&evaluation.Request, *a.config.Settings.Capabilities)
	if err := a.setEnvironment(&evaluation.Request, api.Or(body.Environment, domain.EnvironmentChoice{})); err != nil {
		return evaluation, err
	}
	if err := a.checkPolicy(evaluation.Request); err != nil {
		return evaluation, err
	}
	if err := a.enableTools(&evaluation.Request); err != nil {
		return evaluation, err
	}
	return evaluation, a.place(&evaluation.Request, api.Or(body.WorkingDirectory, ""))
}
