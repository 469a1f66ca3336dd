package approvals

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"signoff/internal/domain"
)

// Evaluation is a dry run of the policy for one call.
type Evaluation struct {
	Tenant    domain.TenantID
	Execution domain.ExecutionID // whose rules hold, and whose settings without a Request
	Request   domain.Request     // with a source, its settings hold
	Tool      string
	Arguments json.RawMessage
}

// NoSandbox is the reason for refusing a command on a server that cannot confine it.
const NoSandbox = "Commands are not run on this server: nothing that could confine them works here. " +
	"Its operator can install bubblewrap or allow user namespaces; `signoff doctor` tells which sandbox works. " +
	"An environment with isolation: none runs commands unconfined."

// Environments is the catalog of environments; see environments.Catalog.
type Environments interface {
	Choose(choice domain.EnvironmentChoice) (domain.Environment, error)
}

// UseEnvironments sets the catalog of this server. It is called before the first evaluation and the first decision.
func (s *Service) UseEnvironments(catalog Environments) { s.environments = catalog }

// RefuseCommands says that this server cannot confine commands and refuses them. It is called before the first evaluation.
func (s *Service) RefuseCommands() { s.refusesCommands = true }

// IsolateCommands sets what isolates this server's commands in an environment. It is called before the first evaluation.
func (s *Service) IsolateCommands(in func(domain.Environment) Isolation) { s.isolationIn = in }

// Evaluate judges a call as its session would, by the same code and with the links of the workspace as they are now. It runs
// nothing, writes nothing and asks nobody.
func (s *Service) Evaluate(ctx context.Context, e Evaluation) (Judgement, domain.ToolCall, error) {
	request := e.Request
	if e.Execution != "" && request.Source.Type == "" {
		execution, err := s.store.Execution(ctx, e.Tenant, e.Execution)
		if err != nil {
			return Judgement{}, domain.ToolCall{}, err
		}
		request = execution.Request
	}
	environment, unavailable := s.environment(request)
	if unavailable != nil && e.Execution == "" {
		return Judgement{}, domain.ToolCall{}, unavailable
	}
	call, err := s.tools.Describe(request, e.Tool, e.Arguments)
	if err != nil {
		pointer := "/arguments"
		if domain.CodeOf(err) == domain.CodeUnknownTool {
			pointer = "/tool"
		}
		return Judgement{}, call, domain.Invalid(pointer, "%s", domain.FailureOf(err).Message).With(err)
	}
	policy, err := NewPolicy(request)
	if err != nil && e.Execution == "" {
		return Judgement{}, call, err
	}
	if policy.Rules, err = s.store.Rules(ctx, e.Tenant, e.Execution); err != nil {
		return Judgement{}, call, err
	}
	if environment != nil {
		policy.Environment = environment
	}
	hash, err := Hash(call, request.WorkingDirectory, policy.Environment.Stamp())
	if err != nil {
		return Judgement{}, call, domain.Invalid("/arguments", "These arguments have no canonical form.").With(err)
	}
	runsHere := policy.agent == internalAgent && !slices.Contains(policy.clients, call.Tool)
	onHost := environment != nil && environment.View == domain.ViewHost
	switch {
	case unavailable != nil && runsHere && (call.Class == domain.ClassExecute || len(call.Action.Paths) > 0):
		return cannotRun(domain.FailureOf(unavailable).Message), call, nil
	case s.refusesCommands && !onHost && call.Class == domain.ClassExecute && policy.agent == internalAgent:
		return cannotRun(NoSandbox), call, nil
	case policy.agent == internalAgent && s.isolationIn != nil:
		var e domain.Environment // older executions see the workspace alone
		if environment != nil {
			e = *environment
		}
		policy.Isolation = s.isolationIn(e)
	}
	return policy.Judge(ctx, call, hash, time.Now()), call, nil
}

// cannotRun is the judgement of what this server refuses whatever the policy says.
func cannotRun(why string) Judgement {
	refused := refusal(ByServer, "%s", why)
	refused.Step, refused.Trace = 1, []Step{{Number: 1, Name: steps[0].name, Applied: true, Detail: why}}
	return refused
}
