package admission

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"signoff/api"
	"signoff/internal/approvals"
	"signoff/internal/domain"
	"signoff/internal/runbooks"
	"signoff/internal/schema"
)

// checkRegistries checks the names of a request: only agents and models of the operator run.
func (a *Admission) checkRegistries(tenant domain.TenantID, request *domain.Request, wanted api.Source) error {
	if request.Source.Type == domain.SourceACP {
		name, err := a.agent(request.Source.Command, wanted.Args)
		if err != nil {
			return err
		}
		request.Source.Command = name
		return domain.At("/source/command", a.config.Agents.Check(request.Source))
	}
	from := a.chooseModel(request)
	for i, model := range append([]string{request.Source.Model}, request.Source.Fallbacks...) {
		at := "/source/model"
		if i > 0 {
			at = fmt.Sprintf("/source/fallbacks/%d", i-1)
		}
		if !a.config.Models.Has(model) {
			return a.unknownModel(at)
		}
		if request.Budget.Cost > 0 && !a.config.Models.Priced(model) {
			return domain.Invalid("/budget/cost", "The cost of the model %s is unknown: its prices are not in the registry.", model)
		}
		if a.config.DailyBudgets[tenant].Cost > 0 && !a.config.Models.Priced(model) {
			return domain.Invalid(at, "The tenant %s has a daily budget of cost, and the cost of the model %s is unknown: its prices are not in the registry.", tenant, model)
		}
	}
	chosen := domain.ModelChoice{Name: request.Source.Model, From: from}
	chosen.Provider, chosen.Model = a.config.Models.Entry(chosen.Name)
	request.Model = &chosen
	return a.config.Models.CheckSettings(request.Source, "/source/settings")
}

// checkPolicy checks the policy, tools and secrets of a request.
func (a *Admission) checkPolicy(request domain.Request) error {
	if err := a.RefuseSecrets("/tools/bashPolicy", request.Tools.BashPolicy); err != nil {
		return err
	}
	if _, err := approvals.NewPolicy(request); err != nil {
		return domain.Below("/tools/bashPolicy", err)
	}
	for i, rule := range request.Rules {
		at := fmt.Sprintf("/policy/rules/%d", i)
		if err := a.checkMatcher(at, rule.Matcher); err != nil {
			return err
		}
		if named := rule.Matcher.Environment; named != "" && named != request.Environment.Name {
			return domain.Invalid(at+"/matcher/environment", "The rules of a request are about its own environment, which is %s.", request.Environment.Name)
		}
	}
	return domain.At("/secrets", a.config.Secrets.Check(request.Secrets))
}

// checkMatcher checks the matcher of a rule at this place.
func (a *Admission) checkMatcher(at string, matcher domain.Matcher) error {
	if err := a.RefuseSecrets(at+"/matcher", matcher); err != nil {
		return err
	}
	return domain.Below(at, approvals.CheckMatcher(matcher))
}

// enableTools checks the list of tools of a request. A tool that the server knows and cannot offer now is left out, with a warning: a workflow that can
// use it, and does not need it, runs on every server.
func (a *Admission) enableTools(request *domain.Request) error {
	if request.Tools.Enabled == nil {
		return nil
	}
	enabled := []string{}
	for i, name := range request.Tools.Enabled {
		at := fmt.Sprintf("/tools/enabled/%d", i)
		if missing := a.config.Tools.Missing(name); missing != "" {
			request.Warnings = append(request.Warnings, domain.Detail{Pointer: at, Message: missing})
			continue
		}
		known := slices.Contains(a.config.Tools.Names(), name)
		if !known && !a.enabledOfMCPServers(*request, name) && (request.Kind != domain.KindAssistant || !slices.Contains(runbooks.DocumentTools, name)) {
			return domain.Invalid(at, "There is no such tool; GET /tools lists the tools, and those of the request's MCP servers are called mcp__SERVER__TOOL.")
		}
		enabled = append(enabled, name)
	}
	request.Tools.Enabled = enabled
	return nil
}

// AdmitMatcher completes the matcher of a stored rule. One that names an environment holds for its definition as it is now.
func (a *Admission) AdmitMatcher(matcher *domain.Matcher) error {
	if err := a.RefuseSecrets("/matcher", matcher); err != nil {
		return err
	}
	matcher.EnvironmentDigest = ""
	if matcher.Environment == "" {
		return nil
	}
	defined, err := a.config.Environments.Defined(matcher.Environment)
	if err != nil {
		return domain.Below("/matcher", err)
	}
	matcher.EnvironmentDigest = defined.Digest()
	return nil
}

func (a *Admission) agent(command string, args []string) (name string, err error) {
	name, err = a.config.Agents.Resolve(command, args)
	if err == nil {
		return name, nil
	}
	if _, without := a.config.Agents.Resolve(command, nil); args != nil && without == nil {
		return "", domain.At("/source/args", err)
	}
	return "", domain.At("/source/command", err)
}

func (a *Admission) unknownModel(at string) error {
	message := "The server has no model configured."
	if names := a.config.Models.Names(); len(names) > 0 {
		message = "There is no such model; there are " + strings.Join(names, ", ") + "."
	}
	return domain.At(at, domain.Errorf(domain.CodeUnknownModel, "%s", message))
}

// checkDeclarations checks the block types, client tools and output schema of a request.
func (a *Admission) checkDeclarations(request domain.Request) error {
	if request.Kind == domain.KindGeneration && len(request.Runbook.BlockTypes) == 0 {
		return domain.Invalid("/blockTypes", "The request must name a block type, because the server has none.")
	}
	if _, err := runbooks.Compile(request.Runbook.BlockTypes); err != nil {
		return domain.Below("/blockTypes", err)
	}
	for i, known := range request.Runbook.BlockTypes { // the types of the request come first
		known.Docs = "" // a text like a prompt, in which secrets are masked
		if err := a.RefuseSecrets(fmt.Sprintf("/blockTypes/%d", i), known); err != nil {
			return err
		}
	}
	if request.OutputSchema != nil {
		if err := a.schema("/outputSchema", request.OutputSchema); err != nil {
			return err
		}
	}
	return a.checkClientTools(request)
}

// checkClientTools checks the names and schemas of client tools.
func (a *Admission) checkClientTools(request domain.Request) error {
	taken := map[string]string{}
	for _, own := range a.config.Tools.Names() {
		if !runbooks.ClientMayRun(request, own) {
			taken[own] = "This is a tool of the server; a tool of the client needs another name."
		}
	}
	for i, tool := range request.ClientTools {
		at := fmt.Sprintf("/clientTools/%d", i)
		if message, known := taken[tool.Name]; known {
			return domain.Invalid(at+"/name", "%s", message)
		}
		taken[tool.Name] = "Two tools have this name."
		if err := a.schema(at+"/schema", tool.Schema); err != nil {
			return err
		}
		if !schema.OfObject(tool.Schema) {
			return domain.Invalid(at+"/schema", `The arguments of a tool are an object: the schema's "type" must be "object".`)
		}
		if err := a.RefuseSecrets(at, tool); err != nil {
			return err
		}
	}
	return nil
}

// schema refuses an invalid schema, and one with a secret, which must not be masked because that would change its meaning.
func (a *Admission) schema(at string, document json.RawMessage) error {
	if _, err := schema.Compile(document); err != nil {
		return domain.At(at, err)
	}
	return a.RefuseSecrets(at, document)
}
