package approvals

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"signoff/internal/approvals/definition"
	"signoff/internal/domain"
)

// Evaluation is a dry run of the policy for one call.
type Evaluation struct {
	Tenant    domain.TenantID
	Execution domain.ExecutionID // whose rules hold, and whose settings without a Request
	Request   domain.Request     // with a source, its settings hold
	Tool      string
	Arguments json.RawMessage

	MCPServer  string // whose tool it is, as the server calls it; empty: the tool is one of ours, or of the client
	Definition string // hash of its definition; empty: the one that is pinned
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

// TrustServers sets how far MCP servers are trusted. It is called before the first evaluation and the first decision.
func (s *Service) TrustServers(servers Servers) { s.servers = servers }

// RefuseCommands says that this server cannot confine commands and refuses them. It is called before the first evaluation.
func (s *Service) RefuseCommands() { s.refusesCommands = true }

// IsolateCommands sets what isolates this server's commands in an environment. It is called before the first evaluation.
func (s *Service) IsolateCommands(in func(domain.Environment) Isolation) { s.isolationIn = in }

// Evaluate judges a call as its session would, by the same code and with the links of the workspace as they are now. It runs
// nothing, writes nothing and asks nobody.
func (s *Service) Evaluate(ctx context.Context, e Evaluation) (Judgement, domain.ToolCall, error) {
	request, written := e.Request, now()
	if e.Execution != "" && request.Source.Type == "" {
		execution, err := s.store.Execution(ctx, e.Tenant, e.Execution)
		if err != nil {
			return Judgement{}, domain.ToolCall{}, err
		}
		request, written = execution.Request, execution.Created
	}
	environment, unavailable := s.environment(request)
	if unavailable != nil && e.Execution == "" {
		return Judgement{}, domain.ToolCall{}, unavailable
	}
	call, pin, err := s.describe(ctx, e, request)
	if err != nil {
		return Judgement{}, call, err
	}
	policy, err := NewPolicy(request)
	if err != nil && e.Execution == "" {
		return Judgement{}, call, err
	}
	if policy.Rules, err = s.store.Rules(ctx, e.Tenant, e.Execution); err != nil {
		return Judgement{}, call, err
	}
	policy = policy.WrittenAt(written)
	policy.Servers, policy.Pin = s.servers, pin
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

// describe returns the call that is evaluated, and the pin of an MCP tool.
func (s *Service) describe(ctx context.Context, e Evaluation, request domain.Request) (domain.ToolCall, *domain.MCPPin, error) {
	if e.MCPServer == "" {
		call, err := s.tools.Describe(request, e.Tool, e.Arguments)
		switch {
		case domain.CodeOf(err) == domain.CodeUnknownTool:
			return call, nil, domain.Invalid("/tool", "%s", domain.FailureOf(err).Message).With(err)
		case err != nil:
			return call, nil, domain.Invalid("/arguments", "%s", domain.FailureOf(err).Message).With(err)
		}
		return call, nil, nil
	}
	call := domain.ToolCall{
		Tool: e.Tool, Class: domain.ClassMCP, Arguments: e.Arguments, Action: domain.Action{Server: e.MCPServer},
		Summary: fmt.Sprintf("Call the tool %s of the MCP server %s.", e.Tool, e.MCPServer),
	}
	if request.Source.Type == domain.SourceACP { // such an agent does not say how the server defines the tool
		return call, nil, nil
	}
	pin, err := s.store.MCPPin(ctx, e.Tenant, e.MCPServer, e.Tool)
	if err != nil {
		return call, nil, err
	}
	call.MCP = &domain.MCPTool{Server: e.MCPServer, Tool: e.Tool, Definition: e.Definition}
	if pin != nil && (e.Definition == "" || e.Definition == pin.Hash) {
		call.MCP.Definition, call.MCP.Canonical = pin.Hash, pin.Definition
		call.MCP.Annotations = definition.Annotations(pin.Definition)
	}
	call.Tool = "mcp__" + e.MCPServer + "__" + e.Tool // as the model knows it, where that is not too long
	return call, pin, nil
}

// cannotRun is the judgement of what this server refuses whatever the policy says.
func cannotRun(why string) Judgement {
	refused := refusal(ByServer, "%s", why)
	refused.Step, refused.Trace = 1, []Step{{Number: 1, Name: steps[0].name, Applied: true, Detail: why}}
	return refused
}
