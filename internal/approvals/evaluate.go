package approvals

import (
	"context"
	"encoding/json"
	"time"

	"signoff/internal/domain"
)

// Evaluation is a dry run of the policy for one call.
type Evaluation struct {
	Tenant    domain.TenantID
	Execution domain.ExecutionID // whose settings and rules hold; empty: those of Request
	Request   domain.Request     // where no execution is named
	Tool      string
	Arguments json.RawMessage
}

// NoSandbox is the reason for refusing a command on a server that cannot confine it.
const NoSandbox = "Commands are not run on this server: nothing that could confine them works here. " +
	"Its operator can install bubblewrap or allow user namespaces; `signoff doctor` tells which sandbox works. " +
	"SIGNOFF_SANDBOX=off runs commands unconfined."

// RefuseCommands says that this server cannot confine commands and refuses them. It is called before the first evaluation.
func (s *Service) RefuseCommands() { s.refusesCommands = true }

// IsolateCommands sets the isolation of this server's commands. It is called before the first evaluation.
func (s *Service) IsolateCommands(isolation Isolation) { s.isolation = isolation }

// Evaluate judges a call as its session would, by the same code and with the links of the workspace as they are now. It runs
// nothing, writes nothing and asks nobody.
func (s *Service) Evaluate(ctx context.Context, e Evaluation) (Judgement, domain.ToolCall, error) {
	request := e.Request
	if e.Execution != "" {
		execution, err := s.store.Execution(ctx, e.Tenant, e.Execution)
		if err != nil {
			return Judgement{}, domain.ToolCall{}, err
		}
		request = execution.Request
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
	hash, err := Hash(call, request.WorkingDirectory)
	if err != nil {
		return Judgement{}, call, domain.Invalid("/arguments", "These arguments have no canonical form.").With(err)
	}
	if s.refusesCommands && call.Class == domain.ClassExecute && policy.agent == internalAgent {
		refused := refusal(ByServer, "%s", NoSandbox)
		refused.Step, refused.Trace = 1, []Step{{Number: 1, Name: steps[0].name, Applied: true, Detail: NoSandbox}}
		return refused, call, nil
	}
	if policy.agent == internalAgent {
		policy.Isolation = s.isolation
	}
	return policy.Judge(ctx, call, hash, time.Now()), call, nil
}
