package approvals

import (
	"context"
	"encoding/json"
	"time"

	"signoff/internal/domain"
)

// Evaluation is a dry run of the policy: what would become of this call?
type Evaluation struct {
	Tenant    domain.TenantID
	Execution domain.ExecutionID // whose settings and rules count; empty = those of Request
	Request   domain.Request     // where no execution is named
	Tool      string
	Arguments json.RawMessage
}

// NoSandbox is what is said of a command on a server where nothing can confine it.
const NoSandbox = "Commands are not run on this server: nothing that could confine them works here. " +
	"Its operator can install bubblewrap or allow user namespaces; `signoff doctor` tells which sandbox works. " +
	"SIGNOFF_SANDBOX=off runs commands unconfined."

// RefuseCommands tells the desk that nothing on this server can confine commands, so that sessions refuse them. It is called
// before the first evaluation.
func (d *Service) RefuseCommands() { d.refusesCommands = true }

// IsolateCommands tells the desk what commands are run in on this server. It is called before the first evaluation.
func (d *Service) IsolateCommands(isolation Isolation) { d.isolation = isolation }

// Evaluate judges a call that nobody makes, as its session would: by the same code, through the links of the workspace as they
// are now. It writes nothing and asks nobody.
func (d *Service) Evaluate(ctx context.Context, e Evaluation) (Judgement, domain.ToolCall, error) {
	request := e.Request
	if e.Execution != "" {
		execution, err := d.store.Execution(ctx, e.Tenant, e.Execution)
		if err != nil {
			return Judgement{}, domain.ToolCall{}, err
		}
		request = execution.Request
	}
	call, err := d.tools.Describe(request, e.Tool, e.Arguments)
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
	if policy.Rules, err = d.store.Rules(ctx, e.Tenant, e.Execution); err != nil {
		return Judgement{}, call, err
	}
	hash, err := Hash(call, request.WorkingDirectory)
	if err != nil {
		return Judgement{}, call, domain.Invalid("/arguments", "These arguments have no canonical form.").With(err)
	}
	if d.refusesCommands && call.Class == domain.ClassExecute && policy.agent == internalAgent {
		return withoutSandbox(), call, nil
	}
	if policy.agent == internalAgent {
		policy.Isolation = d.isolation
	}
	return policy.Judge(ctx, call, hash, time.Now()), call, nil
}

func withoutSandbox() Judgement {
	refused := refusal(ByServer, "%s", NoSandbox)
	refused.Step, refused.Trace = 1, []Step{{Number: 1, Name: steps[0].name, Applied: true, Detail: NoSandbox}}
	return refused
}
